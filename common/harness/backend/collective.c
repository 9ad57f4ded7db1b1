/* collective.c: parts of the collectives of bench/: counts, bandwidth factors, oracles, calls. */
#include "backend/collective.h"

struct option_target collective_target(const struct collective *collective)
{
	return (struct option_target){
		.name = collective->name,
		.reduces = collective->reduces,
		.rooted = collective->rooted,
		.irregular = collective->irregular,
	};
}

double bus_factor_slices(const struct geometry *geometry)
{
	return (double)(geometry->nranks - 1) / geometry->nranks;
}

size_t slice_count(const struct geometry *geometry)
{
	size_t count = geometry->bytes / geometry->elsize / (size_t)geometry->nranks;
	size_t unit = geometry->align / geometry->elsize;

	return unit > 1 ? count - count % unit : count;
}

void shape_whole(const struct geometry *geometry, struct shape *shape)
{
	size_t count = geometry->bytes / geometry->elsize;

	*shape = (struct shape){
		.send = count,
		.recv = count,
		.count = count,
		.bytes = count * geometry->elsize,
	};
}

void shape_gather(const struct geometry *geometry, struct shape *shape)
{
	size_t count = slice_count(geometry);
	size_t all = count * (size_t)geometry->nranks;

	*shape = (struct shape){
		.send = count,
		.recv = all,
		.count = count,
		.bytes = all * geometry->elsize,
		.inplace_send = count * (size_t)geometry->rank,
	};
}

void shape_scatter(const struct geometry *geometry, struct shape *shape)
{
	size_t count = slice_count(geometry);
	size_t all = count * (size_t)geometry->nranks;

	*shape = (struct shape){
		.send = all,
		.recv = count,
		.count = count,
		.bytes = all * geometry->elsize,
		.inplace_recv = count * (size_t)geometry->rank,
	};
}

static bool is_root(const struct geometry *geometry)
{
	return geometry->root < 0 || geometry->root == geometry->rank;
}

/* Returns the place of this rank's slice in send buffers that hold one for each rank. */
static size_t own_slice(const struct geometry *geometry, const struct shape *shape)
{
	return shape->send > shape->count ? shape->count * (size_t)geometry->rank : 0;
}

int segments_one(enum segment_kind kind, size_t count, int from, size_t from_at,
		 struct segment *segments)
{
	segments[0] =
		(struct segment){ .kind = kind, .count = count, .from = from, .from_at = from_at };
	return count ? 1 : 0;
}

int segments_reduce(const struct geometry *geometry, const struct shape *shape,
		    struct segment *segments)
{
	return segments_one(is_root(geometry) ? SEGMENT_REDUCE : SEGMENT_KEEP, shape->recv, -1,
			    own_slice(geometry, shape), segments);
}

int segments_root(const struct geometry *geometry, const struct shape *shape,
		  struct segment *segments)
{
	return segments_one(SEGMENT_COPY, shape->recv, geometry->root, own_slice(geometry, shape),
			    segments);
}

int segments_gather(const struct geometry *geometry, const struct shape *shape,
		    struct segment *segments)
{
	if (!is_root(geometry))
		return segments_one(SEGMENT_KEEP, shape->recv, -1, 0, segments);
	for (int rank = 0; rank < geometry->nranks; rank++)
		segments[rank] = (struct segment){ .kind = SEGMENT_COPY,
						   .at = shape->count * (size_t)rank,
						   .count = shape->count,
						   .from = rank,
						   .from_at = own_slice(geometry, shape) };
	return geometry->nranks;
}

struct call invocation_call(const struct invocation *invocation, enum call_kind kind)
{
	return (struct call){
		.comm = invocation->comm,
		.kind = kind,
		.send = invocation->send,
		.recv = invocation->recv,
		.count = invocation->shape->count,
		.dtype = invocation->dtype,
		.op = invocation->op,
		.peer = invocation->geometry->root,
		.offset = invocation->offset,
	};
}

int collective_run(const struct collective *collective, struct chain *chain,
		   const struct invocation *invocation)
{
	struct call call;

	if (collective->run)
		return collective->run(chain, invocation);
	call = invocation_call(invocation, collective->call);
	return chain_call(chain, &call);
}

int run_exchange(struct chain *chain, const struct invocation *invocation, size_t count,
		 const void *send, int to, void *recv, int from)
{
	struct call out = invocation_call(invocation, CALL_SEND);
	struct call in = invocation_call(invocation, CALL_RECV);
	int rc, end;

	out.count = in.count = count;
	out.send = send;
	out.recv = NULL;
	out.peer = to;
	in.send = NULL;
	in.recv = recv;
	in.peer = from;
	rc = chain_group_begin(chain);
	if (rc)
		return rc;
	rc = chain_call(chain, &out);
	if (!rc)
		rc = chain_call(chain, &in);
	end = chain_group_end(chain);
	return rc ? rc : end;
}
