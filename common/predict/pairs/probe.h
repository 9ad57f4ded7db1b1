/* probe.h: measures pairs of ranks, over a communicator that is there. */
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
	bool brief;	   /* disjoint pairs and all pairs alone, which predictions take */
};

/* Sizes are the matrix's, at most the pool's. Fills in its times on every rank: a message takes as long
 * as the slower end says. "All pairs" are more than those of the plan up to 128 ranks: all there are. 0
 * or a negative errno with the error set. Collective over the job's ranks, which are the
 * communicator's. */
int pair_probe_run(const struct pair_probe *probe, struct pair_matrix *m);
