/* gather_perf.c: the root gets every rank's slice; other receive buffers must not change. */
#include "perf_main.h"

const struct collective gather = {
	.name = "gather",
	.rooted = true,
	.in_place = true,
	.shape = shape_gather,
	.bus_factor = bus_factor_slices,
	.segments = segments_gather,
	.call = CALL_GATHER,
};
