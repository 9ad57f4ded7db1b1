/* reduce_perf.c: the root gets the reduction of all ranks' buffers. */
#include "perf_main.h"

static int reduce_segments(const struct geometry *geometry, const struct shape *shape,
			   struct segment *segments)
{
	enum segment_kind kind = geometry->rank == geometry->root ? SEGMENT_REDUCE : SEGMENT_KEEP;

	return segments_one(kind, shape->recv, -1, 0, segments);
}

const struct collective reduce = {
	.name = "reduce",
	.reduces = true,
	.rooted = true,
	.in_place = true,
	.shape = shape_whole,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_one,
	.segments = reduce_segments,
	.call = CALL_REDUCE,
};
