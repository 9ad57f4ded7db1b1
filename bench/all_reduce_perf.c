/* all_reduce_perf.c: every rank gets the reduction of all ranks' buffers. */
#include "perf_main.h"

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
	.bus_factor = all_reduce_bus_factor,
	.segments = segments_reduce,
	.call = CALL_ALL_REDUCE,
};
