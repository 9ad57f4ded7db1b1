/* reduce_perf.c: the root gets the reduction of all ranks' buffers. */
#include "perf_main.h"

const struct collective reduce = {
	.name = "reduce",
	.reduces = true,
	.rooted = true,
	.in_place = true,
	.shape = shape_whole,
	.segments = segments_reduce,
	.call = CALL_REDUCE,
};
