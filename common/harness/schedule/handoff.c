/* handoff.c: pairs of ranks exchange data by sequential sends and receives without a group. */
#include "schedule/scheme.h"

/* Returns the partner; -1: none, the last of an odd number of ranks. */
static int partner(const struct geometry *geometry)
{
	int other = geometry->rank ^ 1;

	return other < geometry->nranks ? other : -1;
}

static int handoff_segments(const struct geometry *geometry, const struct shape *shape,
			    struct segment *segments)
{
	if (partner(geometry) < 0)
		return segments_one(SEGMENT_KEEP, shape->recv, 0, 0, segments);
	return segments_one(SEGMENT_COPY, shape->recv, partner(geometry), 0, segments);
}

static int make(struct chain *chain, const struct invocation *invocation, enum call_kind kind)
{
	struct call call = invocation_call(invocation, kind);

	call.peer = partner(invocation->geometry);
	if (kind == CALL_SEND)
		call.recv = NULL;
	else
		call.send = NULL;
	return chain_call(chain, &call);
}

static int handoff_run(struct chain *chain, const struct invocation *invocation)
{
	bool lower = invocation->geometry->rank % 2 == 0;
	int rc;

	if (partner(invocation->geometry) < 0)
		return 0;
	rc = make(chain, invocation, lower ? CALL_SEND : CALL_RECV);
	return rc < 0 ? rc : make(chain, invocation, lower ? CALL_RECV : CALL_SEND);
}

const struct collective handoff = {
	.name = "handoff",
	.shape = shape_whole,
	.segments = handoff_segments,
	.run = handoff_run,
};
