/* bench.h: one run of one collective: everything that measuring a point needs, put together
 * once. */
#pragma once

#include "backend/backend.h"
#include "measure/buffers.h"
#include "backend/call.h"
#include "backend/collective.h"
#include "backend/comm_set.h"
#include "base/error.h"
#include "backend/job.h"
#include "options/options.h"
#include "backend/traffic.h"
#include "process/watch.h"

struct bench {
	const struct collective *collective;
	const struct options *options;
	const struct watch *watch;
	struct error *err;
	struct job *job;
	struct backend *backend;
	struct chain chain;
	struct comm_set comms;
	struct traffic traffic; /* irregular collectives only */
	struct buffers buffers;
	/* The point before: what a call took (slowest rank, seconds) on how many bytes. 0: there
	 * was none. */
	double last_seconds;
	size_t last_bytes;
	bool predicted;			   /* the same on all ranks: rank 0 may have
	                                      * predictions, */
	const struct predictor *predictor; /* and these they are; NULL: none, or another rank */
};
