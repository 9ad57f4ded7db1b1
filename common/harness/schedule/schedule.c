/* schedule.c: runs a schedule: fixed steps in a fixed order. */
#include "schedule/schedule_parts.h"

#include "backend/check_call.h"
#include "base/clock.h"
#include "base/stats.h"
#include "measure/plan.h"
#include "measure/timing.h"

#define CHECK_SECONDS 60.0
#define FEWEST_TIMES  3 /* fewer calls permit no statistic (PACE_FEWEST) */
#define MOST_TIMES    50000

_Static_assert(SCHEDULE_STEPS <= 32, "schedule_run's meets have a bit per step");

struct schedule {
	struct run *run;
	const struct schedule_setup *setup;
	struct plan plans[SCHEDULE_STEPS * SCHEME_PARTS];
	size_t slots[SCHEDULE_STEPS * SCHEME_PARTS]; /* slot of each plan, equal on all its ranks */
	int nplans;
	int first[SCHEDULE_STEPS + 1]; /* first plan of each step, and the end */
	size_t slot_bytes;
	double slowest; /* the slowest warm-up step, seconds */
	void *graphs[SCHEDULE_STEPS];
	double entered;
	struct step_cost costs[SCHEDULE_STEPS];
};

static struct checked_slot slot_of(const struct schedule *s, int plan)
{
	return (struct checked_slot){ .index = s->slots[plan] };
}

/* Time for preparation or comparison of all data. */
static double data_seconds(const struct schedule *s)
{
	return CHECK_SECONDS + s->nplans * (double)s->slot_bytes / CHECK_BYTES_PER_SECOND;
}

static int add_plans(struct schedule *s, int i)
{
	struct bench *bench = s->run->bench;
	struct step_part parts[SCHEME_PARTS];
	int n = schedule_parts(s->setup, bench->job->group_rank, i, parts), rc = 0;

	s->first[i] = s->nplans;
	for (int k = 0; k < n && rc == 0; k++) {
		struct plan *plan = &s->plans[s->nplans];

		/* the first and the last slot of the pool stay free */
		s->slots[s->nplans++] = (size_t)(i * schedule_width(s->setup) + parts[k].slot + 1);
		rc = plan_init(plan, bench, &parts[k].point, false);
		if (plan->slot_bytes > s->slot_bytes)
			s->slot_bytes = plan->slot_bytes;
	}
	return rc;
}

static int make_plans(struct schedule *s)
{
	double most;
	int rc = 0;

	for (int i = 0; i < SCHEDULE_STEPS && rc == 0; i++)
		rc = add_plans(s, i);
	s->first[SCHEDULE_STEPS] = s->nplans;
	/* one rotation for all ranks, with room for each call's guards */
	most = (double)(s->slot_bytes + 2 * CHECK_GUARD);
	if (rc == 0)
		rc = job_max(s->run->bench->job, &most, 1);
	s->slot_bytes = (size_t)most;
	for (int i = 0; i < s->nplans; i++)
		s->plans[i].slot_bytes = s->slot_bytes;
	return rc;
}

static int prepare(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	int rc = 0;

	watch_phase(bench->watch, PHASE_SETUP);
	watch_work(bench->watch, "preparing buffers", data_seconds(s));
	for (int i = 0; i < s->nplans && rc == 0; i++) {
		rc = plan_fill(&s->plans[i], slot_of(s, i));
		if (rc == 0)
			rc = plan_prepare(&s->plans[i], slot_of(s, i));
	}
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	watch_leave(bench->watch);
	bench->job->deadline = data_seconds(s);
	return rc < 0 ? rc : job_await_work(bench->job, "the others' buffers");
}

static int issue_step(struct schedule *s, int i)
{
	int rc = 0;

	for (int k = s->first[i]; k < s->first[i + 1] && rc == 0; k++)
		rc = plan_issue_checked(&s->plans[k], slot_of(s, k));
	return rc;
}

/* Captures the step's calls and launches the graph -G times. */
static int replay_step(struct schedule *s, int i)
{
	struct bench *bench = s->run->bench;
	struct backend *be = bench->backend;
	int launches = bench->options->graph_launches > 0 ? bench->options->graph_launches : 1;
	uint32_t before = bench->chain.emitted; /* a fault may make other calls than planned */
	int rc = be->ops->graph->begin(be), end;

	if (rc < 0)
		return rc;
	rc = issue_step(s, i);
	end = be->ops->graph->end(be, &s->graphs[i]);
	for (int k = 0; k < launches && rc == 0 && end == 0; k++)
		end = chain_launch(&bench->chain, s->graphs[i],
				   i > SCHEDULE_WARMUP ? s->graphs[i - 1] : NULL,
				   bench->chain.emitted - before);
	return rc < 0 ? rc : end;
}

/* Runs one step to its end; its wait has its own deadline. */
static int one_step(struct schedule *s, int i)
{
	struct bench *bench = s->run->bench;
	bool graph = bench->options->mode == MODE_GRAPH && i >= SCHEDULE_WARMUP;
	double begin = clock_seconds(), end;
	int rc;

	s->entered = begin;
	watch_enter(bench->watch, "a scheduled call", timing_deadline(s->slowest, 1));
	rc = graph ? replay_step(s, i) : issue_step(s, i);
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	if (rc == 0)
		watch_completed(bench->watch);
	watch_leave(bench->watch);
	end = clock_seconds();
	s->costs[i] = (struct step_cost){ end - begin, end - s->entered };
	return rc;
}

/* Generous time for a step: the median, or a third of the slowest, which may have set-up in it. */
static double usual_seconds(const double *steps, size_t n)
{
	struct stats stats;

	return stats_compute(steps, n, &stats) < 0 ? 0 : fmax(stats.median, stats.max / 3);
}

static int warm_up(struct schedule *s)
{
	struct bench *bench = s->run->bench;
	double steps[SCHEDULE_WARMUP], seconds;
	int rc = 0;

	watch_phase(bench->watch, PHASE_WARMUP);
	for (int i = 0; i < SCHEDULE_WARMUP && rc == 0; i++) {
		seconds = clock_seconds();
		rc = one_step(s, i);
		seconds = clock_seconds() - seconds;
		if (rc == 0)
			rc = job_max(bench->job, &seconds, 1);
		steps[i] = seconds;
		if (i > 0)
			s->slowest = usual_seconds(steps + 1, (size_t)i);
	}
	return rc;
}

/* Checks part `part` of step `i`; a rank without that part checks nothing. */
static int check_part(struct schedule *s, int i, int part)
{
	struct run *run = s->run;
	struct bench *bench = run->bench;
	int k = s->first[i] + part;
	struct check_report report = { 0 };
	int64_t wrong;
	char text[256];
	int rc;

	watch_work(bench->watch, "comparing data", data_seconds(s));
	rc = k < s->first[i + 1] ? plan_check(&s->plans[k], slot_of(s, k), &report) : 0;
	watch_leave(bench->watch);
	if (report.wrong && report.culprit >= 0)
		report.culprit =
			comm_set_member(&s->setup->comms, s->plans[k].comm, report.culprit);
	if (rc == 0)
		rc = check_gather(bench->job, &report, &wrong);
	if (rc < 0 || report.wrong == 0)
		return rc;
	run_note_culprits(run, &report);
	if (!run->report)
		return 0;
	run->report->wrong_checks++;
	return report_comment(run->report, "step %d wrong: %s", i + 1,
			      check_describe(&report, text, sizeof(text)));
}

/* All timed steps again and again, until they have lasted so long; `took` seconds the first time, which others' work may have
 * lengthened: their number is estimated anew now and then. */
static int make_again(struct schedule *s, double took, double lasting)
{
	struct run *run = s->run;
	double begin = clock_seconds() - took;
	int made = 1, rc = 0;

	while (rc == 0 && made < MOST_TIMES) {
		double left;
		int more;

		took = clock_seconds() - begin;
		rc = job_max(run->bench->job, &took, 1);
		left = made < FEWEST_TIMES ? FEWEST_TIMES - made : (lasting - took) / took * made;
		if (left < .05 * made)
			break;
		more = (int)fmin(fmax(left, 1), 2.0 * made);
		for (int i = 0; i < more * SCHEDULE_TIMED && rc == 0; i++)
			rc = one_step(s, SCHEDULE_WARMUP + i % SCHEDULE_TIMED);
		made += more;
	}
	return rc == 0 && run->report
		       ? report_comment(run->report, "made %d times, %.1f s in all: %d calls", made,
					took, SCHEDULE_WARMUP + made * SCHEDULE_TIMED)
		       : rc;
}

static int make_steps(struct schedule *s, uint32_t meets, double lasting)
{
	struct bench *bench = s->run->bench;
	int rc = job_barrier(bench->job, "the start of the schedule");
	double begin = clock_seconds();

	watch_phase(bench->watch, PHASE_TIMED);
	for (int i = SCHEDULE_WARMUP; i < SCHEDULE_STEPS && rc == 0; i++) {
		if (meets & 1u << i)
			rc = job_barrier(bench->job, "the others before a fault");
		if (rc == 0)
			rc = one_step(s, i);
	}
	if (rc == 0 && lasting > 0 && bench->options->mode != MODE_GRAPH)
		rc = make_again(s, clock_seconds() - begin, lasting);
	bench->job->deadline = timing_deadline(s->slowest, SCHEDULE_TIMED);
	return rc < 0 ? rc : job_barrier(bench->job, "the end of the schedule");
}

/* Prints the planned steps as a note. */
static int announce(const struct schedule *s, uint32_t meets)
{
	const struct run *run = s->run;
	const struct options *o = run->bench->options;
	char where[256] = "";

	for (int i = SCHEDULE_WARMUP; i < SCHEDULE_STEPS; i++)
		if (meets & 1u << i)
			text_add(where, sizeof(where), "%sstep %d",
				 where[0] ? ", " : "; all ranks meet before ", i + 1);
	return report_comment(run->report, "schedule %s: %d + %d steps of %s, %zu to %zu bytes%s",
			      s->setup->scheme->name, SCHEDULE_WARMUP, SCHEDULE_TIMED,
			      run->bench->collective->name, schedule_bytes(o, 0),
			      schedule_bytes(o, SCHEDULE_STEPS - 1), where);
}

static int check_all(struct schedule *s)
{
	int parts = 0, rc;

	for (int i = 0; i < SCHEDULE_STEPS; i++)
		if (s->first[i + 1] - s->first[i] > parts)
			parts = s->first[i + 1] - s->first[i];
	rc = job_max_int(s->run->bench->job, &parts, 1);
	for (int i = 0; i < SCHEDULE_STEPS && rc == 0; i++)
		for (int part = 0; part < parts && rc == 0; part++)
			rc = check_part(s, i, part);
	return rc;
}

static void release(struct schedule *s)
{
	struct backend *be = s->run->bench->backend;

	for (int i = 0; i < SCHEDULE_STEPS; i++)
		if (s->graphs[i])
			be->ops->graph->release(be, s->graphs[i]);
	for (int i = 0; i < s->nplans; i++)
		plan_release(&s->plans[i]);
	free(s);
}

int schedule_run(struct run *run, const struct schedule_setup *setup, uint32_t meets,
		 double lasting)
{
	struct bench *bench = run->bench;
	struct schedule *s = must(calloc(1, sizeof(*s)));
	struct agenda agenda;
	int rc;

	s->run = run;
	s->setup = setup;
	bench->chain.entered = &s->entered;
	rc = make_plans(s);
	if (rc == 0 && run->report)
		rc = announce(s, meets);
	if (rc == 0)
		rc = prepare(s);
	if (rc == 0)
		rc = warm_up(s);
	if (rc == 0)
		rc = make_steps(s, meets, lasting);
	bench->chain.entered = NULL;
	if (rc == 0)
		rc = schedule_rows(run, s->costs + SCHEDULE_WARMUP);
	bench->job->deadline = data_seconds(s);
	watch_phase(bench->watch, PHASE_CHECK);
	if (rc == 0)
		rc = check_all(s);
	if (rc == 0) {
		schedule_agenda(setup, bench->job->group_rank, &agenda);
		run->calls_checked = agenda.n;
		agenda_release(&agenda);
	}
	release(s);
	return rc;
}
