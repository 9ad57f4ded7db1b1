/* probe.h: measures pairs of ranks over an existing communicator. */
#pragma once

#include "backend/call.h"
#include "backend/job.h"
#include "pairs/matrix.h"

struct pair_probe {
	struct chain *chain;	   /* with a watch, calls are recorded */
	const struct watch *watch; /* of waits */
	struct job *job;
	char *send, *recv; /* memory of the backend's; messages rotate through it */
	size_t pool;	   /* bytes of each */
	double seconds;	   /* about so long for the messages of one pair, size and load */
	bool brief;	   /* disjoint pairs alone, which predictions take */
	bool alone;	   /* each pair alone, one way, and no other load */
};

/* Fills in the matrix' times on every rank; its sizes are at most the pool's. A message takes as
 * long as its slower end. "All pairs" are all up to 128 ranks, else those of the plan. 0, or a
 * negative errno with the error set. Collective over the job's ranks, as the communicator. */
int pair_probe_run(const struct pair_probe *probe, struct pair_matrix *m);
