/* init_id.c: the rank calls communicator init with a unique id of its own. */
#include "backend/call.h"
#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	struct comm_request request = *act->request;
	int rc = chain_new_id(act->chain, &request);

	if (rc == 0)
		rc = chain_emit_init(act->chain, &request);
	return rc < 0 ? rc : FAULT_SWALLOW;
}

const struct fault fault_init_id = {
	.name = "init-id",
	.help = "calls communicator init with another unique id (MPI: another tag)",
	.source = "NCCL 2.28 bootstrap.cc: two valid unique ids, each group waits for ranks of the "
		  "other's",
	.where = FAULT_AT_INIT,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
