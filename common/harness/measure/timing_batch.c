/* timing_batch.c: the three ways to time a batch. */
#include "measure/timing.h"

#include "base/clock.h"

/* Isolated: time to leave the exchange that agrees on a start. */
#define START_AHEAD 30e-6

int timing_wait(struct timing *t)
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

/* -z: 1 waits and meets the others after every iteration, 2 waits, 3 is 1 without the barrier in
 * the time (`off` returns the barrier's seconds). */
static int block(struct timing *t, double *off)
{
	struct bench *bench = t->plan->bench;
	double begin;
	int rc = timing_wait(t);

	if (rc < 0 || bench->options->blocking == 2)
		return rc;
	begin = clock_seconds();
	/* inside a watched wait already: a plain barrier */
	rc = job_meet(bench->job);
	if (bench->options->blocking == 3)
		*off += clock_seconds() - begin;
	return rc;
}

/* -I: stream times between the ends of consecutive iterations, one sample each. With -z, whose
 * waits lie in between, from begin to end of each: two marks per iteration. */
static int marks_per_call(const struct timing *t)
{
	return t->plan->bench->options->blocking ? 2 : 1;
}

/* `marks`: the host's times, for a backend without marks. */
static int read_marks(struct timing *t, struct batch *batch, double *marks)
{
	struct backend *be = t->plan->bench->backend;
	int per = marks_per_call(t), n = per == 2 ? 2 * t->calls : t->calls + 1;
	double enqueue = batch->enqueue[0];
	int rc = be->ops->marks ? be->ops->marks->between(be, n, marks) : 0;

	for (int i = 0; !be->ops->marks && i + 1 < n; i++)
		marks[i] = marks[i + 1] - marks[i];
	for (int i = 0; i < t->calls; i++) {
		batch->time[i] = marks[i * per] / t->plan->bench->options->agg_iters;
		batch->enqueue[i] = enqueue;
	}
	return rc;
}

/* Before (`after` 0) or after iteration `i`. */
static int mark(struct timing *t, int i, int after, double *marks)
{
	struct backend *be = t->plan->bench->backend;
	int number = marks_per_call(t) == 2 ? 2 * i + after : i + after;

	if (!marks || (!after && i > 0 && marks_per_call(t) == 1))
		return 0;
	if (be->ops->marks)
		return be->ops->marks->mark(be, number);
	marks[number] = clock_seconds();
	return 0;
}

static int batch_stream(struct timing *t, const struct checked_slot *checked, struct batch *batch)
{
	struct bench *bench = t->plan->bench;
	size_t room = bench->options->per_iter ? 2 * (size_t)t->calls : 0;
	double *marks = room ? must(calloc(room, sizeof(*marks))) : NULL, begin, off = 0;
	int rc = 0;

	watch_enter(bench->watch, "timed calls", timing_calls_deadline(t, calls_of(t)));
	begin = clock_seconds();
	for (int i = 0; i < t->calls && rc == 0; i++) {
		rc = mark(t, i, 0, marks);
		if (rc == 0)
			rc = timing_issue(t, (size_t)i, i == t->calls - 1 ? checked : NULL);
		if (rc == 0)
			rc = mark(t, i, 1, marks);
		if (rc == 0 && bench->options->blocking)
			rc = block(t, &off);
	}
	batch->enqueue[0] = (clock_seconds() - begin - off) / calls_of(t);
	if (rc == 0)
		rc = timing_wait(t);
	batch->time[0] = (clock_seconds() - begin - off) / calls_of(t);
	watch_leave(bench->watch);
	if (rc == 0 && marks)
		rc = read_marks(t, batch, marks);
	free(marks);
	return rc;
}

/* A start time shortly ahead, equal for all ranks of a host; on several the end of a barrier. */
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
			rc = timing_wait(t);
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

/* A checked batch has its own graph: its last call uses another slot, which only one launch finds
 * freshly prepared. A last batch of another length also has its own. */
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
		rc = timing_wait(t);
	batch->time[0] = (clock_seconds() - begin) / per;
	watch_leave(bench->watch);
	if (checked && graph)
		bench->backend->ops->graph->release(bench->backend, graph);
	return rc;
}

/* Runs a captured graph, or one iteration, under the wait name `what`. */
static int untimed(struct timing *t, const struct checked_slot *checked, const char *what,
		   double seconds)
{
	const struct watch *watch = t->plan->bench->watch;
	bool graph = t->mode == MODE_GRAPH;
	int rc;

	watch_enter(watch, what, seconds);
	rc = graph ? capture(t, checked, &t->graph) : timing_issue(t, 0, checked);
	if (rc == 0 && graph)
		rc = launch(t, t->graph);
	if (rc == 0)
		rc = timing_wait(t);
	watch_leave(watch);
	return rc;
}

int timing_capture(struct timing *t)
{
	return untimed(t, NULL, "graph capture", timing_deadline(0, 0));
}

int timing_once(struct timing *t, const struct checked_slot *checked, double extra)
{
	struct timing one = *t;
	int rc;

	one.calls = 1;
	one.graph = NULL;
	rc = untimed(&one, checked, "an untimed call",
		     extra + timing_calls_deadline(t, calls_of(&one)));
	timing_release(&one);
	t->issued = one.issued;
	return rc;
}

void timing_release(struct timing *t)
{
	struct bench *bench = t->plan->bench;

	if (t->graph)
		bench->backend->ops->graph->release(bench->backend, t->graph);
	t->graph = NULL;
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
