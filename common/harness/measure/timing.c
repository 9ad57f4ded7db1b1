/* timing.c: deadlines, warm-up, and the size of a batch. */
#include "measure/timing.h"

#include "base/clock.h"

/* A batch's first launch, pipeline fill and last completion cost 10 to 30 us (two H200,
 * 2026-11-23): at most 0.8 % of it. From 512 KiB on a batch's slots exceed an L2 cache of 50 MB:
 * data come from memory, as those of a gradient bucket do after a step. */
#define BATCH_SECONDS 4e-3
/* Half of the recorder's ring holds this many, also with several calls each. */
#define MAX_CALLS	   64
#define MAX_GRAPH	   1024
#define ISOLATED_SAMPLES   32
#define ISOLATED_SECONDS   0.1 /* seconds of calls between two checks of the stop rule */
#define WARM_ROUND_SECONDS 1e-3
#define WARM_SECONDS	   0.2 /* limit for the wait for a steady state */
#define WARM_ROUNDS	   8
#define STEADY		   0.05
#define FIXED_BATCH	   20 /* -n N: calls per batch, nccl-tests' default of -n */

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

/* Runs `calls` eager calls; returns the slowest rank's seconds per call. */
static int warm_round(struct timing *t, int calls, double *seconds)
{
	struct bench *bench = t->plan->bench;
	double begin = clock_seconds();
	int rc = 0;

	watch_enter(bench->watch, t->issued ? "warm-up calls" : "the first call of a size",
		    timing_calls_deadline(t, calls * bench->options->agg_iters));
	for (int i = 0; i < calls && rc == 0; i++)
		rc = timing_issue(t, bench->options->like_nccl_tests ? 0 : (size_t)i, NULL);
	if (rc == 0)
		rc = timing_wait(t);
	watch_leave(bench->watch);
	*seconds = (clock_seconds() - begin) / (calls * bench->options->agg_iters);
	return rc < 0 ? rc : job_max(bench->job, seconds, 1);
}

static int clamp(double value, int low, int high)
{
	return value < low ? low : value > high ? high : (int)value;
}

/* All ranks see the same figures (job_max) and so decide alike. */
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

/* -w, in rounds that the ranks finish together: no rank gets ahead by more than half a ring. */
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
		t->slowest = *seconds; /* -w 1: the first call is the only measurement */
	return rc;
}

/* The last batch of -n may be almost twice as long as those before it. */
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

/* -n: batches of about nccl-tests' default length. A graph holds all calls up to a limit. */
static void choose_fixed(struct timing *t)
{
	int iters = t->plan->bench->options->iters;
	int batches = iters > FIXED_BATCH ? iters / FIXED_BATCH : 1;

	if (t->mode == MODE_GRAPH)
		batches = (iters - 1) / MAX_GRAPH + 1;
	t->calls = iters / batches;
	t->samples = t->mode == MODE_ISOLATED ? t->calls : 1;
}

/* `per`: seconds of one iteration. */
static void choose_adaptive(struct timing *t, double per)
{
	const struct bench *bench = t->plan->bench;
	int agg = bench->options->agg_iters;

	t->calls = clamp(ceil(BATCH_SECONDS / per), 1, MAX_CALLS / agg > 1 ? MAX_CALLS / agg : 1);
	t->samples = 1;
	if (t->mode == MODE_ISOLATED)
		t->samples = clamp(ISOLATED_SECONDS / per, 1, ISOLATED_SAMPLES);
	else if (t->mode == MODE_GRAPH && t->calls > FIXED_BATCH)
		t->calls = FIXED_BATCH;
}

/* Chooses the size of a batch from the seconds of a call. */
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
		timing_release(t); /* the graph of earlier batches */
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
	return t->mode == MODE_GRAPH ? timing_capture(t) : 0;
}

struct checked_slot timing_last_slot(const struct timing *t)
{
	int batch = t->mode == MODE_ISOLATED ? t->samples : t->calls;

	return plan_last_slot(t->plan, (size_t)batch * (size_t)t->plan->bench->options->agg_iters);
}
