/* bench.h: one run of one collective: everything that measuring a point needs, put together
 * once. */
#ifndef HANGAR_BENCH_H
#define HANGAR_BENCH_H

#include "backend.h"
#include "buffers.h"
#include "call.h"
#include "collective.h"
#include "error.h"
#include "job.h"
#include "options.h"
#include "traffic.h"
#include "watch.h"

struct bench {
	const struct collective *collective;
	const struct options *options;
	const struct watch *watch;
	struct error *err;
	struct job *job;
	struct backend *backend;
	struct chain chain;
	struct traffic traffic; /* irregular collectives only */
	struct buffers buffers;
	/* The point before: what a call took (slowest rank, seconds) on how many bytes. 0: there
	 * was none. */
	double last_seconds;
	size_t last_bytes;
	bool forecast;                       /* the same on all ranks: rank 0 may have
	                                      * predictions, */
	const struct forecaster *forecaster; /* and these they are; NULL: none, or another rank */
};

#endif
