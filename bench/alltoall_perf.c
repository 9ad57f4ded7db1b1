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

const struct collective alltoall = {
	.name = "alltoall",
	.shape = alltoall_shape,
	.bus_factor = bus_factor_slices,
	.segments = segments_gather,
	.call = CALL_ALLTOALL,
};
