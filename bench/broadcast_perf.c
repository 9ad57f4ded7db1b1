/* broadcast_perf.c: every rank gets the root's buffer. */
#include "perf_main.h"

const struct collective broadcast = {
	.name = "broadcast",
	.rooted = true,
	.in_place = true,
	.shape = shape_whole,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_one,
	.segments = segments_root,
	.call = CALL_BROADCAST,
};
