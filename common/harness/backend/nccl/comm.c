/* comm.c: makes, destroys and aborts communicators. */

#include "backend/nccl/ops.h"
#include "profiler/nccl_profiler.h"
#include "backend/job.h"

#define DESTROY_SECONDS 10.0

_Static_assert(sizeof(ncclUniqueId) <= COMM_ID_BYTES, "a request has room for NCCL's unique id");

void nccl_enter(struct backend *be, const char *what, double seconds)
{
	watch_enter(be->watch, what, be->job->deadline > seconds ? be->job->deadline : seconds);
}

void nccl_deregister(struct nccl *nccl, struct nccl_memory *memory)
{
	if (memory->handle && memory->window)
		nccl_api.CommWindowDeregister(nccl->comms[0].comm, memory->handle);
	else if (memory->handle)
		nccl_api.CommDeregister(nccl->comms[0].comm, memory->handle);
	memory->handle = NULL;
}

/* Clears the communicator with its registrations and operators. */
static void forget_comm(struct nccl *nccl, struct nccl_comm *comm)
{
	memset(comm, 0, sizeof(*comm));
	for (struct nccl_memory *memory = nccl->memory; memory && comm == nccl->comms;
	     memory = memory->next)
		memory->handle = NULL;
}

int nccl_comm_abort(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result = ncclSuccess;

	for (uint32_t i = 0; i < COMM_SET_MAX; i++) {
		struct nccl_comm *comm = &nccl->comms[i];
		ncclResult_t one;

		if (!comm->comm)
			continue;
		/* before the abort, which may wait for other ranks' proxies: they use ours */
		watch_comm(be->watch, i, COMM_ABORTED, NULL);
		one = nccl_api.CommAbort(comm->comm);
		forget_comm(nccl, comm);
		result = result == ncclSuccess ? one : result;
	}
	return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclCommAbort", result);
}

static void destroy_comms(struct nccl *nccl)
{
	for (struct nccl_memory *memory = nccl->memory; memory; memory = memory->next)
		nccl_deregister(nccl, memory);
	for (int i = COMM_SET_MAX - 1; i >= 0; i--) {
		struct nccl_comm *comm = &nccl->comms[i];

		if (!comm->comm)
			continue;
		nccl_calls_release(comm);
		nccl_api.CommDestroy(comm->comm);
		forget_comm(nccl, comm);
	}
}

/* A failed communicator is aborted: destroying waits for peers, which may be gone. */
void nccl_comm_close(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);

	if (!nccl->comms[0].comm)
		return;
	nccl_let_go(be); /* NCCL waits for the whole device */
	nccl_enter(be, "ncclCommDestroy", DESTROY_SECONDS);
	if (nccl->broken)
		nccl_comm_abort(be);
	else
		destroy_comms(nccl);
	watch_leave(be->watch);
}

/* Refuses a setting that this build's headers or the library lack, but for nvlinkCentricSched, a default. */
static int comm_config(struct nccl *nccl, ncclConfig_t *config)
{
	const struct backend_config *asked = &nccl->be.config;

	config->blocking = 1;
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 27, 0)
	if (asked->cta_policy >= 0 && nccl->version < NCCL_VERSION(2, 27, 0))
		return error_set(nccl->be.err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "-x needs NCCL 2.27 or later, this is %d", nccl->version);
	if (asked->cta_policy >= 0)
		config->CTAPolicy = asked->cta_policy;
#else
	if (asked->cta_policy >= 0)
		return error_set(nccl->be.err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "-x needs NCCL 2.27 or later at build");
#endif
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
	if (asked->nvlink_centric)
		config->nvlinkCentricSched = 1;
#endif
	return 0;
}

int nccl_comm_id(struct backend *be, unsigned char *id)
{
	struct nccl *nccl = to_nccl(be);
	ncclUniqueId made;
	ncclResult_t result;

	nccl_profiler_offer(); /* NCCL's first thread starts with the id */
	result = nccl_api.GetUniqueId(&made);
	if (result != ncclSuccess)
		return nccl_fail(nccl, "ncclGetUniqueId", result);
	memset(id, 0, COMM_ID_BYTES);
	memcpy(id, &made, sizeof(made));
	return 0;
}

int nccl_comm_open(struct backend *be, const struct comm_request *request)
{
	struct nccl *nccl = to_nccl(be);
	struct nccl_comm *comm = &nccl->comms[request->comm];
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclResult_t result;
	ncclUniqueId id;
	int rc = comm_config(nccl, &config);

	if (rc)
		return rc;
	memcpy(&id, request->id, sizeof(id));
	nccl_profiler_offer();
	nccl_enter(be, "ncclCommInitRank", NCCL_INIT_SECONDS);
	result = nccl_api.CommInitRankConfig(&comm->comm, request->nranks, id, request->rank,
					     &config);
	watch_leave(be->watch);
	comm->rank = request->rank;
	comm->size = request->nranks;
	return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclCommInitRank", result);
}
