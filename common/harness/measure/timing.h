/* timing.h: batches of calls, timed in one of three ways. Measures this rank only; nothing
 * is printed.
 *
 * stream    calls issued back to back, one sample per batch: time from the common start until all
 *           have completed, over the number of calls (nccl-tests' meaning of "time").
 * isolated  one call at a time, all ranks starting at the same moment: one sample per call.
 * graph     a captured batch, replayed: one sample per launch series, over the number of calls. */
#pragma once

#include "measure/plan.h"

struct timing {
	struct plan *plan;
	enum mode mode;
	int calls;	  /* per batch; isolated: 1 */
	int samples;	  /* per batch: as many as calls where each is timed (isolated, -I),
	                      * else 1 */
	int launches;	  /* graph: replays per batch */
	int per_sample;	  /* calls that a sample is the mean of, -m included */
	double slowest;	  /* seconds per call, slowest warm-up round of any rank; 0: unknown */
	double expected;  /* the same before any call was made, from the point
	                      * before; 0: unknown */
	double predicted; /* the same, from the topology; 0: unknown */
	void *graph;
	long long issued;     /* calls made for this point so far */
	long long warm_calls; /* of these, warm-up */
};

/* Times of one batch on this rank: seconds per call, `samples` entries each. */
struct batch {
	double *time;	 /* until completed */
	double *enqueue; /* until the call returned to the host */
};

/* Calls of one batch or warm-up round at most, whatever the size: how far they reach into the
 * pools. */
size_t timing_most_calls(const struct options *options);

/* Bring the point to its steady state (or make options->warmup calls) and choose calls, samples and
 * launches for batches of a few milliseconds; capture the graph in graph mode. Collective. */
int timing_warm_up(struct timing *timing);

/* -n: make the next batch, the last one, exactly `left` iterations long. */
void timing_set_last(struct timing *timing, int left);

/* One batch. With `checked` the last call runs on that slot, which has been prepared.
 * Collective. */
int timing_batch(struct timing *timing, const struct checked_slot *checked, struct batch *batch);

/* One iteration, on slot `index` of the rotation, without waiting: -m calls in one group. With
 * `checked` the last of them runs on that slot. */
int timing_issue(struct timing *timing, size_t index, const struct checked_slot *checked);

/* One untimed iteration, waited for, in graph mode captured and launched; with `checked` as above.
 * `extra` seconds lengthen its deadline. Collective. */
int timing_once(struct timing *timing, const struct checked_slot *checked, double extra);

/* The slot on which the last call of a checked batch may run. */
struct checked_slot timing_last_slot(const struct timing *timing);

/* Until all calls that were issued have completed. 0 or a negative errno with the error set. */
int timing_wait(struct timing *timing);

/* Graph mode: capture a batch into timing->graph, launch it once and wait for it. */
int timing_capture(struct timing *timing);

void timing_release(struct timing *timing);

/* Deadline in seconds for `calls` calls of which the slowest so far took `slowest` seconds; 0:
 * none has been made yet (0.5 s, 10 s for a first use, 10 x the slowest
 * warm-up). */
double timing_deadline(double slowest, double calls);

/* That deadline for calls of this point, 10 x what is predicted at least; before any warm-up scaled
 * from the point before. */
double timing_calls_deadline(const struct timing *timing, double calls);
