/* scatter_perf.c: every rank gets its slice of the root's buffer. */
#include "perf_main.h"

static int scatter_segments(const struct geometry *geometry, const struct shape *shape,
			    struct segment *segments)
{
	size_t own = shape->count * (size_t)geometry->rank;

	return segments_one(SEGMENT_COPY, shape->recv, geometry->root, own, segments);
}

const struct collective scatter = {
	.name = "scatter",
	.rooted = true,
	.in_place = true,
	.shape = shape_scatter,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_slices,
	.segments = scatter_segments,
	.call = CALL_SCATTER,
};
