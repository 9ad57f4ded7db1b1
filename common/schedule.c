/* schedule.c: known calls in a known order. */
#include "schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_share.h"
#include "clock.h"
#include "plan.h"
#include "timing.h"

#define ALL_CALLS (SCHEDULE_WARMUP + SCHEDULE_CALLS)
#define STEP 64 /* every call is a 64th of the first smaller than the one before */
#define CHECK_SECONDS 60.0

struct schedule {
	struct run *run;
	struct plan plans[ALL_CALLS];
	int nplans;
	double slowest; /* warm-up call, seconds */
};

size_t schedule_bytes(size_t first, int i)
{
	size_t step = first / STEP / 512 * 512;

	return first - (size_t)i * (step ? step : 512);
}

/* All calls lie in the pools at once, for they are checked at the end. */
size_t schedule_pool(size_t largest)
{
	size_t slot = largest + 2 * CHECK_GUARD + BUFFERS_ALIGN;
	size_t pool = slot < SIZE_MAX / ALL_CALLS ? ALL_CALLS * slot : SIZE_MAX / 4;

	return pool > BUFFERS_POOL ? pool : BUFFERS_POOL;
}

static struct checked_slot slot_of(int i)
{
	return (struct checked_slot){ .index = (size_t)i };
}

/* How long preparing or comparing all of it may take. */
static double data_seconds(const struct schedule *s)
{
	return CHECK_SECONDS + ALL_CALLS * (double)s->plans[0].slot_bytes / CHECK_BYTES_PER_SECOND;
}

static int make_plans(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	const struct options *o = bench->options;
	struct point point = {
		.dtype = (enum dtype)o->dtype_first,
		.op = bench->collective->reduces ? (enum redop)o->op_first : OP_NONE,
		.root = !bench->collective->rooted ? -1 : o->root < 0 ? 0 : o->root,
	};
	int rc;

	for (int i = 0; i < ALL_CALLS; i++) {
		point.bytes = schedule_bytes(schedule_first(o), i);
		rc = plan_init(&s->plans[i], bench, &point, false);
		s->nplans = i + 1;
		if (rc == -ENODATA)
			return error_set(bench->err, OUTCOME_USAGE, -EINVAL,
			                 "-b %zu: too small for a schedule of %d calls on %d "
			                 "ranks",
			                 schedule_first(o), ALL_CALLS, bench->job->group_size);
		if (rc < 0)
			return rc;
		/* one rotation for all, with room for each one's guards */
		s->plans[i].slot_bytes = i > 0 ? s->plans[0].slot_bytes :
		                                 s->plans[0].slot_bytes + 2 * CHECK_GUARD;
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
	watch_enter(bench->watch, "preparing buffers", data_seconds(s));
	rc = buffers_fill(b, &s->plans[0].data, bench->job->group_rank,
	                  buffers_offset(b, bytes, ALL_CALLS - 1) + bytes);
	for (int i = 0; i < ALL_CALLS && rc == 0; i++)
		rc = plan_prepare(&s->plans[i], slot_of(i));
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	watch_leave(bench->watch);
	bench->job->patience = data_seconds(s);
	return rc < 0 ? rc : job_barrier(bench->job, "the others' buffers");
}

/* One call to its end; its wait has a deadline of its own. */
static int one_call(struct schedule *s, int i)
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
		rc = one_call(s, i);
		seconds = clock_seconds() - seconds;
		if (rc == 0)
			rc = job_max(bench->job, &seconds, 1);
		if (i > 0 && seconds > s->slowest)
			s->slowest = seconds;
	}
	return rc;
}

static int check_call_of(struct schedule *s, int i)
{
	struct run *run = s->run;
	struct bench *bench = run->bench;
	struct check_report report = { 0 };
	struct check_sum sum;
	char text[256];
	int rc;

	watch_enter(bench->watch, "comparing data", data_seconds(s));
	rc = plan_check(&s->plans[i], slot_of(i), &report);
	watch_leave(bench->watch);
	if (rc == 0)
		rc = check_share(bench->job, &report, &sum);
	if (rc < 0 || report.wrong == 0)
		return rc;
	run_note_guilty(run, &report);
	if (!run->report)
		return 0;
	run->report->wrong_checks++;
	return report_comment(run->report, "call %d wrong: %s", i + 1,
	                      check_describe(&report, text, sizeof(text)));
}

/* The calls that are timed, each to its end. */
static int make_calls(struct schedule *s, uint32_t meets)
{
	struct bench *bench = s->run->bench;
	int rc = job_barrier(bench->job, "the start of the schedule");

	watch_phase(bench->watch, PHASE_TIMED);
	for (int i = SCHEDULE_WARMUP; i < ALL_CALLS && rc == 0; i++) {
		if (meets & 1u << i)
			rc = job_barrier(bench->job, "the others before a fault");
		if (rc == 0)
			rc = one_call(s, i);
	}
	bench->job->patience = timing_deadline(s->slowest, SCHEDULE_CALLS);
	return rc < 0 ? rc : job_barrier(bench->job, "the end of the schedule");
}

/* What will be done, as a remark. */
static int announce(const struct run *run, uint32_t meets)
{
	size_t first = schedule_first(run->bench->options);
	char where[128] = "";

	for (int i = SCHEDULE_WARMUP; i < ALL_CALLS; i++)
		if (meets & 1u << i)
			snprintf(where + strlen(where), sizeof(where) - strlen(where), "%s%d",
			         where[0] ? ", " : "; all ranks meet before call ", i + 1);
	return report_comment(run->report, "schedule: %d + %d calls of %s, %zu to %zu bytes%s",
	                      SCHEDULE_WARMUP, SCHEDULE_CALLS, run->bench->collective->name, first,
	                      schedule_bytes(first, ALL_CALLS - 1), where);
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
		rc = make_calls(s, meets);
	bench->job->patience = data_seconds(s);
	watch_phase(bench->watch, PHASE_CHECK);
	for (int i = 0; i < ALL_CALLS && rc == 0; i++)
		rc = check_call_of(s, i);
	run->calls_checked = rc == 0 ? ALL_CALLS : 0;
	for (int i = 0; i < s->nplans; i++)
		plan_release(&s->plans[i]);
	free(s);
	return rc;
}

size_t schedule_first(const struct options *options)
{
	return options->size_given ? options->min_bytes : SCHEDULE_BYTES;
}
