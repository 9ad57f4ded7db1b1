/* coll_mismatch.c: the rank makes another collective than the others. */
#include "inject/calls/change.h"

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_ANY, 0, 0, 0, "" },
	{ .outcome = NULL },
};

/* An all-reduce of as many elements fits into every collective's buffers; in its place an all-gather
 * of slices does. */
static int fire(const struct fault_act *act)
{
	const size_t n = (size_t)act->comms->spans[act->call->comm].n;
	struct call call = *act->call;

	call.kind = call.kind == CALL_ALL_REDUCE ? CALL_ALL_GATHER : CALL_ALL_REDUCE;
	call.op = call.kind == CALL_ALL_REDUCE ? OP_SUM : OP_NONE;
	call.peer = -1;
	if (call.kind == CALL_ALL_GATHER && call.count >= n)
		call.count /= n;
	return change_emit(act, &call);
}

const struct fault fault_coll_mismatch = {
	.name = "coll-mismatch",
	.help = "makes an all-reduce where the others make another collective, an all-gather where "
		"they make one",
	.source =
		"pytorch/pytorch#118369: a rank did not call the right function at the right time",
	.kinds = ~KIND_PAIR,
	.args = "outcome=hang",
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
