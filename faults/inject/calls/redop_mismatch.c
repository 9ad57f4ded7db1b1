/* redop_mismatch.c: the rank reduces with another operator than the others. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.op != OP_NONE;
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "corrupt", BY_ANY, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER), 0, 0, "" },
	{ "corrupt", BY_NET, KIND(REDUCE), 0, 0, "" },
	{ "silent", BY_MPI | BY_P2P | BY_SHM, KIND(REDUCE), 0, 0, "" },
	{ .outcome = NULL },
};

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
	.applies = applies,
	.args = "outcome=corrupt|silent",
	.ways = ways,
	.mpi = "wrong-data|diverged",
	.nccl = "wrong-data|diverged",
	.fire = fire,
};
