/* broadcast_perf.c: every rank gets the root's buffer. */
#include "perf_main.h"

static int broadcast_segments(const struct geometry *geometry, const struct shape *shape,
			      struct segment *segments)
{
	return segments_one(SEGMENT_COPY, shape->recv, geometry->root, 0, segments);
}

const struct collective broadcast = {
	.name = "broadcast",
	.rooted = true,
	.in_place = true,
	.shape = shape_whole,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_one,
	.segments = broadcast_segments,
	.call = CALL_BROADCAST,
};
