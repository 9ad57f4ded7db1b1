/* gather_perf.c: the root gets every rank's slice; other receive buffers must not change. */
#include "perf_main.h"

static int gather_segments(const struct geometry *geometry, const struct shape *shape,
			   struct segment *segments)
{
	if (geometry->rank != geometry->root)
		return segments_one(SEGMENT_KEEP, shape->recv, -1, 0, segments);
	return segments_gather(geometry->nranks, shape->count, 0, segments);
}

const struct collective gather = {
	.name = "gather",
	.rooted = true,
	.in_place = true,
	.shape = shape_gather,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_slices,
	.segments = gather_segments,
	.call = CALL_GATHER,
};
