/* alltoall_perf.c: every rank sends a different slice to every rank. */
#include "perf_main.h"

static void alltoall_shape(const struct geometry *geometry, struct shape *shape)
{
	size_t count = slice_count(geometry);
	size_t all = count * (size_t)geometry->nranks;

	*shape = (struct shape){
		.send = all, .recv = all, .count = count, .bytes = all * geometry->elsize
	};
}

static int alltoall_segments(const struct geometry *geometry, const struct shape *shape,
			     struct segment *segments)
{
	size_t own = shape->count * (size_t)geometry->rank;

	return segments_gather(geometry->nranks, shape->count, own, segments);
}

const struct collective alltoall = {
	.name = "alltoall",
	.shape = alltoall_shape,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_slices,
	.segments = alltoall_segments,
	.call = CALL_ALLTOALL,
};
