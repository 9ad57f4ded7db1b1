/* sendrecv_perf.c: a ring shift: every rank sends to the next and receives from the one before. */
#include "perf_main.h"

/* The rank `step` places further in the ring. */
static int ring_rank(const struct geometry *geometry, int step)
{
	return (geometry->rank + step + geometry->nranks) % geometry->nranks;
}

static int sendrecv_segments(const struct geometry *geometry, const struct shape *shape,
			     struct segment *segments)
{
	return segments_one(SEGMENT_COPY, shape->recv, ring_rank(geometry, -1), 0, segments);
}

static int sendrecv_run(struct chain *chain, const struct invocation *invocation)
{
	const struct geometry *geometry = invocation->geometry;

	return run_exchange(chain, invocation, invocation->shape->count, invocation->send,
			    ring_rank(geometry, 1), invocation->recv, ring_rank(geometry, -1));
}

const struct collective sendrecv = {
	.name = "sendrecv",
	.shape = shape_whole,
	.segments = sendrecv_segments,
	.run = sendrecv_run,
};
