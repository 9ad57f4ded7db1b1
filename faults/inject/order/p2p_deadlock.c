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
	.mpi = "hang|diverged|ok",
	.nccl = "hang|diverged|ok",
	.fire = fire,
};
