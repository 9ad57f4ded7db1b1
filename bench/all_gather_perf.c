/* all_gather_perf.c: every rank gets every rank's slice. */
#include "perf_main.h"

static int all_gather_segments(const struct geometry *geometry, const struct shape *shape,
			       struct segment *segments)
{
	return segments_gather(geometry->nranks, shape->count, 0, segments);
}

const struct collective all_gather = {
	.name = "all_gather",
	.in_place = true,
	.shape = shape_gather,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_slices,
	.segments = all_gather_segments,
	.call = CALL_ALL_GATHER,
};
