/* redop_mismatch.c: the rank reduces with another operator than the others. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.op != OP_NONE;
}

static int fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.op = call.op == OP_MAX ? OP_SUM : OP_MAX;
	return change_emit(act, &call);
}

const struct fault fault_redop_mismatch = {
	.name = "redop-mismatch",
	.help = "makes one reduction with another operator: max, or sum where the others take max",
	.source = "MPI-BugBench, parameter matching: neither NCCL nor PyTorch compares operators",
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL,
	.only_before = true,
	.applies = applies,
	.mpi = "wrong-data|diverged",
	.nccl = "wrong-data|diverged",
	.fire = fire,
};
