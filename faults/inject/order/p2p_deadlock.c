/* p2p_deadlock.c: both partners send first, or both receive first. */
#include "inject/calls/change.h"

static bool behind(const struct call *held, const struct call *next)
{
	return next->comm == held->comm && call_is_pair(next->kind) && next->kind != held->kind &&
	       next->peer == held->peer;
}

/* Who should send first and receives instead leaves two who receive. Two who send first hang where a send is
 * larger than what lies between them takes. Measured on 2 and 4 ranks, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_ANY, KIND(SEND), 0, 0, "" },
	{ "hang", BY_MPI, KIND(RECV), 0, 0, "" },
	{ "hang", BY_SHM, KIND(RECV), 5 << 20, 0, "" },
	{ "hang", BY_NET, KIND(RECV), 20 << 20, 0, "" },
	{ "silent", BY_ANY, KIND(RECV), 0, 0, "" },
	{ .outcome = NULL },
};

const struct fault fault_p2p_deadlock = {
	.name = "p2p-deadlock",
	.help = "outside of a group sends before it receives, as its partner does; or both receive "
		"first",
	.source =
		"NCCL user guide, point-to-point communication; MBI/MPI-BugBench, 'call ordering'",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = fault_ungrouped,
	.behind = behind,
	.args = "outcome=hang|silent",
	.ways = ways,
	.mpi = "hang|diverged|ok",
	.nccl = "hang|diverged|ok",
	.fire = fault_hold,
};
