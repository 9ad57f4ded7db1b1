/* all_reduce_perf.c: every rank gets the reduction of all ranks' buffers. */
#include "perf_main.h"

static int all_reduce_segments(const struct geometry *geometry, const struct shape *shape,
			       struct segment *segments)
{
	return segments_one(SEGMENT_REDUCE, shape->recv, -1, 0, segments);
}

/* Reduce-scatter, then all-gather: every byte except the own slice crosses twice. */
static double all_reduce_bus_factor(const struct geometry *geometry)
{
	return 2.0 * bus_factor_slices(geometry);
}

const struct collective all_reduce = {
	.name = "all_reduce",
	.reduces = true,
	.in_place = true,
	.shape = shape_whole,
	.alg_bytes = alg_bytes_size,
	.bus_factor = all_reduce_bus_factor,
	.segments = all_reduce_segments,
	.call = CALL_ALL_REDUCE,
};
