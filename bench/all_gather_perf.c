/* all_gather_perf.c: every rank gets every rank's slice. */
#include "perf_main.h"

const struct collective all_gather = {
	.name = "all_gather",
	.in_place = true,
	.shape = shape_gather,
	.bus_factor = bus_factor_slices,
	.segments = segments_gather,
	.call = CALL_ALL_GATHER,
};
