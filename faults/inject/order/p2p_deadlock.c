/* p2p_deadlock.c: both partners send first, or both receive first. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return !planned->grouped && change_is_pair(planned->call.kind);
}

static bool behind(const struct call *held, const struct call *next)
{
	return next->comm == held->comm && change_is_pair(next->kind) && next->kind != held->kind &&
	       next->peer == held->peer;
}

/* Who should send first and receives instead leaves two who receive. Two who send first hang where a send is
 * larger than what lies between them takes. Measured on 2 and 4 ranks, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ .outcome = "hang", .transports = BY_ANY, .kinds = 1u << CALL_SEND, .args = "" },
	{ .outcome = "hang", .transports = BY_MPI, .kinds = 1u << CALL_RECV, .args = "" },
	{ .outcome = "hang",
	  .transports = BY_SHM,
	  .kinds = 1u << CALL_RECV,
	  .least = 5 << 20,
	  .args = "" },
	{ .outcome = "hang",
	  .transports = BY_NET,
	  .kinds = 1u << CALL_RECV,
	  .least = 20 << 20,
	  .args = "" },
	{ .outcome = "silent", .transports = BY_ANY, .kinds = 1u << CALL_RECV, .args = "" },
	{ .outcome = NULL },
};

static int fire(const struct fault_act *act)
{
	(void)act;
	return FAULT_HOLD;
}

const struct fault fault_p2p_deadlock = {
	.name = "p2p-deadlock",
	.help = "outside of a group sends before it receives, as its partner does; or both receive "
		"first",
	.source =
		"NCCL user guide, point-to-point communication; MBI/MPI-BugBench, 'call ordering'",
	.needs = { .ranks = 2 },
	.schedule = "p2p",
	.where = FAULT_AT_CALL,
	.only_before = true,
	.applies = applies,
	.behind = behind,
	.args = "outcome=hang|silent",
	.ways = ways,
	.mpi = "hang|diverged|ok",
	.nccl = "hang|diverged|ok",
	.fire = fire,
};
