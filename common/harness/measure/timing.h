/* timing.h: batches of calls, timed in one of three ways, on this rank only. Prints nothing.
 *
 * stream    back-to-back calls, one sample per batch: time from the common start until all are
 *           complete, divided by the number of calls (nccl-tests' "time").
 * isolated  one call at a time from a common start of all ranks, one sample per call.
 * graph     replays of a captured batch, one sample per series of launches, divided by the number
 *           of calls. */
#pragma once

#include "measure/plan.h"

struct timing {
	struct plan *plan;
	enum mode mode;
	int calls;	  /* per batch; isolated: 1 */
	int samples;	  /* per batch: `calls` if each is timed (isolated, -I), else 1 */
	int launches;	  /* graph: replays per batch */
	int per_sample;	  /* calls per sample, with -m */
	double slowest;	  /* seconds per call, slowest warm-up round of any rank; 0: unknown */
	double expected;  /* the same before any call, from the previous point; 0: unknown */
	double predicted; /* the same by the topology; 0: unknown */
	void *graph;
	long long issued;     /* calls of this point so far */
	long long warm_calls; /* warm-up calls among them */
};

/* The times of one batch on this rank: seconds per call, `samples` entries each. */
struct batch {
	double *time;	 /* until completion */
	double *enqueue; /* until the call returns to the host */
};

/* Returns the most calls of one batch or warm-up round, which limits the slots in use. */
size_t timing_most_calls(const struct options *options);

/* Brings the point to its steady state (or makes options->warmup calls), and chooses calls, samples
 * and launches for batches of a few milliseconds. Captures the graph in graph mode. Collective. */
int timing_warm_up(struct timing *timing);

/* -n: sets the length of the last batch to `left` iterations. */
void timing_set_last(struct timing *timing, int left);

/* Runs one batch. With `checked` the last call runs on that prepared slot. Collective. */
int timing_batch(struct timing *timing, const struct checked_slot *checked, struct batch *batch);

/* Issues one iteration on slot `index` of the rotation without a wait: -m calls in one group. With
 * `checked` the last of them runs on that slot. */
int timing_issue(struct timing *timing, size_t index, const struct checked_slot *checked);

/* Runs one untimed iteration and waits for it, in graph mode by a captured launch; `checked` as
 * above. `extra` seconds lengthen its deadline. Collective. */
int timing_once(struct timing *timing, const struct checked_slot *checked, double extra);

struct checked_slot timing_last_slot(const struct timing *timing);

/* Waits until all issued calls are complete. Returns 0 or a negative errno with the error set. */
int timing_wait(struct timing *timing);

/* Graph mode: captures a batch into timing->graph, launches it once and waits for it. */
int timing_capture(struct timing *timing);

/* Frees the graph, if any. */
void timing_release(struct timing *timing);

/* Returns the deadline in seconds for `calls` calls if the slowest so far took `slowest` seconds:
 * 10 x that and at least 0.5 s; 10 s for 0, the first use. */
double timing_deadline(double slowest, double calls);

/* Returns that deadline for calls of this point, at least 10 x the prediction or the last point. */
double timing_calls_deadline(const struct timing *timing, double calls);
