/* call.c: the chain that every call travels. */
#include "backend/call.h"

#include <errno.h>
#include <string.h>

#include "backend/job.h"

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

/* The first rank sends this to all others. */
struct naming {
	int rc;
	unsigned char id[COMM_ID_BYTES];
};

int chain_init(struct chain *chain)
{
	struct backend *be = chain->backend;
	struct comm_request request = { .rank = be->job->group_rank,
					.nranks = be->job->group_size };
	struct naming naming = { 0 };
	int rc;

	if (request.rank == 0)
		naming.rc = be->ops->comm_id(be, naming.id);
	rc = job_group_bcast(be->job, &naming, sizeof(naming));
	if (rc < 0)
		return rc;
	if (naming.rc < 0)
		return error_set(be->err, OUTCOME_ERROR, naming.rc,
				 "the first rank found no name for the communicator");
	memcpy(request.id, naming.id, sizeof(request.id));
	if (chain->filter && chain->filter->init)
		return chain->filter->init(chain->filter->state, &request, chain);
	return chain_emit_init(chain, &request);
}

int chain_emit_init(struct chain *chain, const struct comm_request *request)
{
	int rc;

	watch_comm(chain->watch, request->comm, COMM_INIT, request);
	rc = chain->backend->ops->comm_open(chain->backend, request);
	watch_comm(chain->watch, request->comm, rc < 0 ? COMM_FAILED : COMM_READY, request);
	return rc;
}

int chain_new_id(struct chain *chain, struct comm_request *request)
{
	return chain->backend->ops->comm_id(chain->backend, request->id);
}

int chain_abort(struct chain *chain)
{
	const struct backend_ops *ops = chain->backend->ops;

	return ops->comm_abort ? ops->comm_abort(chain->backend) : -ENOTSUP;
}

int chain_started(struct chain *chain)
{
	const struct backend_ops *ops = chain->backend->ops;

	return ops->started ? ops->started(chain->backend) : -ENOTSUP;
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
