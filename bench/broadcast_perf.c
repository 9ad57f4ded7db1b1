/* broadcast_perf.c: every rank gets the root's buffer. */
#include "perf_main.h"

const struct collective broadcast = {
	.name = "broadcast",
	.rooted = true,
	.in_place = true,
	.shape = shape_whole,
	.segments = segments_root,
	.call = CALL_BROADCAST,
};
