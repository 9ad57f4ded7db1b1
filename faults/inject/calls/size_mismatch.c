/* size_mismatch.c: the rank makes a call with another count than the others. */
#include <stdlib.h>

#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.count > 1 && !change_is_pair(planned->call.kind) &&
	       planned->call.kind != CALL_ALLTOALLV;
}

static int fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.count = change_count(act->spec, call.count);
	return change_emit(act, &call);
}

const struct fault fault_size_mismatch = {
	.name = "size-mismatch",
	.help = "makes one collective call with more or fewer elements than the others",
	.source = "PyTorch checks for it with TORCH_DISTRIBUTED_DEBUG=DETAIL; uneven last batches",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL,
	.only_before = true,
	.applies = applies,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
