/* conditional_call.c: the rank makes a call of another kind that nobody else makes, before
 * its own. */

#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	const struct call *call = act->call;
	/* In place, one byte of the buffer that the rank's own call is about to write (a send has
	 * none; its byte changes only if somebody answers). */
	void *byte = call->recv ? call->recv : (void *)call->send;
	struct call extra = {
		.comm = call->comm,
		/* Both need an answer: a broadcast's root could be through without one. */
		.kind = call->kind == CALL_ALL_REDUCE ? CALL_REDUCE : CALL_ALL_REDUCE,
		.send = byte,
		.recv = byte,
		.count = 1,
		.dtype = DT_UINT8,
		.op = OP_SUM,
		.peer = call->kind == CALL_ALL_REDUCE
				? comm_set_rank(act->comms, call->comm, act->rank)
				: -1,
		.stream = call->stream,
		.offset = call->offset,
	};
	int rc = byte ? chain_emit(act->chain, &extra) : -EINVAL;

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_conditional_call = {
	.name = "conditional-call",
	.help = "makes a call of another kind that nobody else makes, before its own",
	.source = "dylanyunlon/Neuron_SP#197: an all-reduce of one element that rank 0 alone makes",
	.mpi = "hang",
	.nccl = "hang|wrong-data",
	.fire = fire,
};
