/* reduce_scatter_perf.c: every rank gets its slice of the reduction of all ranks' buffers. */
#include "perf_main.h"

const struct collective reduce_scatter = {
	.name = "reduce_scatter",
	.reduces = true,
	.in_place = true,
	.shape = shape_scatter,
	.bus_factor = bus_factor_slices,
	.segments = segments_reduce,
	.call = CALL_REDUCE_SCATTER,
};
