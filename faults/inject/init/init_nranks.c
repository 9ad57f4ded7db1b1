/* init_nranks.c: the rank calls communicator init with another number of ranks than the others. */

#include "backend/call.h"
#include "inject/fault.h"

/* One less where the rank's own number allows it, else one more. */
static int step(const struct fault_act *act)
{
	const char *by = fault_arg(act->spec, "by");

	if (by)
		return strcmp(by, "more") == 0 ? 1 : -1;
	return act->request->rank < act->request->nranks - 1 ? -1 : 1;
}

static int fire(const struct fault_act *act)
{
	struct comm_request request = *act->request;
	int rc;

	request.nranks += step(act);
	rc = chain_emit_init(act->chain, &request);
	return rc < 0 ? rc : FAULT_SWALLOW;
}

const struct fault fault_init_nranks = {
	.name = "init-nranks",
	.help = "calls communicator init with one rank less or, as the last rank, one more",
	.source = "NCCL 2.28 bootstrap.cc: \"mismatch in info from procs\", which ends the root's "
		  "thread alone",
	.args = "by=less|more",
	.where = FAULT_AT_INIT,
	/* Open MPI may make communicators of two sizes, whose first call then hangs, crashes or
	 * is wrong. */
	.mpi = "hang|error|died|wrong-data|diverged",
	.nccl = "hang|error",
	.fire = fire,
};
