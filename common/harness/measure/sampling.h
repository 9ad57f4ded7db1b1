/* sampling.h: samples of one point on every rank, gathered on rank 0 by batch. */
#pragma once

#include "report/row.h"
#include "base/stats.h"
#include "measure/timing.h"

struct sampling {
	struct timing *timing;
	struct stop_rule rule;
	size_t skip; /* -K: samples to leave out at the start */
	/* filled on rank 0 only, except `n`, `spent` and `stop`, which all ranks share */
	size_t n, room;
	double *time, *enqueue; /* n x nranks, row-major, us per call */
	double *headline;	/* n, us per call */
	double spent;		/* seconds in timed calls */
	int iterations;		/* timed iterations so far; known to all ranks */
	enum stop_reason stop;
	struct stats *per_rank; /* nranks entries, us, after sampling_finish */
};

/* Prepares an empty sample; `timing` is borrowed. sampling_release frees what rows may borrow. */
void sampling_init(struct sampling *sampling, struct timing *timing);
void sampling_release(struct sampling *sampling);

/* Returns true if the next batch may be the last. With -n it completes the count, and its length is
 * set to the rest; otherwise the interval may be narrow enough after it for the first time. */
bool sampling_last_batch(struct sampling *sampling);

/* Runs one batch and gathers it; with `checked` its last call runs on that slot. Sets
 * sampling->stop at the end. Collective. */
int sampling_batch(struct sampling *sampling, const struct checked_slot *checked);

/* Rank 0: writes statistics into the row, which borrows arrays of `sampling`. */
void sampling_finish(struct sampling *sampling, struct row *row);
