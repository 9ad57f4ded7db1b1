/* size_mismatch.c: the rank makes a call with another count than the others. */

#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.count > 1;
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_P2P,
	  KIND(ALL_REDUCE) | KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(BROADCAST) |
		  KIND(REDUCE) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "factor=half" },
	{ "hang", BY_P2P, KIND(SCATTER), 0, 0, "factor=double" },
	{ "hang", BY_SHM, KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "factor=half" },
	{ "hang", BY_SHM, KIND(ALL_REDUCE) | KIND(BROADCAST), 0, 64 << 10, "factor=half" },
	{ "hang", BY_SHM, KIND(SCATTER), 0, 0, "factor=double" },
	{ "hang", BY_NET, KIND(ALL_GATHER) | KIND(ALL_REDUCE) | KIND(REDUCE) | KIND(REDUCE_SCATTER),
	  0, 64 << 10, "factor=half" },
	{ "hang", BY_NET, KIND(GATHER), 0, 0, "factor=half" },
	{ "hang", BY_NET, KIND(BROADCAST) | KIND(REDUCE) | KIND(SCATTER) | KIND(ALLTOALL), 64 << 10,
	  0, "factor=double" },
	{ "hang", BY_MPI, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER) | KIND(REDUCE) | KIND(ALLTOALL),
	  0, 0, "factor=half" },
	{ "hang", BY_MPI, KIND(BROADCAST) | KIND(REDUCE) | KIND(GATHER), 0, 0, "factor=double" },
	{ "corrupt", BY_P2P | BY_SHM | BY_NET, 0, 0, 0, "by=-1" },
	{ "corrupt", BY_MPI, KIND(GATHER) | KIND(REDUCE), 0, 0, "by=-1" },
	{ "silent", BY_MPI, KIND(SCATTER), 0, 0, "factor=double" },
	{ .outcome = NULL },
};

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
	.kinds = ~(KIND_PAIR | KIND(ALLTOALLV)),
	.applies = applies,
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
