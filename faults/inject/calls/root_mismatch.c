/* root_mismatch.c: the rank takes another rank for the root. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.peer >= 0 && !change_is_pair(planned->call.kind);
}

static int fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.peer = (call.peer + 1) % act->comms->spans[call.comm].n;
	return change_emit(act, &call);
}

const struct fault fault_root_mismatch = {
	.name = "root-mismatch",
	.help = "makes one call with the next rank as its root",
	.source = "MPI-BugBench, parameter matching: neither NCCL nor PyTorch compares roots",
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL,
	.only_before = true,
	.applies = applies,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
