/* call.c: the filter chain of calls. */
#include "backend/call.h"

#include "backend/job.h"
#include "base/clock.h"

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

	chain->emitted++;
	if (chain->entered)
		*chain->entered = clock_seconds();
	if (watch && watch->call)
		ticket = watch->call(watch->ctx, call);
	rc = chain->backend->ops->issue(chain->backend, call, ticket);
	if (watch && watch->returned)
		watch->returned(watch->ctx, ticket, rc);
	return rc;
}

/* All ranks have just met, and the backend sets deadlines of its own: this takes no time. */
#define COME_SECONDS 1

/* The message of the first rank to all others. */
struct naming {
	int rc;
	unsigned char ids[COMM_SET_MAX][COMM_ID_BYTES];
};

static int open_comm(struct chain *chain, const struct comm_set *comms, uint32_t comm,
		     const struct naming *naming)
{
	struct comm_request request = {
		.comm = comm,
		.rank = comm_set_rank(comms, comm, chain->backend->job->group_rank),
		.nranks = comms->spans[comm].n,
		.span = comms->spans[comm],
	};
	int rc;

	memcpy(request.id, naming->ids[comm], sizeof(request.id));
	watch_work(chain->watch, "before communicator init", COME_SECONDS);
	rc = chain->filter && chain->filter->init
		     ? chain->filter->init(chain->filter->state, &request, chain)
		     : chain_emit_init(chain, &request);
	watch_leave(chain->watch);
	return rc;
}

int chain_init(struct chain *chain, const struct comm_set *comms)
{
	struct backend *be = chain->backend;
	struct naming naming = { 0 };
	int rank = be->job->group_rank, rc;

	for (int i = 0; rank == 0 && i < comms->n && naming.rc == 0; i++)
		naming.rc = be->ops->comm_id(be, naming.ids[i]);
	rc = job_group_bcast(be->job, &naming, sizeof(naming));
	if (rc < 0)
		return rc;
	if (naming.rc < 0)
		return error_set(be->err, OUTCOME_ERROR, naming.rc,
				 "the first rank found no name for a communicator");
	for (int c = comm_set_next(comms, 0, rank); c >= 0 && rc == 0;
	     c = comm_set_next(comms, c + 1, rank))
		rc = open_comm(chain, comms, (uint32_t)c, &naming);
	return rc;
}

int chain_emit_init(struct chain *chain, const struct comm_request *request)
{
	int rc;

	watch_comm(chain->watch, request->comm, COMM_INIT, request);
	rc = chain->backend->ops->comm_open(chain->backend, request);
	watch_comm(chain->watch, request->comm, rc < 0 ? COMM_FAILED : COMM_READY, request);
	return rc;
}

int chain_launch(struct chain *chain, void *graph, void *other, uint32_t calls)
{
	const struct call_filter *filter = chain->filter;
	enum launch_verdict verdict =
		filter && filter->launch ? filter->launch(filter->state) : LAUNCH_IT;
	void *launched = verdict == LAUNCH_IT ? graph : verdict == LAUNCH_OTHER ? other : NULL;
	int rc = launched ? chain->backend->ops->graph->launch(chain->backend, launched) : 0;

	if (rc == 0 && launched == graph)
		watch_replayed(chain->watch, calls);
	return rc;
}

int chain_group_begin(struct chain *chain)
{
	int rc = chain->backend->ops->group_begin(chain->backend);

	if (rc == 0)
		watch_group(chain->watch, GROUP_BEGUN);
	return rc;
}

int chain_group_end(struct chain *chain)
{
	int rc;

	watch_group(chain->watch, GROUP_ENDING);
	rc = chain->backend->ops->group_end(chain->backend);
	watch_group(chain->watch, GROUP_ENDED);
	return rc;
}
