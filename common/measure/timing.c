/* timing.c: warm-up and the three ways to time a batch. */
#include "measure/timing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Launching the first call and seeing the last one end costs a batch about 20 us (H200,
 * 2026-11-21): 0.15 % of it. Short calls stay at MAX_CALLS, so that what they touch stays in the
 * L2 cache as it does with nccl-tests' 20. */
#define BATCH_SECONDS 13e-3
#define MAX_CALLS                                                                                  \
	64 /* half the recorder's ring holds so many, also of several
                                 * calls each */
#define MAX_GRAPH	   1024
#define MIN_STREAM_CALLS   4
#define ISOLATED_SAMPLES   32
#define ISOLATED_SECONDS   0.1 /* of calls between two looks at whether to stop */
#define WARM_ROUND_SECONDS 1e-3
#define WARM_SECONDS                                                                               \
	0.2 /* a point that is not steady after this long is measured as
                                 * it is */
#define WARM_ROUNDS 8
#define STEADY	    0.05
#define START_AHEAD                                                                                \
	30e-6 /* isolated: time to get out of the exchange that agrees on
                                 * a start */
#define FIXED_BATCH                                                                                \
	20 /* -n N is timed in batches of so many calls, nccl-tests'
                                 * default -n */

double timing_deadline(double slowest, double calls)
{
	double seconds = 10 * slowest * calls;
	double floor = slowest > 0 ? 0.5 : 10;

	return seconds > floor ? seconds : floor;
}

double timing_calls_deadline(const struct timing *t, double calls)
{
	double seconds = timing_deadline(t->slowest, calls);

	if (t->slowest <= 0)
		seconds = fmax(seconds, 10 * t->expected * calls);
	return fmax(seconds, 10 * t->predicted * calls);
}

double timing_batch_deadline(const struct timing *t)
{
	return timing_calls_deadline(t, (double)t->per_sample * t->samples);
}

static int wait_all(struct timing *t)
{
	struct backend *be = t->plan->bench->backend;
	int rc = be->ops->wait(be);

	if (rc == 0)
		watch_completed(t->plan->bench->watch);
	return rc;
}

int timing_issue(struct timing *t, size_t index, const struct checked_slot *checked)
{
	struct bench *bench = t->plan->bench;
	int agg = bench->options->agg_iters, rc = 0, end;

	if (agg > 1 && (rc = chain_group_begin(&bench->chain)) < 0)
		return rc;
	for (int i = 0; i < agg && rc == 0; i++)
		rc = checked && i == agg - 1 ? plan_issue_checked(t->plan, *checked)
					     : plan_issue(t->plan, index * (size_t)agg + (size_t)i);
	if (agg > 1) {
		end = chain_group_end(&bench->chain);
		rc = rc < 0 ? rc : end;
	}
	t->issued += agg;
	return rc;
}

static int calls_of(const struct timing *t)
{
	return t->calls * t->plan->bench->options->agg_iters;
}

/* ---- stream ---- */

/* -z: 1 waits and meets the others after every iteration, 2 waits, 3 is 1 without the meeting in
 * the time (its barrier is taken off by the caller's clock: `off`). */
static int block(struct timing *t, double *off)
{
	struct bench *bench = t->plan->bench;
	double begin;
	int rc = wait_all(t);

	if (rc < 0 || bench->options->blocking == 2)
		return rc;
	begin = clock_seconds();
	/* inside a watched wait already: the plain barrier */
	rc = MPI_Barrier(bench->job->comm) == MPI_SUCCESS ? 0 : -EIO;
	if (bench->options->blocking == 3)
		*off += clock_seconds() - begin;
	return rc;
}

/* -I: the stream's own times between the ends of consecutive iterations, one sample each; with
 * -z, whose waits lie between them, from begin to end of each: two marks an iteration. */
static int marks_per_call(const struct timing *t)
{
	return t->plan->bench->options->blocking ? 2 : 1;
}

static int read_marks(struct timing *t, struct batch *batch)
{
	struct backend *be = t->plan->bench->backend;
	int per = marks_per_call(t), n = per == 2 ? 2 * t->calls : t->calls + 1;
	double *between = calloc((size_t)n, sizeof(*between)), enqueue = batch->enqueue[0];
	int rc;

	if (!between)
		return error_set(t->plan->bench->err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	rc = be->ops->marks->between(be, n, between);
	for (int i = 0; i < t->calls; i++) {
		batch->time[i] = between[i * per] / t->plan->bench->options->agg_iters;
		batch->enqueue[i] = enqueue;
	}
	free(between);
	return rc;
}

/* Before (`after` 0) or after iteration `i`. */
static int mark(struct timing *t, int i, int after)
{
	struct bench *bench = t->plan->bench;
	int number = marks_per_call(t) == 2 ? 2 * i + after : i + after;

	if (!bench->options->per_iter || (!after && i > 0 && marks_per_call(t) == 1))
		return 0;
	return bench->backend->ops->marks->mark(bench->backend, number);
}

static int batch_stream(struct timing *t, const struct checked_slot *checked, struct batch *batch)
{
	struct bench *bench = t->plan->bench;
	double begin, off = 0;
	int rc;

	watch_enter(bench->watch, "timed calls", timing_calls_deadline(t, calls_of(t)));
	begin = clock_seconds();
	rc = 0;
	for (int i = 0; i < t->calls && rc == 0; i++) {
		rc = mark(t, i, 0);
		if (rc == 0)
			rc = timing_issue(t, (size_t)i, i == t->calls - 1 ? checked : NULL);
		if (rc == 0)
			rc = mark(t, i, 1);
		if (rc == 0 && bench->options->blocking)
			rc = block(t, &off);
	}
	batch->enqueue[0] = (clock_seconds() - begin - off) / calls_of(t);
	if (rc == 0)
		rc = wait_all(t);
	batch->time[0] = (clock_seconds() - begin - off) / calls_of(t);
	watch_leave(bench->watch);
	return rc == 0 && bench->options->per_iter ? read_marks(t, batch) : rc;
}

/* ---- isolated ---- */

/* A moment shortly ahead, the same for all ranks of one host; on several hosts, whose clocks
 * differ, the end of a barrier. */
static int aligned_start(struct bench *bench, double *start)
{
	*start = clock_seconds() + START_AHEAD;
	if (bench->job->nnodes > 1) {
		int rc = job_barrier(bench->job, "aligned start");

		*start = clock_seconds();
		return rc;
	}
	return job_max(bench->job, start, 1);
}

static int batch_isolated(struct timing *t, const struct checked_slot *checked, struct batch *batch)
{
	struct bench *bench = t->plan->bench;
	int agg = bench->options->agg_iters, rc = 0;

	for (int i = 0; i < t->samples && rc == 0; i++) {
		double start;

		rc = aligned_start(bench, &start);
		if (rc < 0)
			break;
		watch_enter(bench->watch, "timed call", timing_calls_deadline(t, agg));
		while (clock_seconds() < start)
			;
		rc = timing_issue(t, (size_t)i, i == t->samples - 1 ? checked : NULL);
		batch->enqueue[i] = (clock_seconds() - start) / agg;
		if (rc == 0)
			rc = wait_all(t);
		batch->time[i] = (clock_seconds() - start) / agg;
		watch_leave(bench->watch);
	}
	return rc;
}

/* ---- graph ---- */

static int capture(struct timing *t, const struct checked_slot *checked, void **graph)
{
	struct backend *be = t->plan->bench->backend;
	int rc = be->ops->graph->begin(be), end;

	if (rc < 0)
		return rc;
	for (int i = 0; i < t->calls && rc == 0; i++)
		rc = timing_issue(t, (size_t)i, i == t->calls - 1 ? checked : NULL);
	end = be->ops->graph->end(be, graph);
	return rc < 0 ? rc : end;
}

static int launch(struct timing *t, void *graph)
{
	struct bench *bench = t->plan->bench;
	int rc = bench->backend->ops->graph->launch(bench->backend, graph);

	if (rc == 0)
		watch_replayed(bench->watch, (uint32_t)calls_of(t));
	return rc;
}

/* A checked batch is a graph of its own: its last call runs elsewhere. Only its last launch
 * finds the slot freshly prepared, so it is launched once. A last batch of another length has
 * its own, too. */
static int batch_graph(struct timing *t, const struct checked_slot *checked, struct batch *batch)
{
	struct bench *bench = t->plan->bench;
	int launches = checked ? 1 : t->launches, rc = 0;
	double per = (double)launches * calls_of(t), begin;
	void *graph = checked ? NULL : t->graph;

	watch_enter(bench->watch, "graph launches", timing_calls_deadline(t, per));
	if (!graph)
		rc = capture(t, checked, &graph);
	if (!checked)
		t->graph = graph;
	begin = clock_seconds();
	for (int i = 0; i < launches && rc == 0; i++)
		rc = launch(t, graph);
	batch->enqueue[0] = (clock_seconds() - begin) / per;
	if (rc == 0)
		rc = wait_all(t);
	batch->time[0] = (clock_seconds() - begin) / per;
	watch_leave(bench->watch);
	if (checked && graph)
		bench->backend->ops->graph->release(bench->backend, graph);
	return rc;
}

int timing_batch(struct timing *t, const struct checked_slot *checked, struct batch *batch)
{
	int rc = job_barrier(t->plan->bench->job, "the start of a batch");

	if (rc < 0)
		return rc;
	switch (t->mode) {
	case MODE_ISOLATED:
		return batch_isolated(t, checked, batch);
	case MODE_GRAPH:
		return batch_graph(t, checked, batch);
	default:
		return batch_stream(t, checked, batch);
	}
}

/* ---- warm-up ---- */

/* `calls` eager calls; the slowest rank's seconds per call. */
static int warm_round(struct timing *t, int calls, double *seconds)
{
	struct bench *bench = t->plan->bench;
	double begin = clock_seconds();
	int rc = 0;

	watch_enter(bench->watch, t->issued ? "warm-up calls" : "the first call of a size",
		    timing_calls_deadline(t, calls * bench->options->agg_iters));
	for (int i = 0; i < calls && rc == 0; i++)
		rc = timing_issue(t, (size_t)i, NULL);
	if (rc == 0)
		rc = wait_all(t);
	watch_leave(bench->watch);
	*seconds = (clock_seconds() - begin) / (calls * bench->options->agg_iters);
	return rc < 0 ? rc : job_max(bench->job, seconds, 1);
}

static int clamp(double value, int low, int high)
{
	return value < low ? low : value > high ? high : (int)value;
}

/* All ranks see the same figures (job_max) and so take the same decisions. */
static int warm_adaptive(struct timing *t, double *seconds)
{
	double before, spent;
	bool steady = false;
	int calls, rc = warm_round(t, 1, seconds);

	spent = *seconds;
	for (int round = 0; rc == 0 && round < WARM_ROUNDS && !steady; round++) {
		calls = clamp(WARM_ROUND_SECONDS / *seconds, 1, 50);
		before = *seconds;
		rc = warm_round(t, calls, seconds);
		if (*seconds > t->slowest)
			t->slowest = *seconds;
		spent += *seconds * calls;
		steady = fabs(*seconds - before) <= STEADY * *seconds || spent > WARM_SECONDS;
	}
	return rc;
}

/* -w, in rounds that the ranks finish together: nobody runs ahead by more than half a ring. */
static int warm_fixed(struct timing *t, int calls, double *seconds)
{
	int rc = 0, round;

	*seconds = 0;
	for (int done = 0; done < calls && rc == 0; done += round) {
		round = done == 0 ? 1 : calls - done < MAX_CALLS ? calls - done : MAX_CALLS;
		rc = warm_round(t, round, seconds);
		if (done > 0 && *seconds > t->slowest)
			t->slowest = *seconds;
	}
	if (t->slowest == 0)
		t->slowest = *seconds; /* -w 1: the first call is all there is to go by */
	return rc;
}

/* A last batch of -n may be almost twice as long as those before it. */
size_t timing_most_calls(const struct options *o)
{
	size_t longest = o->mode == MODE_GRAPH ? MAX_GRAPH : 2 * FIXED_BATCH;
	size_t most = 2 * longest > MAX_CALLS ? 2 * longest : MAX_CALLS;

	return most * (size_t)o->agg_iters;
}

static void update_per_sample(struct timing *t)
{
	const struct options *o = t->plan->bench->options;

	t->per_sample = o->agg_iters * t->launches * (o->per_iter ? 1 : t->calls);
}

/* -n: batches of about nccl-tests' default length; a graph holds all of them, as there, unless they
 * are very many. */
static void choose_fixed(struct timing *t)
{
	int iters = t->plan->bench->options->iters;
	int batches = iters > FIXED_BATCH ? iters / FIXED_BATCH : 1;

	if (t->mode == MODE_GRAPH)
		batches = (iters - 1) / MAX_GRAPH + 1;
	t->calls = iters / batches;
	t->samples = t->mode == MODE_ISOLATED ? t->calls : 1;
}

/* `per`: seconds that one iteration takes. */
static void choose_adaptive(struct timing *t, double per)
{
	const struct bench *bench = t->plan->bench;
	int agg = bench->options->agg_iters;
	/* a device's queue costs one wait per batch; host calls have completed when they return */
	int min = bench->backend->ops->flags & BACKEND_ASYNC ? MIN_STREAM_CALLS : 1;

	t->calls = clamp(ceil(BATCH_SECONDS / per), min, MAX_CALLS / agg > 1 ? MAX_CALLS / agg : 1);
	t->samples = 1;
	if (t->mode == MODE_ISOLATED)
		t->samples = clamp(ISOLATED_SECONDS / per, 1, ISOLATED_SAMPLES);
	else if (t->mode == MODE_GRAPH && t->calls > FIXED_BATCH)
		t->calls = FIXED_BATCH;
}

/* How much goes into one batch, from what a call takes. */
static void choose_batch(struct timing *t, double seconds)
{
	const struct options *o = t->plan->bench->options;
	double per = seconds > 0 ? seconds * o->agg_iters : 1e-5;

	if (o->iters > 0)
		choose_fixed(t);
	else
		choose_adaptive(t, per);
	if (o->check_every)
		t->calls = t->samples = 1;
	if (t->mode == MODE_ISOLATED)
		t->calls = 1;
	if (o->per_iter)
		t->samples = t->calls;
	t->launches = 1;
	if (t->mode == MODE_GRAPH)
		t->launches = o->graph_launches > 0
				      ? o->graph_launches
				      : clamp(BATCH_SECONDS / (per * t->calls), 1, 100);
	update_per_sample(t);
}

void timing_set_last(struct timing *t, int left)
{
	if (t->mode == MODE_GRAPH && left != t->calls)
		timing_release(t); /* the graph of the batches before */
	if (t->mode != MODE_ISOLATED)
		t->calls = left;
	if (t->mode == MODE_ISOLATED || t->plan->bench->options->per_iter)
		t->samples = left;
	update_per_sample(t);
}

int timing_warm_up(struct timing *t)
{
	struct bench *bench = t->plan->bench;
	double seconds = 0;
	int rc;

	watch_phase(bench->watch, PHASE_WARMUP);
	rc = job_barrier(bench->job, "the start of a point");
	if (rc < 0)
		return rc;
	rc = bench->options->warmup >= 0 ? warm_fixed(t, bench->options->warmup, &seconds)
					 : warm_adaptive(t, &seconds);
	if (rc < 0)
		return rc;
	t->warm_calls = t->issued;
	choose_batch(t, seconds);
	if (t->mode != MODE_GRAPH)
		return 0;
	watch_enter(bench->watch, "graph capture", timing_deadline(0, 0));
	rc = capture(t, NULL, &t->graph);
	if (rc == 0)
		rc = launch(t, t->graph);
	if (rc == 0)
		rc = wait_all(t);
	watch_leave(bench->watch);
	return rc;
}

struct checked_slot timing_last_slot(const struct timing *t)
{
	int batch = t->mode == MODE_ISOLATED ? t->samples : t->calls;

	return plan_last_slot(t->plan, (size_t)batch * (size_t)t->plan->bench->options->agg_iters);
}

void timing_release(struct timing *t)
{
	struct bench *bench = t->plan->bench;

	if (t->graph)
		bench->backend->ops->graph->release(bench->backend, t->graph);
	t->graph = NULL;
}
