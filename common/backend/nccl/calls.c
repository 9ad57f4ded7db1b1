/* calls.c: calls as NCCL functions on the measured stream. */
#include <dlfcn.h>

#include "backend/nccl/ops.h"
#include "backend/job.h"

void nccl_symbols_init(struct nccl_symbols *symbols)
{
	*symbols = (struct nccl_symbols){
		.alltoall = (__typeof__(symbols->alltoall))dlsym(RTLD_DEFAULT, "ncclAlltoAll"),
		.gather = (__typeof__(symbols->gather))dlsym(RTLD_DEFAULT, "ncclGather"),
		.scatter = (__typeof__(symbols->scatter))dlsym(RTLD_DEFAULT, "ncclScatter"),
		.window_register =
			(__typeof__(symbols->window_register))dlsym(RTLD_DEFAULT,
								    "ncclCommWindowRegister"),
		.window_deregister =
			(__typeof__(symbols->window_deregister))dlsym(RTLD_DEFAULT,
								      "ncclCommWindowDeregister"),
	};
}

static ncclDataType_t nccl_type(enum dtype dtype)
{
	switch (dtype) {
	case DT_INT8:
		return ncclInt8;
	case DT_UINT8:
		return ncclUint8;
	case DT_INT32:
		return ncclInt32;
	case DT_UINT32:
		return ncclUint32;
	case DT_INT64:
		return ncclInt64;
	case DT_UINT64:
		return ncclUint64;
	case DT_HALF:
		return ncclFloat16;
	case DT_FLOAT:
		return ncclFloat32;
	case DT_DOUBLE:
		return ncclFloat64;
	case DT_BFLOAT16:
		return ncclBfloat16;
	case DT_F8E4M3:
		return (ncclDataType_t)NCCL_FLOAT8_E4M3;
	case DT_F8E5M2:
		return (ncclDataType_t)NCCL_FLOAT8_E5M2;
	case DT_COUNT:
		break;
	}
	return ncclNumTypes;
}

/* 1 and 2 in the bits of each type, little endian: mulsum's factor on even and odd ranks. */
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

/* The communicator of a call. */
static struct nccl_comm *of(struct nccl *nccl, const struct call *call)
{
	return &nccl->comms[call->comm];
}

/* Made at the first call with a type, which is a warm-up call: no timed one pays for it. */
static int mulsum_op(struct nccl *nccl, const struct call *call, ncclRedOp_t *op)
{
	struct nccl_comm *comm = of(nccl, call);
	enum dtype dtype = call->dtype;
	uint64_t factor = mulsum_factor[dtype][comm->rank % 2];
	ncclResult_t rc;

	if (!comm->mulsum_made[dtype]) {
		rc = ncclRedOpCreatePreMulSum(&comm->mulsum[dtype], &factor, nccl_type(dtype),
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
			ncclRedOpDestroy(comm->mulsum[dtype], comm->comm);
		comm->mulsum_made[dtype] = false;
	}
}

static int nccl_op(struct nccl *nccl, const struct call *call, ncclRedOp_t *op)
{
	*op = ncclSum;
	switch (call->op) {
	case OP_NONE:
		return 0;
	case OP_SUM:
		return 0;
	case OP_PROD:
		*op = ncclProd;
		return 0;
	case OP_MAX:
		*op = ncclMax;
		return 0;
	case OP_MIN:
		*op = ncclMin;
		return 0;
	case OP_AVG:
		*op = ncclAvg;
		return 0;
	case OP_MULSUM:
		return mulsum_op(nccl, call, op);
	case OP_COUNT:
		break;
	}
	return error_set(nccl->be.err, OUTCOME_INTERNAL, -EINVAL,
			 "the nccl backend has no operator %d", call->op);
}

static char *at(const void *base, size_t elements, enum dtype dtype)
{
	return (char *)base + elements * dtype_size(dtype);
}

/* The send/recv forms of what libraries before 2.28 lack. */

static ncclResult_t alltoall_pairs(struct nccl *nccl, const struct call *call)
{
	ncclDataType_t type = nccl_type(call->dtype);
	ncclResult_t rc = ncclGroupStart(), end;

	for (int peer = 0; rc == ncclSuccess && peer < of(nccl, call)->size; peer++) {
		size_t first = call->count * (size_t)peer;

		rc = ncclSend(at(call->send, first, call->dtype), call->count, type, peer,
			      of(nccl, call)->comm, nccl->stream);
		if (rc == ncclSuccess)
			rc = ncclRecv(at(call->recv, first, call->dtype), call->count, type, peer,
				      of(nccl, call)->comm, nccl->stream);
	}
	end = ncclGroupEnd();
	return rc == ncclSuccess ? end : rc;
}

static ncclResult_t gather_pairs(struct nccl *nccl, const struct call *call)
{
	int sources = of(nccl, call)->rank == call->peer ? of(nccl, call)->size : 0;
	ncclDataType_t type = nccl_type(call->dtype);
	ncclResult_t rc = ncclGroupStart(), end;

	if (rc == ncclSuccess)
		rc = ncclSend(call->send, call->count, type, call->peer, of(nccl, call)->comm,
			      nccl->stream);
	for (int peer = 0; rc == ncclSuccess && peer < sources; peer++)
		rc = ncclRecv(at(call->recv, call->count * (size_t)peer, call->dtype), call->count,
			      type, peer, of(nccl, call)->comm, nccl->stream);
	end = ncclGroupEnd();
	return rc == ncclSuccess ? end : rc;
}

static ncclResult_t scatter_pairs(struct nccl *nccl, const struct call *call)
{
	int targets = of(nccl, call)->rank == call->peer ? of(nccl, call)->size : 0;
	ncclDataType_t type = nccl_type(call->dtype);
	ncclResult_t rc = ncclGroupStart(), end;

	for (int peer = 0; rc == ncclSuccess && peer < targets; peer++)
		rc = ncclSend(at(call->send, call->count * (size_t)peer, call->dtype), call->count,
			      type, peer, of(nccl, call)->comm, nccl->stream);
	if (rc == ncclSuccess)
		rc = ncclRecv(call->recv, call->count, type, call->peer, of(nccl, call)->comm,
			      nccl->stream);
	end = ncclGroupEnd();
	return rc == ncclSuccess ? end : rc;
}

static ncclResult_t alltoallv_pairs(struct nccl *nccl, const struct call *call)
{
	ncclDataType_t type = nccl_type(call->dtype);
	ncclResult_t rc = ncclGroupStart(), end;

	for (int peer = 0; rc == ncclSuccess && peer < of(nccl, call)->size; peer++) {
		if (call->send_counts[peer])
			rc = ncclSend(at(call->send, call->send_at[peer], call->dtype),
				      call->send_counts[peer], type, peer, of(nccl, call)->comm,
				      nccl->stream);
		if (rc == ncclSuccess && call->recv_counts[peer])
			rc = ncclRecv(at(call->recv, call->recv_at[peer], call->dtype),
				      call->recv_counts[peer], type, peer, of(nccl, call)->comm,
				      nccl->stream);
	}
	end = ncclGroupEnd();
	return rc == ncclSuccess ? end : rc;
}

/* Calls whose library function may be missing. */
static ncclResult_t issue_exchange(struct nccl *nccl, const struct call *call)
{
	const struct nccl_symbols *symbols = &nccl->symbols;
	ncclDataType_t type = nccl_type(call->dtype);

	switch (call->kind) {
	case CALL_ALLTOALL:
		return symbols->alltoall
			       ? symbols->alltoall(call->send, call->recv, call->count, type,
						   of(nccl, call)->comm, nccl->stream)
			       : alltoall_pairs(nccl, call);
	case CALL_GATHER:
		return symbols->gather
			       ? symbols->gather(call->send, call->recv, call->count, type,
						 call->peer, of(nccl, call)->comm, nccl->stream)
			       : gather_pairs(nccl, call);
	case CALL_SCATTER:
		return symbols->scatter
			       ? symbols->scatter(call->send, call->recv, call->count, type,
						  call->peer, of(nccl, call)->comm, nccl->stream)
			       : scatter_pairs(nccl, call);
	case CALL_ALLTOALLV:
		return alltoallv_pairs(nccl, call);
	default:
		return ncclInvalidArgument;
	}
}

static ncclResult_t issue_one(struct nccl *nccl, const struct call *call, ncclRedOp_t op)
{
	ncclDataType_t type = nccl_type(call->dtype);
	cudaStream_t stream = nccl->stream;
	ncclComm_t comm = of(nccl, call)->comm;

	switch (call->kind) {
	case CALL_ALL_REDUCE:
		return ncclAllReduce(call->send, call->recv, call->count, type, op, comm, stream);
	case CALL_ALL_GATHER:
		return ncclAllGather(call->send, call->recv, call->count, type, comm, stream);
	case CALL_REDUCE_SCATTER:
		return ncclReduceScatter(call->send, call->recv, call->count, type, op, comm,
					 stream);
	case CALL_BROADCAST:
		return ncclBroadcast(call->send, call->recv, call->count, type, call->peer, comm,
				     stream);
	case CALL_REDUCE:
		return ncclReduce(call->send, call->recv, call->count, type, op, call->peer, comm,
				  stream);
	case CALL_SEND:
		return ncclSend(call->send, call->count, type, call->peer, comm, stream);
	case CALL_RECV:
		return ncclRecv(call->recv, call->count, type, call->peer, comm, stream);
	default:
		return issue_exchange(nccl, call);
	}
}

/* True when this call or group gets device times. Events of a captured stream have none. */
static bool clocked(const struct nccl *nccl)
{
	return nccl->clock && !nccl->capturing;
}

static int span_begin(struct nccl *nccl)
{
	cudaError_t rc = clocked(nccl) ? device_clock_begin(nccl->clock) : cudaSuccess;

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "recording an event", rc);
}

static int span_launch(struct nccl *nccl)
{
	cudaError_t rc = clocked(nccl) ? device_clock_launch(nccl->clock) : cudaSuccess;

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "recording an event", rc);
}

static int span_end(struct nccl *nccl)
{
	cudaError_t rc = clocked(nccl) ? device_clock_end(nccl->clock) : cudaSuccess;

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

/* In a group nothing is launched before its end, so that is what the events of its calls
 * enclose. */
int nccl_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct nccl *nccl = to_nccl(be);
	bool alone = nccl->depth == 0;
	ncclResult_t result;
	ncclRedOp_t op;
	int rc = call_check(nccl, call);

	if (!rc)
		rc = nccl_op(nccl, call, &op);
	if (!rc && alone)
		rc = span_begin(nccl);
	if (!rc && alone)
		rc = span_launch(nccl);
	if (rc)
		return rc;
	if (clocked(nccl))
		device_clock_ticket(nccl->clock, ticket);
	result = issue_one(nccl, call, op);
	if (result != ncclSuccess)
		return nccl_fail(nccl, call_kind_name(call->kind), result);
	return alone ? span_end(nccl) : 0;
}

int nccl_group_begin(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	ncclResult_t result;
	int rc = nccl->depth == 0 ? span_begin(nccl) : 0;

	if (rc)
		return rc;
	result = ncclGroupStart();
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
	rc = nccl->depth == 0 ? span_launch(nccl) : 0;
	if (rc)
		return rc;
	result = ncclGroupEnd();
	if (result != ncclSuccess)
		return nccl_fail(nccl, "ncclGroupEnd", result);
	return nccl->depth == 0 ? span_end(nccl) : 0;
}
