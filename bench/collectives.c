/* collectives.c: all collectives of this folder, by name. */
#include "perf_main.h"

const struct collective *const collectives[] = {
	&all_gather, &all_reduce, &alltoall,	   &alltoallv, &broadcast, &gather,
	&hypercube,  &reduce,	  &reduce_scatter, &scatter,   &sendrecv,  NULL,
};
