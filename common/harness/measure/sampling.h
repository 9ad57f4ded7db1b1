/* sampling.h: the samples of one point, of every rank, gathered at rank 0 batch by batch. */
#pragma once

#include "options/options.h"
#include "report/row.h"
#include "base/stats.h"
#include "measure/timing.h"

struct sampling {
	struct timing *timing;
	struct stop_rule rule;
	enum average average; /* -a: what a sample's headline is over the ranks */
	size_t skip;	      /* -K: samples to leave out at the start */
	/* the rest is filled at rank 0 only, but `n`, `spent` and `stop`, which all ranks agree
	 * on */
	size_t n, room;
	double *time, *enqueue; /* n x nranks, row-major, seconds per call */
	double *headline;	/* n, seconds per call */
	double spent;		/* seconds in timed calls */
	int iterations;		/* timed so far; known to all ranks */
	enum stop_reason stop;
	struct stats *per_rank; /* nranks entries, us, once sampling_finish ran */
	double *detail_us;	/* -I: `time` in us, once sampling_finish ran */
};

void sampling_init(struct sampling *sampling, struct timing *timing);
void sampling_release(struct sampling *sampling);

/* Returns true when the next batch may be the last: with -n it completes what was asked for, and its
 * length is set to what is left; else the interval may be narrow enough after it for the first time. */
bool sampling_last_batch(struct sampling *sampling);

/* Run one batch and gather it; with `checked` its last call runs on that slot. Sets
 * sampling->stop when this was enough. Collective. */
int sampling_batch(struct sampling *sampling, const struct checked_slot *checked);

/* Rank 0: put statistics into the row (times, spread, slowest rank, sample counts, stop reason).
 * The row borrows arrays of `sampling`. */
void sampling_finish(struct sampling *sampling, struct row *row);
