/* reduce_scatter_perf.c: every rank gets its slice of the reduction of all ranks' buffers. */
#include "perf_main.h"

static int reduce_scatter_segments(const struct geometry *geometry, const struct shape *shape,
				   struct segment *segments)
{
	size_t own = shape->count * (size_t)geometry->rank;

	return segments_one(SEGMENT_REDUCE, shape->recv, -1, own, segments);
}

const struct collective reduce_scatter = {
	.name = "reduce_scatter",
	.reduces = true,
	.in_place = true,
	.shape = shape_scatter,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_slices,
	.segments = reduce_scatter_segments,
	.call = CALL_REDUCE_SCATTER,
};
