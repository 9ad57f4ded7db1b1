/* schedule.c: known steps in a known order. */
#include "measure/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/check_gather.h"
#include "base/clock.h"
#include "measure/plan.h"
#include "measure/timing.h"

#define FRACTION      64 /* every step is a 64th of the first smaller than the one before */
#define CHECK_SECONDS 60.0

_Static_assert(SCHEDULE_STEPS <= 32, "schedule_run's meets have a bit per step");

struct schedule {
	struct run *run;
	struct plan plans[SCHEDULE_STEPS];
	int nplans;
	double slowest; /* warm-up step, seconds */
};

size_t schedule_bytes(size_t first, int i)
{
	size_t step = first / FRACTION / 512 * 512;
	size_t less = (size_t)i * (step ? step : 512);

	return first > less ? first - less : 0;
}

/* All steps lie in the pools at once, for they are checked at the end. */
size_t schedule_pool(size_t largest)
{
	size_t slot = largest + 2 * CHECK_GUARD + BUFFERS_ALIGN;
	size_t pool = slot < SIZE_MAX / SCHEDULE_STEPS ? SCHEDULE_STEPS * slot : SIZE_MAX / 4;

	return pool > BUFFERS_POOL ? pool : BUFFERS_POOL;
}

static struct checked_slot slot_of(int i)
{
	return (struct checked_slot){ .index = (size_t)i };
}

/* Preparing or comparing all of it may take so long. */
static double data_seconds(const struct schedule *s)
{
	double bytes = SCHEDULE_STEPS * (double)s->plans[0].slot_bytes;

	return CHECK_SECONDS + bytes / CHECK_BYTES_PER_SECOND;
}

static struct point point_of(const struct options *o, const struct collective *collective, int i)
{
	return (struct point){
		.dtype = (enum dtype)o->dtype_first,
		.op = collective->reduces ? (enum redop)o->op_first : OP_NONE,
		.root = !collective->rooted ? -1
			: o->root < 0	    ? 0
					    : o->root,
		.bytes = schedule_bytes(schedule_first(o), i),
	};
}

int schedule_check(const struct options *o, const struct collective *collective, int nranks,
		   const struct traffic *traffic, struct error *err)
{
	struct point last = point_of(o, collective, SCHEDULE_STEPS - 1);
	struct geometry geometry = {
		.nranks = nranks,
		.root = last.root,
		.elsize = dtype_size(last.dtype),
		.bytes = last.bytes,
		.align = o->align,
		.traffic = collective->irregular ? traffic : NULL,
	};
	struct shape shape;

	collective->shape(&geometry, &shape);
	if (shape.bytes > 0)
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "-b %zu: too small for a schedule of %d steps on %d ranks",
			 schedule_first(o), SCHEDULE_STEPS, nranks);
}

static int make_plans(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	int rc;

	for (int i = 0; i < SCHEDULE_STEPS; i++) {
		struct point point = point_of(bench->options, bench->collective, i);

		rc = plan_init(&s->plans[i], bench, &point, false);
		s->nplans = i + 1;
		if (rc < 0)
			return rc;
		/* one rotation for all, with room for each one's guards */
		s->plans[i].slot_bytes =
			i > 0 ? s->plans[0].slot_bytes : s->plans[0].slot_bytes + 2 * CHECK_GUARD;
	}
	return 0;
}

static int prepare(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	struct buffers *b = &bench->buffers;
	size_t bytes = s->plans[0].slot_bytes;
	int rc;

	watch_phase(bench->watch, PHASE_SETUP);
	watch_work(bench->watch, "preparing buffers", data_seconds(s));
	rc = buffers_fill(b, &s->plans[0].data, bench->job->group_rank,
			  buffers_offset(b, bytes, SCHEDULE_STEPS - 1) + bytes);
	for (int i = 0; i < SCHEDULE_STEPS && rc == 0; i++)
		rc = plan_prepare(&s->plans[i], slot_of(i));
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	watch_leave(bench->watch);
	bench->job->deadline = data_seconds(s);
	return rc < 0 ? rc : job_await_work(bench->job, "the others' buffers");
}

/* One step to its end; its wait has a deadline of its own. */
static int one_step(struct schedule *s, int i)
{
	struct bench *bench = s->run->bench;
	int rc;

	watch_enter(bench->watch, "a scheduled call", timing_deadline(s->slowest, 1));
	rc = plan_issue_checked(&s->plans[i], slot_of(i));
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	if (rc == 0)
		watch_completed(bench->watch);
	watch_leave(bench->watch);
	return rc;
}

static int warm_up(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	double seconds;
	int rc = 0;

	watch_phase(bench->watch, PHASE_WARMUP);
	for (int i = 0; i < SCHEDULE_WARMUP && rc == 0; i++) {
		seconds = clock_seconds();
		rc = one_step(s, i);
		seconds = clock_seconds() - seconds;
		if (rc == 0)
			rc = job_max(bench->job, &seconds, 1);
		if (i > 0 && seconds > s->slowest)
			s->slowest = seconds;
	}
	return rc;
}

static int check_step(struct schedule *s, int i)
{
	struct run *run = s->run;
	struct bench *bench = run->bench;
	struct check_report report = { 0 };
	struct check_sum sum;
	char text[256];
	int rc;

	watch_work(bench->watch, "comparing data", data_seconds(s));
	rc = plan_check(&s->plans[i], slot_of(i), &report);
	watch_leave(bench->watch);
	if (rc == 0)
		rc = check_gather(bench->job, &report, &sum);
	if (rc < 0 || report.wrong == 0)
		return rc;
	run_note_culprits(run, &report);
	if (!run->report)
		return 0;
	run->report->wrong_checks++;
	return report_comment(run->report, "step %d wrong: %s", i + 1,
			      check_describe(&report, text, sizeof(text)));
}

/* The steps that are timed, each to its end. */
static int make_steps(struct schedule *s, uint32_t meets)
{
	struct bench *bench = s->run->bench;
	int rc = job_barrier(bench->job, "the start of the schedule");

	watch_phase(bench->watch, PHASE_TIMED);
	for (int i = SCHEDULE_WARMUP; i < SCHEDULE_STEPS && rc == 0; i++) {
		if (meets & 1u << i)
			rc = job_barrier(bench->job, "the others before a fault");
		if (rc == 0)
			rc = one_step(s, i);
	}
	bench->job->deadline = timing_deadline(s->slowest, SCHEDULE_TIMED);
	return rc < 0 ? rc : job_barrier(bench->job, "the end of the schedule");
}

/* That a rank makes in each step. */
static int step_calls(const struct bench *bench)
{
	return collective_calls(bench->collective, bench->job->group_size);
}

/* Says what will be done, as a remark. */
static int announce(const struct run *run, uint32_t meets)
{
	size_t first = schedule_first(run->bench->options);
	int calls = step_calls(run->bench);
	char where[256] = "";

	for (int i = SCHEDULE_WARMUP; i < SCHEDULE_STEPS; i++)
		if (meets & 1u << i)
			snprintf(where + strlen(where), sizeof(where) - strlen(where),
				 "%sstep %d (call %d)",
				 where[0] ? ", " : "; all ranks meet before ", i + 1,
				 i * calls + 1);
	return report_comment(
		run->report, "schedule: %d + %d steps of %s, each of %d call%s, %zu to %zu bytes%s",
		SCHEDULE_WARMUP, SCHEDULE_TIMED, run->bench->collective->name, calls,
		calls == 1 ? "" : "s", first, schedule_bytes(first, SCHEDULE_STEPS - 1), where);
}

int schedule_run(struct run *run, uint32_t meets)
{
	struct bench *bench = run->bench;
	struct schedule *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return error_set(bench->err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	s->run = run;
	rc = make_plans(s);
	if (rc == 0 && run->report)
		rc = announce(run, meets);
	if (rc == 0)
		rc = prepare(s);
	if (rc == 0)
		rc = warm_up(s);
	if (rc == 0)
		rc = make_steps(s, meets);
	bench->job->deadline = data_seconds(s);
	watch_phase(bench->watch, PHASE_CHECK);
	for (int i = 0; i < SCHEDULE_STEPS && rc == 0; i++)
		rc = check_step(s, i);
	run->calls_checked = rc == 0 ? SCHEDULE_STEPS * step_calls(bench) : 0;
	for (int i = 0; i < s->nplans; i++)
		plan_release(&s->plans[i]);
	free(s);
	return rc;
}

size_t schedule_first(const struct options *options)
{
	return options->size_given ? options->min_bytes : SCHEDULE_BYTES;
}
