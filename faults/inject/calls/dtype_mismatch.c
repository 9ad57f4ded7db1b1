/* dtype_mismatch.c: the rank makes a call with another type than the others. */

#include "inject/calls/change.h"

/* Another type: of the same width, of half of it (of 1 byte: the double), or the other 16-bit float. */
static enum dtype other_type(enum dtype dtype, const char *how)
{
	static const enum dtype same[DT_COUNT] = {
		[DT_INT8] = DT_UINT8,	 [DT_UINT8] = DT_INT8,	 [DT_INT32] = DT_FLOAT,
		[DT_UINT32] = DT_INT32,	 [DT_INT64] = DT_DOUBLE, [DT_UINT64] = DT_INT64,
		[DT_HALF] = DT_BFLOAT16, [DT_FLOAT] = DT_INT32,	 [DT_DOUBLE] = DT_INT64,
		[DT_BFLOAT16] = DT_HALF, [DT_F8E4M3] = DT_INT8,	 [DT_F8E5M2] = DT_INT8,
	};
	static const enum dtype narrow[9] = {
		[1] = DT_HALF, [2] = DT_INT8, [4] = DT_HALF, [8] = DT_FLOAT
	};

	return strcmp(how, "width") == 0 ? narrow[dtype_size(dtype)] : same[dtype];
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_P2P,
	  KIND(ALL_REDUCE) | KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(BROADCAST) |
		  KIND(REDUCE) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "how=width" },
	{ "hang", BY_SHM, KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "how=width" },
	{ "hang", BY_NET, KIND(GATHER), 0, 0, "how=width" },
	{ "hang", BY_NET, KIND(ALL_GATHER) | KIND(ALL_REDUCE) | KIND(REDUCE) | KIND(REDUCE_SCATTER),
	  0, 64 << 10, "how=width" },
	{ "hang", BY_MPI, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER) | KIND(REDUCE), 0, 0,
	  "how=width" },
	{ "corrupt", BY_ANY, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER), 0, 0, "how=same" },
	{ "corrupt", BY_P2P | BY_SHM, KIND(SCATTER), 0, 0, "how=width" },
	{ "corrupt", BY_SHM, KIND(ALL_REDUCE) | KIND(BROADCAST) | KIND(REDUCE), 0, 0, "how=width" },
	{ "corrupt", BY_NET,
	  KIND(ALL_REDUCE) | KIND(BROADCAST) | KIND(REDUCE) | KIND(REDUCE_SCATTER), 64 << 10, 0,
	  "how=width" },
	{ "corrupt", BY_MPI, KIND(GATHER), 0, 0, "how=width" },
	{ "silent", BY_ANY,
	  KIND(ALL_GATHER) | KIND(ALLTOALL) | KIND(BROADCAST) | KIND(GATHER) | KIND(SCATTER), 0, 0,
	  "how=same" },
	{ .outcome = NULL },
};

static int fire(const struct fault_act *act)
{
	const char *how = fault_arg(act->spec, "how");
	struct call call = *act->call;

	call.dtype = other_type(call.dtype, how ? how : "width");
	return change_emit(act, &call);
}

const struct fault fault_dtype_mismatch = {
	.name = "dtype-mismatch",
	.help = "makes one collective call with another type: of half the width, or of the same "
		"(half against "
		"bfloat16, float against int32)",
	.source = "PyTorch checks for it with TORCH_DISTRIBUTED_DEBUG=DETAIL; mixed precision on "
		  "one rank alone",
	.args = "how=width|same outcome=hang|corrupt|silent",
	.kinds = ~(KIND_PAIR | KIND(ALLTOALLV)),
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
