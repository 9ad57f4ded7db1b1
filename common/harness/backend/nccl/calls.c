/* calls.c: calls as NCCL functions on the measured stream. */
#include "backend/nccl/ops.h"
#include "backend/job.h"

static ncclDataType_t nccl_type(enum dtype dtype)
{
	static const ncclDataType_t types[DT_COUNT] = {
		[DT_INT8] = ncclInt8,
		[DT_UINT8] = ncclUint8,
		[DT_INT32] = ncclInt32,
		[DT_UINT32] = ncclUint32,
		[DT_INT64] = ncclInt64,
		[DT_UINT64] = ncclUint64,
		[DT_HALF] = ncclFloat16,
		[DT_FLOAT] = ncclFloat32,
		[DT_DOUBLE] = ncclFloat64,
		[DT_BFLOAT16] = ncclBfloat16,
		[DT_F8E4M3] = (ncclDataType_t)NCCL_FLOAT8_E4M3,
		[DT_F8E5M2] = (ncclDataType_t)NCCL_FLOAT8_E5M2,
	};

	return types[dtype];
}

/* The bits of 1 and 2 in each type, little endian: mulsum's factor on even and odd ranks. */
static const uint64_t mulsum_factor[DT_COUNT][2] = {
	[DT_INT8] = { 1, 2 },
	[DT_UINT8] = { 1, 2 },
	[DT_INT32] = { 1, 2 },
	[DT_UINT32] = { 1, 2 },
	[DT_INT64] = { 1, 2 },
	[DT_UINT64] = { 1, 2 },
	[DT_HALF] = { 0x3c00, 0x4000 },
	[DT_FLOAT] = { 0x3f800000, 0x40000000 },
	[DT_DOUBLE] = { 0x3ff0000000000000, 0x4000000000000000 },
	[DT_BFLOAT16] = { 0x3f80, 0x4000 },
	[DT_F8E4M3] = { 0x38, 0x40 },
	[DT_F8E5M2] = { 0x3c, 0x40 },
};

static struct nccl_comm *of(struct nccl *nccl, const struct call *call)
{
	return &nccl->comms[call->comm];
}

/* Makes the operator at the first call with a type, a warm-up call: no timed call includes it. */
static int mulsum_op(struct nccl *nccl, const struct call *call, ncclRedOp_t *op)
{
	struct nccl_comm *comm = of(nccl, call);
	enum dtype dtype = call->dtype;
	uint64_t factor = mulsum_factor[dtype][comm->rank % 2];
	ncclResult_t rc;

	if (!comm->mulsum_made[dtype]) {
		rc = nccl_api.RedOpCreatePreMulSum(&comm->mulsum[dtype], &factor, nccl_type(dtype),
						   ncclScalarHostImmediate, comm->comm);
		if (rc != ncclSuccess)
			return nccl_fail(nccl, "ncclRedOpCreatePreMulSum", rc);
		comm->mulsum_made[dtype] = true;
	}
	*op = comm->mulsum[dtype];
	return 0;
}

void nccl_calls_release(struct nccl_comm *comm)
{
	for (int dtype = 0; dtype < DT_COUNT; dtype++) {
		if (comm->mulsum_made[dtype])
			nccl_api.RedOpDestroy(comm->mulsum[dtype], comm->comm);
		comm->mulsum_made[dtype] = false;
	}
}

/* Any operator serves a call without a reduction. */
static int nccl_op(struct nccl *nccl, const struct call *call, ncclRedOp_t *op)
{
	static const ncclRedOp_t ops[OP_MULSUM] = {
		[OP_SUM] = ncclSum, [OP_PROD] = ncclProd, [OP_MAX] = ncclMax,
		[OP_MIN] = ncclMin, [OP_AVG] = ncclAvg,
	};

	if (call->op == OP_MULSUM)
		return mulsum_op(nccl, call, op);
	if (call->op < OP_NONE || call->op > OP_MULSUM)
		return error_set(nccl->be.err, OUTCOME_INTERNAL, -EINVAL,
				 "the nccl backend has no operator %d", call->op);
	*op = call->op == OP_NONE ? ncclSum : ops[call->op];
	return 0;
}

static char *at(const void *base, size_t elements, enum dtype dtype)
{
	return (char *)base + elements * dtype_size(dtype);
}

/* Elements sent to one peer and received from it. */
struct swap {
	size_t send_at, send_count, recv_at, recv_count;
};

static struct swap swap_with(const struct call *call, int rank, int peer)
{
	size_t first = call->count * (size_t)peer, none = 0;
	size_t rooted = peer == call->peer ? call->count : 0;
	size_t all = rank == call->peer ? call->count : 0;

	switch (call->kind) {
	case CALL_GATHER:
		return (struct swap){ none, rooted, first, all };
	case CALL_SCATTER:
		return (struct swap){ first, all, none, rooted };
	case CALL_ALLTOALLV:
		return (struct swap){ call->send_at[peer], call->send_counts[peer],
				      call->recv_at[peer], call->recv_counts[peer] };
	default:
		return (struct swap){ first, call->count, first, call->count };
	}
}

/* Sends and receives: as such, of alltoallv, of collectives that libraries before 2.28 lack. */
static ncclResult_t issue_pairs(struct nccl *nccl, const struct call *call)
{
	ncclDataType_t type = nccl_type(call->dtype);
	ncclComm_t comm = of(nccl, call)->comm;
	ncclResult_t rc = nccl_api.GroupStart(), end;

	for (int peer = 0; rc == ncclSuccess && peer < of(nccl, call)->size; peer++) {
		struct swap swap = swap_with(call, of(nccl, call)->rank, peer);

		if (swap.send_count)
			rc = nccl_api.Send(at(call->send, swap.send_at, call->dtype),
					   swap.send_count, type, peer, comm, nccl->stream);
		if (rc == ncclSuccess && swap.recv_count)
			rc = nccl_api.Recv(at(call->recv, swap.recv_at, call->dtype),
					   swap.recv_count, type, peer, comm, nccl->stream);
	}
	end = nccl_api.GroupEnd();
	return rc == ncclSuccess ? end : rc;
}

static ncclResult_t issue_one(struct nccl *nccl, const struct call *call, ncclRedOp_t op)
{
	ncclDataType_t type = nccl_type(call->dtype);
	cudaStream_t stream = nccl->stream;
	ncclComm_t comm = of(nccl, call)->comm;

	switch (call->kind) {
	case CALL_ALL_REDUCE:
		return nccl_api.AllReduce(call->send, call->recv, call->count, type, op, comm,
					  stream);
	case CALL_ALL_GATHER:
		return nccl_api.AllGather(call->send, call->recv, call->count, type, comm, stream);
	case CALL_REDUCE_SCATTER:
		return nccl_api.ReduceScatter(call->send, call->recv, call->count, type, op, comm,
					      stream);
	case CALL_BROADCAST:
		return nccl_api.Broadcast(call->send, call->recv, call->count, type, call->peer,
					  comm, stream);
	case CALL_REDUCE:
		return nccl_api.Reduce(call->send, call->recv, call->count, type, op, call->peer,
				       comm, stream);
	case CALL_SEND:
		return nccl_api.Send(call->send, call->count, type, call->peer, comm, stream);
	case CALL_RECV:
		return nccl_api.Recv(call->recv, call->count, type, call->peer, comm, stream);
	case CALL_ALLTOALL:
		return nccl_api.AlltoAll ? nccl_api.AlltoAll(call->send, call->recv, call->count,
							     type, comm, stream)
					 : issue_pairs(nccl, call);
	case CALL_GATHER:
		return nccl_api.Gather ? nccl_api.Gather(call->send, call->recv, call->count, type,
							 call->peer, comm, stream)
				       : issue_pairs(nccl, call);
	case CALL_SCATTER:
		return nccl_api.Scatter ? nccl_api.Scatter(call->send, call->recv, call->count,
							   type, call->peer, comm, stream)
					: issue_pairs(nccl, call);
	case CALL_ALLTOALLV:
		return issue_pairs(nccl, call);
	default:
		return ncclInvalidArgument;
	}
}

/* Returns true if this call or group gets device times. Events of a captured stream have none. */
static bool clocked(const struct nccl *nccl)
{
	return nccl->clock && !nccl->capturing;
}

/* A step of the clock, if this call has one: device_clock_begin, _launch, _end. */
static int clock_step(struct nccl *nccl, cudaError_t (*step)(struct device_clock *))
{
	cudaError_t rc = clocked(nccl) ? step(nccl->clock) : cudaSuccess;

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "recording an event", rc);
}

static int call_check(struct nccl *nccl, const struct call *call)
{
	if ((unsigned)call->kind < CALL_KIND_COUNT && (unsigned)call->dtype < DT_COUNT &&
	    call->comm < COMM_SET_MAX && of(nccl, call)->comm && !call->stream)
		return 0;
	return error_set(nccl->be.err, OUTCOME_INTERNAL, -EINVAL,
			 "the nccl backend has no kind %d, type %d, communicator %u or stream %u",
			 call->kind, call->dtype, call->comm, call->stream);
}

/* A group launches at its end, so its events enclose the end. */
int nccl_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct nccl *nccl = to_nccl(be);
	bool alone = nccl->depth == 0;
	ncclResult_t result;
	ncclRedOp_t op = ncclSum;
	int rc = call_check(nccl, call);

	if (!rc)
		rc = nccl_op(nccl, call, &op);
	if (!rc && alone)
		rc = clock_step(nccl, device_clock_begin);
	if (!rc && alone)
		rc = clock_step(nccl, device_clock_launch);
	if (rc)
		return rc;
	if (clocked(nccl))
		device_clock_ticket(nccl->clock, ticket);
	result = issue_one(nccl, call, op);
	if (result != ncclSuccess)
		return nccl_fail(nccl, call_kind_name(call->kind), result);
	return alone ? clock_step(nccl, device_clock_end) : 0;
}

int nccl_group_begin(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result;
	int rc = nccl->depth == 0 ? clock_step(nccl, device_clock_begin) : 0;

	if (rc)
		return rc;
	result = nccl_api.GroupStart();
	if (result != ncclSuccess)
		return nccl_fail(nccl, "ncclGroupStart", result);
	nccl->depth++;
	return 0;
}

int nccl_group_end(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result;
	int rc;

	if (nccl->depth == 0)
		return error_set(be->err, OUTCOME_INTERNAL, -EINVAL,
				 "a group ended that never began");
	nccl->depth--;
	rc = nccl->depth == 0 ? clock_step(nccl, device_clock_launch) : 0;
	if (rc)
		return rc;
	result = nccl_api.GroupEnd();
	if (result != ncclSuccess)
		return nccl_fail(nccl, "ncclGroupEnd", result);
	return nccl->depth == 0 ? clock_step(nccl, device_clock_end) : 0;
}
