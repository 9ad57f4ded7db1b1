/* facts.h: where and on what a run was made: hosts, devices, versions. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"
#include "process/launch.h"
#include "report/sink.h"

#define HANGAR_VERSION "0.1.0"

/* Gather every rank's facts at rank 0. Returns 0 or a negative errno; at rank 0 *ranks is an
 * array of nranks entries that the caller frees, elsewhere NULL. Collective. */
int facts_gather(struct job *job, struct backend *backend, struct rank_facts **ranks);

/* Fill what is the same for all: versions, start time. */
void facts_run(struct run_facts *run, const struct job *job, const struct backend *backend,
	       const struct options *options, const struct rank_facts *ranks);
