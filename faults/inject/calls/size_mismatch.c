/* size_mismatch.c: the rank makes a call with another count than the others. */
#include <stdlib.h>

#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->call.count > 1 && !change_is_pair(planned->call.kind) &&
	       planned->call.kind != CALL_ALLTOALLV;
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ .outcome = "hang",
	  .transports = BY_P2P,
	  .kinds = 1u << CALL_ALL_REDUCE | 1u << CALL_ALL_GATHER | 1u << CALL_REDUCE_SCATTER |
		   1u << CALL_BROADCAST | 1u << CALL_REDUCE | 1u << CALL_ALLTOALL |
		   1u << CALL_GATHER,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_P2P,
	  .kinds = 1u << CALL_SCATTER,
	  .args = "factor=double" },
	{ .outcome = "hang",
	  .transports = BY_SHM,
	  .kinds = 1u << CALL_ALL_GATHER | 1u << CALL_REDUCE_SCATTER | 1u << CALL_ALLTOALL |
		   1u << CALL_GATHER,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_SHM,
	  .kinds = 1u << CALL_ALL_REDUCE | 1u << CALL_BROADCAST,
	  .most = 64 << 10,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_SHM,
	  .kinds = 1u << CALL_SCATTER,
	  .args = "factor=double" },
	{ .outcome = "hang",
	  .transports = BY_NET,
	  .kinds = 1u << CALL_ALL_GATHER | 1u << CALL_ALL_REDUCE | 1u << CALL_REDUCE |
		   1u << CALL_REDUCE_SCATTER,
	  .most = 64 << 10,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_NET,
	  .kinds = 1u << CALL_GATHER,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_NET,
	  .kinds = 1u << CALL_BROADCAST | 1u << CALL_REDUCE | 1u << CALL_SCATTER |
		   1u << CALL_ALLTOALL,
	  .least = 64 << 10,
	  .args = "factor=double" },
	{ .outcome = "hang",
	  .transports = BY_MPI,
	  .kinds = 1u << CALL_ALL_REDUCE | 1u << CALL_REDUCE_SCATTER | 1u << CALL_REDUCE |
		   1u << CALL_ALLTOALL,
	  .args = "factor=half" },
	{ .outcome = "hang",
	  .transports = BY_MPI,
	  .kinds = 1u << CALL_BROADCAST | 1u << CALL_REDUCE | 1u << CALL_GATHER,
	  .args = "factor=double" },
	{ .outcome = "corrupt", .transports = BY_P2P | BY_SHM | BY_NET, .args = "by=-1" },
	{ .outcome = "corrupt",
	  .transports = BY_MPI,
	  .kinds = 1u << CALL_GATHER | 1u << CALL_REDUCE,
	  .args = "by=-1" },
	{ .outcome = "silent",
	  .transports = BY_MPI,
	  .kinds = 1u << CALL_SCATTER,
	  .args = "factor=double" },
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
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL,
	.only_before = true,
	.applies = applies,
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
