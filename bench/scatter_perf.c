/* scatter_perf.c: every rank gets its slice of the root's buffer. */
#include "perf_main.h"

const struct collective scatter = {
	.name = "scatter",
	.rooted = true,
	.in_place = true,
	.shape = shape_scatter,
	.bus_factor = bus_factor_slices,
	.segments = segments_root,
	.call = CALL_SCATTER,
};
