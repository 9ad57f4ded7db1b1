/* extra_call.c: the rank makes one call twice. */
#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	int rc = chain_emit(act->chain, act->call);

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_extra_call = {
	.name = "extra-call",
	.help = "makes one call twice",
	.source = "k2-fsa/snowfall#152: the rank with one batch more hangs at the end",
	/* Open MPI calls the longer one of two shifted messages truncated; who only sends a small
	 * message is through before anybody listens. */
	.mpi = "hang|error|died|wrong-data|diverged|ok",
	.nccl = "hang|wrong-data",
	.fire = fire,
};
