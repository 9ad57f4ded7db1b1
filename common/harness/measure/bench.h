/* bench.h: the data of one run of one collective, shared by all that measure a point. */
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
	/* The previous point: seconds of a call (slowest rank) and its bytes. 0: none. */
	double last_seconds;
	size_t last_bytes;
	bool predicted;			   /* equal on all ranks: rank 0 has predictions */
	const struct predictor *predictor; /* the predictions; NULL on other ranks */
};
