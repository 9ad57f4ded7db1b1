/* calls.c: blocking MPI collectives on the backend's communicator, sends and receives, groups. */
#include "backend/mpi/ops.h"

#include "backend/job.h"
#include "base/clock.h"

static MPI_Datatype type_of(const struct mpi *mpi, const struct call *call)
{
	return mpi->types.type[call->dtype];
}

static MPI_Op op_of(const struct mpi *mpi, const struct call *call)
{
	return mpi->types.op[call->dtype][call->op];
}

static const struct mpi_comm *of(const struct mpi *mpi, const struct call *call)
{
	return &mpi->comms[call->comm];
}

static size_t call_bytes(const struct call *call)
{
	return call->count * dtype_size(call->dtype);
}

/* Rank `rank`'s slice in a buffer that holds one of every rank. */
static char *slice_of(const struct call *call, const void *all, int rank)
{
	return (char *)all + (size_t)rank * call_bytes(call);
}

/* The issuers return MPI's code. NCCL sees in-place calls by address; MPI needs MPI_IN_PLACE. */

static int all_reduce(struct mpi *mpi, const struct call *call)
{
	const void *send = call->send == call->recv ? MPI_IN_PLACE : call->send;

	return MPI_Allreduce(send, call->recv, (int)call->count, type_of(mpi, call),
			     op_of(mpi, call), of(mpi, call)->comm);
}

static int all_gather(struct mpi *mpi, const struct call *call)
{
	bool in_place = call->send == slice_of(call, call->recv, of(mpi, call)->rank);

	return MPI_Allgather(in_place ? MPI_IN_PLACE : call->send, (int)call->count,
			     type_of(mpi, call), call->recv, (int)call->count, type_of(mpi, call),
			     of(mpi, call)->comm);
}

/* MPI leaves an in-place result at the start of the buffer, NCCL in the rank's own slice. */
static int reduce_scatter(struct mpi *mpi, const struct call *call)
{
	bool in_place = call->recv == slice_of(call, call->send, of(mpi, call)->rank);
	void *recv = in_place ? (void *)call->send : call->recv;
	int rc = MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : call->send, recv,
					  (int)call->count, type_of(mpi, call), op_of(mpi, call),
					  of(mpi, call)->comm);

	if (rc == MPI_SUCCESS && recv != call->recv)
		memcpy(call->recv, recv, call_bytes(call));
	return rc;
}

/* MPI has one buffer. Out of place the root copies to its receive buffer after the broadcast. */
static int broadcast(struct mpi *mpi, const struct call *call)
{
	bool root = of(mpi, call)->rank == call->peer;
	int rc = MPI_Bcast(root ? (void *)call->send : call->recv, (int)call->count,
			   type_of(mpi, call), call->peer, of(mpi, call)->comm);

	if (rc == MPI_SUCCESS && root && call->send != call->recv)
		memcpy(call->recv, call->send, call_bytes(call));
	return rc;
}

static int reduce(struct mpi *mpi, const struct call *call)
{
	bool root = of(mpi, call)->rank == call->peer;

	return MPI_Reduce(root && call->send == call->recv ? MPI_IN_PLACE : call->send,
			  root ? call->recv : NULL, (int)call->count, type_of(mpi, call),
			  op_of(mpi, call), call->peer, of(mpi, call)->comm);
}

static int alltoall(struct mpi *mpi, const struct call *call)
{
	return MPI_Alltoall(call->send, (int)call->count, type_of(mpi, call), call->recv,
			    (int)call->count, type_of(mpi, call), of(mpi, call)->comm);
}

static int alltoallv(struct mpi *mpi, const struct call *call)
{
	int n = of(mpi, call)->size;
	int *send_counts = mpi->counts, *send_at = send_counts + n;
	int *recv_counts = send_at + n, *recv_at = recv_counts + n;

	for (int i = 0; i < n; i++) {
		send_counts[i] = (int)call->send_counts[i];
		send_at[i] = (int)call->send_at[i];
		recv_counts[i] = (int)call->recv_counts[i];
		recv_at[i] = (int)call->recv_at[i];
	}
	return MPI_Alltoallv(call->send, send_counts, send_at, type_of(mpi, call), call->recv,
			     recv_counts, recv_at, type_of(mpi, call), of(mpi, call)->comm);
}

static int gather(struct mpi *mpi, const struct call *call)
{
	bool root = of(mpi, call)->rank == call->peer;
	bool in_place = root && call->send == slice_of(call, call->recv, call->peer);

	return MPI_Gather(in_place ? MPI_IN_PLACE : call->send, (int)call->count,
			  type_of(mpi, call), root ? call->recv : NULL, (int)call->count,
			  type_of(mpi, call), call->peer, of(mpi, call)->comm);
}

static int scatter(struct mpi *mpi, const struct call *call)
{
	bool root = of(mpi, call)->rank == call->peer;
	bool in_place = root && call->recv == slice_of(call, call->send, call->peer);

	return MPI_Scatter(root ? call->send : NULL, (int)call->count, type_of(mpi, call),
			   in_place ? MPI_IN_PLACE : call->recv, (int)call->count,
			   type_of(mpi, call), call->peer, of(mpi, call)->comm);
}

static MPI_Request *next_request(struct mpi *mpi)
{
	if (mpi->nrequests == mpi->room) {
		mpi->room = mpi->room ? 2 * mpi->room : 64;
		mpi->requests =
			must(realloc(mpi->requests, (size_t)mpi->room * sizeof(*mpi->requests)));
	}
	return &mpi->requests[mpi->nrequests];
}

/* Waits until the slow send may start. Other requests go on meanwhile. */
static int await_slow(struct mpi *mpi, const struct call *call, double at)
{
	int rc = MPI_SUCCESS, any;

	while (rc == MPI_SUCCESS && clock_seconds() < at)
		rc = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, of(mpi, call)->comm, &any,
				MPI_STATUS_IGNORE);
	return rc;
}

static int send_or_recv(struct mpi *mpi, const struct call *call);

/* Starts the send that a slow link holds back, if there is one. */
static int start_slow(struct mpi *mpi)
{
	int rc = mpi->slow_at > 0 ? await_slow(mpi, &mpi->slow, mpi->slow_at) : MPI_SUCCESS;
	bool held = mpi->slow_at > 0;

	mpi->slow_at = 0;
	return rc == MPI_SUCCESS && held ? send_or_recv(mpi, &mpi->slow) : rc;
}

/* Outside of a group the caller waits; inside, the rest of the group starts first. */
static int hold_slow(struct mpi *mpi, const struct call *call)
{
	double at = clock_seconds() + mpi->be.slow_send;
	int rc = mpi->depth ? start_slow(mpi) : await_slow(mpi, call, at);

	mpi->be.slow_send = 0;
	if (rc != MPI_SUCCESS || !mpi->depth)
		return rc == MPI_SUCCESS ? send_or_recv(mpi, call) : rc;
	mpi->slow = *call;
	mpi->slow_at = at;
	return rc;
}

static int send_or_recv(struct mpi *mpi, const struct call *call)
{
	MPI_Datatype type = type_of(mpi, call);
	MPI_Comm comm = of(mpi, call)->comm;
	bool sends = call->kind == CALL_SEND;
	int n = (int)call->count, rc;

	if (sends && mpi->be.slow_send > 0)
		return hold_slow(mpi, call);
	if (!mpi->depth)
		return sends ? MPI_Send(call->send, n, type, call->peer, 0, comm)
			     : MPI_Recv(call->recv, n, type, call->peer, 0, comm,
					MPI_STATUS_IGNORE);
	rc = sends ? MPI_Isend(call->send, n, type, call->peer, 0, comm, next_request(mpi))
		   : MPI_Irecv(call->recv, n, type, call->peer, 0, comm, next_request(mpi));
	mpi->nrequests += rc == MPI_SUCCESS;
	return rc;
}

static const struct issuer {
	int (*issue)(struct mpi *mpi, const struct call *call);
	bool slices; /* nranks x count elements in one buffer; MPI libraries add up in int */
	bool reduces;
} issuers[CALL_KIND_COUNT] = {
	[CALL_ALL_REDUCE] = { .issue = all_reduce, .reduces = true },
	[CALL_ALL_GATHER] = { .issue = all_gather, .slices = true },
	[CALL_REDUCE_SCATTER] = { .issue = reduce_scatter, .slices = true, .reduces = true },
	[CALL_BROADCAST] = { .issue = broadcast },
	[CALL_REDUCE] = { .issue = reduce, .reduces = true },
	[CALL_ALLTOALL] = { .issue = alltoall, .slices = true },
	[CALL_ALLTOALLV] = { .issue = alltoallv },
	[CALL_GATHER] = { .issue = gather, .slices = true },
	[CALL_SCATTER] = { .issue = scatter, .slices = true },
	[CALL_SEND] = { .issue = send_or_recv },
	[CALL_RECV] = { .issue = send_or_recv },
};

/* The largest number that must fit into an int. */
static size_t largest_count(const struct mpi *mpi, const struct call *call)
{
	size_t largest = call->count, n = (size_t)of(mpi, call)->size;

	if (issuers[call->kind].slices)
		return largest <= INT_MAX ? largest * n : largest;
	for (size_t i = 0; call->kind == CALL_ALLTOALLV && i < n; i++) {
		size_t send_end = call->send_at[i] + call->send_counts[i];
		size_t recv_end = call->recv_at[i] + call->recv_counts[i];

		largest = send_end > largest ? send_end : largest;
		largest = recv_end > largest ? recv_end : largest;
	}
	return largest;
}

static int call_check(struct mpi *mpi, const struct call *call)
{
	size_t largest;

	if ((unsigned)call->kind >= CALL_KIND_COUNT || (unsigned)call->dtype >= DT_COUNT ||
	    call->comm >= COMM_SET_MAX || of(mpi, call)->comm == MPI_COMM_NULL || call->stream)
		return error_set(
			mpi->be.err, OUTCOME_INTERNAL, -EINVAL,
			"the mpi backend has no kind %d, type %d, communicator %u or stream %u",
			call->kind, call->dtype, call->comm, call->stream);
	if (issuers[call->kind].reduces &&
	    ((unsigned)call->op >= OP_COUNT || op_of(mpi, call) == MPI_OP_NULL))
		return error_set(mpi->be.err, OUTCOME_USAGE, -EINVAL,
				 "the mpi backend has no operator %s for %s", redop_name(call->op),
				 dtype_name(call->dtype));
	largest = largest_count(mpi, call);
	if (largest > INT_MAX)
		return error_set(mpi->be.err, OUTCOME_USAGE, -EOVERFLOW,
				 "%s of %zu elements: MPI's counts end at %d elements; use a "
				 "smaller -e or a larger -d",
				 call_kind_name(call->kind), largest, INT_MAX);
	return 0;
}

int mpi_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct mpi *mpi = to_mpi(be);
	int rc = call_check(mpi, call);

	if (rc)
		return rc;
	rc = issuers[call->kind].issue(mpi, call);
	if (rc != MPI_SUCCESS)
		return mpi_fail(mpi, call_kind_name(call->kind), rc);
	if (issuers[call->kind].reduces && call->op == OP_AVG &&
	    (call->kind != CALL_REDUCE || of(mpi, call)->rank == call->peer))
		mpi_types_average(call->dtype, call->recv, call->count, of(mpi, call)->size);
	return 0;
}

int mpi_group_begin(struct backend *be)
{
	to_mpi(be)->depth++;
	return 0;
}

/* Waits one by one: Open MPI 4.1's MPI_Waitall may never return after a failed request. Requests
 * after a failure may never complete and are abandoned. */
int mpi_group_end(struct backend *be)
{
	struct mpi *mpi = to_mpi(be);
	int rc = MPI_SUCCESS;

	if (mpi->depth == 0)
		return error_set(be->err, OUTCOME_INTERNAL, -EINVAL,
				 "a group ended that never began");
	if (--mpi->depth > 0)
		return 0;
	mpi->depth++; /* it is a part of the group */
	rc = start_slow(mpi);
	mpi->depth--;
	for (int i = 0; i < mpi->nrequests; i++) {
		if (rc == MPI_SUCCESS) {
			rc = MPI_Wait(&mpi->requests[i], MPI_STATUS_IGNORE);
			continue;
		}
		MPI_Cancel(&mpi->requests[i]);
		MPI_Request_free(&mpi->requests[i]);
	}
	mpi->nrequests = 0;
	return rc == MPI_SUCCESS ? 0 : mpi_fail(mpi, "MPI_Wait", rc);
}
