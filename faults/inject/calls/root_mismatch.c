/* root_mismatch.c: the rank takes another rank for the root. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.peer >= 0 && planned->nranks > 1;
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_MPI | BY_P2P, KIND(BROADCAST) | KIND(REDUCE) | KIND(GATHER) | KIND(SCATTER), 0,
	  0, "" },
	{ "hang", BY_SHM, KIND(REDUCE) | KIND(GATHER) | KIND(SCATTER), 0, 0, "" },
	{ "hang", BY_SHM, KIND(BROADCAST), 0, 64 << 10, "" },
	{ "hang", BY_NET, KIND(GATHER) | KIND(SCATTER), 0, 0, "" },
	{ "corrupt", BY_SHM, KIND(BROADCAST), 64 << 10, 0, "" },
	{ "silent", BY_NET, KIND(BROADCAST) | KIND(REDUCE), 0, 0, "" },
	{ .outcome = NULL },
};

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
	.kinds = ~KIND_PAIR,
	.applies = applies,
	.args = "outcome=hang|corrupt|silent",
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
