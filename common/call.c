/* call.c: the chain that every call travels. */
#include "call.h"

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KIND_COUNT] = {
		[CALL_ALL_REDUCE] = "AllReduce",
		[CALL_ALL_GATHER] = "AllGather",
		[CALL_REDUCE_SCATTER] = "ReduceScatter",
		[CALL_BROADCAST] = "Broadcast",
		[CALL_REDUCE] = "Reduce",
		[CALL_ALLTOALL] = "AlltoAll",
		[CALL_ALLTOALLV] = "AlltoAllv",
		[CALL_GATHER] = "Gather",
		[CALL_SCATTER] = "Scatter",
		[CALL_SEND] = "Send",
		[CALL_RECV] = "Recv",
	};

	return (unsigned)kind < CALL_KIND_COUNT ? names[kind] : "unknown";
}

int chain_call(struct chain *chain, const struct call *call)
{
	if (chain->filter)
		return chain->filter->issue(chain->filter->state, call, chain);
	return chain_emit(chain, call);
}

int chain_emit(struct chain *chain, const struct call *call)
{
	const struct watch *watch = chain->watch;
	uint64_t ticket = 0;
	int rc;

	if (watch && watch->call)
		ticket = watch->call(watch->ctx, call);
	rc = chain->backend->ops->issue(chain->backend, call, ticket);
	if (watch && watch->returned)
		watch->returned(watch->ctx, ticket, rc);
	return rc;
}

int chain_group_begin(struct chain *chain)
{
	return chain->backend->ops->group_begin(chain->backend);
}

int chain_group_end(struct chain *chain)
{
	return chain->backend->ops->group_end(chain->backend);
}

int chain_copy(struct chain *chain, void *dst, const void *src, size_t bytes)
{
	return chain->backend->ops->copy(chain->backend, dst, src, bytes);
}
