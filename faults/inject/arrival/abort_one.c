/* abort_one.c: the rank aborts its communicator and goes on without it; nobody tells the others. */

#include "backend/call.h"
#include "inject/fault.h"

/* Every later call is one on a communicator that is gone: the rank has none to make it on. */
static int fire(const struct fault_act *act)
{
	int rc = chain_abort(act->chain);

	return rc < 0 ? rc : FAULT_SWALLOW;
}

const struct fault fault_abort_one = {
	.name = "abort-one",
	.help = "aborts its communicator, goes on to the end of the run without it",
	.source = "NVIDIA/nccl#549 and #1013: ncclCommAbort on one rank, peers are not told",
	.needs = { .machine = NEED_GPU },
	.sticky = true,
	/* Over sockets the neighbours are told by the end of a connection. */
	.nccl = "hang|error|wrong-data",
	.why_not = "MPI 3 has no abort of one communicator: MPI_Abort ends processes, "
		   "MPI_Comm_free is "
		   "collective",
	.fire = fire,
};
