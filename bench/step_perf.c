/* step_perf.c: a training step without a framework: compute, the calls of a recipe, and both together. */

#include "backend/check_call.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/output.h"
#include "base/parse.h"
#include "base/stats.h"
#include "measure/timing.h"
#include "perf_report.h"

#define COMPUTE_SECONDS 10.0 /* beyond ten times what it should take */
#define CHECK_SECONDS	60.0

/* Seconds of one step on this rank. */
struct step_time {
	double took;
	double inside;	/* in calls, from the moment at which the rank makes each; 0 on GPUs */
	double compute; /* of the compute itself */
};

struct stepper {
	struct rank *r;
	struct recipe *recipe;
	struct plan *plans; /* one per call */
	struct recipe_steps steps;
	double rate; /* of the GPU's kernel, alone: work per second */
	double slowest, entered;
};

/* The result of a recipe, on rank 0. */
struct step_row {
	const char *recipe, *backend, *dtype;
	double nranks, nnodes, bytes, pieces, calls, steps;
	double step_us, step_p95_us, compute_us, calls_us, exposed_us, overlap, slowed;
	double predicted_us, waited_us, slowest_rank, wrong;
};

#define FIELD(f) offsetof(struct step_row, f)
static const struct {
	const char *name; /* in CSV and JSON */
	const char *head; /* in the table, NULL: not there */
	size_t offset;
	bool text;
} columns[] = {
	{ "recipe", "recipe", FIELD(recipe), true },
	{ "backend", NULL, FIELD(backend), true },
	{ "nranks", NULL, FIELD(nranks), false },
	{ "nnodes", NULL, FIELD(nnodes), false },
	{ "dtype", NULL, FIELD(dtype), true },
	{ "message_bytes", NULL, FIELD(bytes), false },
	{ "pieces", "pieces", FIELD(pieces), false },
	{ "calls", "calls", FIELD(calls), false },
	{ "steps", NULL, FIELD(steps), false },
	{ "step_us", "step", FIELD(step_us), false },
	{ "step_p95_us", "p95", FIELD(step_p95_us), false },
	{ "compute_us", "compute", FIELD(compute_us), false },
	{ "calls_us", "calls us", FIELD(calls_us), false },
	{ "predicted_calls_us", "predicted", FIELD(predicted_us), false },
	{ "exposed_us", "exposed", FIELD(exposed_us), false },
	{ "overlap_percent", "overlap%", FIELD(overlap), false },
	{ "compute_slower_percent", "slower%", FIELD(slowed), false },
	{ "waited_us", "waited", FIELD(waited_us), false },
	{ "slowest_rank", "slowest", FIELD(slowest_rank), false },
	{ "wrong", "wrong", FIELD(wrong), false },
};

enum { COLUMNS = LENGTH(columns) };

static bool on_gpu(const struct stepper *s)
{
	return s->r->bench.backend->ops->compute != NULL;
}

/* ---- a step ---- */

/* So much processor time of this thread: without a core it takes longer. */
static void burn(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec * 1e-9 + seconds;
	do {
		for (volatile int turns = 0; turns < 500;)
			turns++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < end);
}

static int compute(struct stepper *s, double share, struct step_time *time)
{
	struct backend *be = s->r->bench.backend;
	double seconds = share * s->r->program->options->compute_ms * 1e-3, begin = clock_seconds();

	if (on_gpu(s))
		return be->ops->compute->run(be, seconds * s->rate);
	burn(seconds);
	time->compute += clock_seconds() - begin;
	return 0;
}

static int call(struct stepper *s, int number, bool computes, struct step_time *time)
{
	struct backend *be = s->r->bench.backend;
	struct checked_slot slot = { .index = (size_t)s->recipe->calls[number].slot + 1 };
	int rc = on_gpu(s) && computes ? be->ops->compute->join(be, true) : 0;

	s->entered = clock_seconds();
	if (rc == 0)
		rc = plan_issue_checked(&s->plans[number], slot);
	if (!on_gpu(s))
		time->inside += clock_seconds() - s->entered;
	return rc;
}

static int issue(struct stepper *s, bool computes, bool calls, struct step_time *time)
{
	struct backend *be = s->r->bench.backend;
	int rc = 0;

	for (int i = 0; i < s->recipe->nops && rc == 0; i++) {
		const struct recipe_op *op = &s->recipe->ops[i];

		if (op->kind == RECIPE_COMPUTE && computes)
			rc = compute(s, op->share, time);
		else if (op->kind == RECIPE_CALL && calls)
			rc = call(s, op->call, computes, time);
		else if (op->kind == RECIPE_WAIT && computes && calls && on_gpu(s))
			rc = be->ops->compute->join(be, false);
	}
	return rc == 0 && computes && on_gpu(s) ? be->ops->compute->join(be, true) : rc;
}

static int one_step(struct stepper *s, bool computes, bool calls, struct step_time *time)
{
	const struct watch *watch = s->r->bench.watch;
	struct backend *be = s->r->bench.backend;
	double begin = clock_seconds();
	int rc;

	*time = (struct step_time){ 0 };
	if (calls)
		watch_enter(watch, "a training step",
			    timing_deadline(s->slowest, 1) +
				    10e-3 * s->r->program->options->compute_ms);
	else
		watch_work(watch, "computing",
			   COMPUTE_SECONDS + 10e-3 * s->r->program->options->compute_ms);
	rc = issue(s, computes, calls, time);
	if (rc == 0)
		rc = be->ops->wait(be);
	if (rc == 0 && calls)
		watch_completed(watch);
	watch_leave(watch);
	time->took = clock_seconds() - begin;
	if (rc == 0 && computes && on_gpu(s))
		rc = be->ops->compute->took(be, &time->compute);
	return rc;
}

/* Steps one after the other, as a training has them; all ranks meet before the first. */
static int run_steps(struct stepper *s, int n, bool computes, bool calls, struct step_time *times)
{
	struct job *job = s->r->bench.job;
	int rc = job_barrier(job, "the start of the steps");

	for (int i = 0; i < n && rc == 0; i++)
		rc = one_step(s, computes, calls, &times[i]);
	job->deadline =
		timing_deadline(s->slowest, n) + 10e-3 * n * s->r->program->options->compute_ms;
	return rc < 0 ? rc : job_barrier(job, "the end of the steps");
}

/* ---- before and after the steps ---- */

/* Fills what is sent, alike for all calls of a slot, and poisons what is received. */
static int fill(struct stepper *s)
{
	struct bench *bench = &s->r->bench;
	double seconds = CHECK_SECONDS;
	int rc = 0;

	for (int i = 0; i < s->recipe->ncalls; i++)
		seconds += 2 * (double)s->plans[i].slot_bytes / CHECK_BYTES_PER_SECOND;
	watch_work(bench->watch, "preparing buffers", seconds);
	for (int i = 0; i < s->recipe->ncalls && rc == 0; i++) {
		struct checked_slot slot = { .index = (size_t)s->recipe->calls[i].slot + 1 };

		rc = plan_fill(&s->plans[i], slot);
		if (rc == 0)
			rc = plan_prepare(&s->plans[i], slot);
	}
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	watch_leave(bench->watch);
	bench->job->deadline = seconds;
	return rc < 0 ? rc : job_await_work(bench->job, "the others' buffers");
}

static int prepare(struct stepper *s)
{
	struct bench *bench = &s->r->bench;
	double bytes = 0;
	int rc = 0;

	for (int i = 0; i < s->recipe->ncalls && rc == 0; i++) {
		rc = plan_init(&s->plans[i], bench, &s->recipe->calls[i].point, false);
		bytes = fmax(bytes, (double)s->plans[i].slot_bytes);
	}
	/* slots lie apart by their guards, alike on all ranks and for all calls */
	if (rc == 0)
		rc = job_max(bench->job, &bytes, 1);
	for (int i = 0; i < s->recipe->ncalls; i++)
		s->plans[i].slot_bytes = (size_t)bytes + 2 * CHECK_GUARD;
	return rc < 0 ? rc : fill(s);
}

/* The work that takes a second on the fastest GPU, so that a slow one shows. */
static int calibrate(struct stepper *s)
{
	struct backend *be = s->r->bench.backend;
	int rc = 0;

	if (!on_gpu(s))
		return 0;
	watch_work(s->r->bench.watch, "calibrating", COMPUTE_SECONDS);
	rc = be->ops->compute->rate(be, &s->rate);
	watch_leave(s->r->bench.watch);
	return rc < 0 ? rc : job_max(s->r->bench.job, &s->rate, 1);
}

/* Compares the data of the newest call in each slot; what a stage gave is checked where it went. */
static int check_slot(struct stepper *s, int slot, int64_t *wrong)
{
	struct bench *bench = &s->r->bench;
	struct check_report report = { 0 };
	char text[256];
	int at = s->recipe->ncalls - 1, rc = 0;

	while (at >= 0 &&
	       (s->recipe->calls[at].slot != slot || s->plans[at].segments[0].kind == SEGMENT_KEEP))
		at--;
	watch_work(bench->watch, "comparing data", CHECK_SECONDS);
	if (at >= 0)
		rc = plan_check(&s->plans[at], (struct checked_slot){ .index = (size_t)slot + 1 },
				&report);
	watch_leave(bench->watch);
	if (report.wrong && report.culprit >= 0)
		report.culprit = comm_set_member(&bench->comms, s->plans[at].comm, report.culprit);
	if (rc == 0)
		rc = check_gather(bench->job, &report, wrong);
	if (rc == 0 && report.wrong)
		run_note_culprits(&s->r->run, &report);
	if (rc == 0 && report.wrong && s->r->run.report)
		printf("# %s, slot %d wrong: %s\n", s->recipe->name, slot,
		       check_describe(&report, text, sizeof(text)));
	return rc;
}

/* One more step, into buffers that hold nothing yet. */
static int check(struct stepper *s, int64_t *wrong)
{
	struct step_time ignored;
	int64_t here;
	int rc = fill(s);

	if (rc == 0)
		rc = one_step(s, true, true, &ignored);
	watch_phase(s->r->bench.watch, PHASE_CHECK);
	for (int slot = 0; slot < RECIPE_SLOTS && rc == 0; slot++) {
		rc = check_slot(s, slot, &here);
		*wrong += rc == 0 ? here : 0;
	}
	return rc;
}

/* ---- results ---- */

/* Sums up the predictions of the calls; NaN where one has none. */
static double predicted(const struct stepper *s)
{
	const struct bench *bench = &s->r->bench;
	double sum = bench->predictor ? 0 : NAN;

	for (int i = 0; bench->predictor && i < s->recipe->ncalls; i++) {
		const struct step_part *part = &s->recipe->calls[i];
		struct row row = { .collective = part->point.collective->name,
				   .backend = bench->backend->ops->name,
				   .nranks = bench->job->nranks,
				   .size = part->shape.bytes,
				   .count = part->shape.count,
				   .type = dtype_name(part->point.dtype),
				   .redop = redop_name(part->point.op),
				   .placement = "out-of-place",
				   .mode = mode_name(MODE_STREAM) };

		row_no_prediction(&row);
		bench->predictor->row(bench->predictor->ctx, &row);
		sum += row.predicted_us;
	}
	return sum;
}

/* A median and a 95th percentile over steps, in seconds. */
static struct stats over(const struct step_time *times, int n, size_t offset)
{
	double *values = must(calloc((size_t)n, sizeof(*values)));
	struct stats stats;

	for (int i = 0; i < n; i++)
		values[i] = *(const double *)(const void *)((const char *)&times[i] + offset);
	(void)stats_compute(values, (size_t)n, &stats);
	free(values);
	return stats;
}

#define OVER(times, n, field) over(times, n, offsetof(struct step_time, field))

/* Medians of a rank, seconds. */
struct medians {
	double step, p95, compute, alone, calls, inside;
};

/* Ranks that share cores compute faster beside ranks that wait. */
static bool shares_cores(const struct stepper *s)
{
	const struct job *job = s->r->bench.job;

	return !on_gpu(s) && job->nranks > job->nnodes * sysconf(_SC_NPROCESSORS_ONLN);
}

static void sum_up(const struct stepper *s, const struct medians *all, struct step_row *row)
{
	const struct bench *bench = &s->r->bench;
	double least = INFINITY, most = 0;
	struct medians m = { 0 };

	for (int i = 0; i < bench->job->nranks; i++) {
		m.step = fmax(m.step, all[i].step);
		m.p95 = fmax(m.p95, all[i].p95);
		m.compute = fmax(m.compute, all[i].compute);
		m.alone = fmax(m.alone, all[i].alone);
		m.calls = fmax(m.calls, all[i].calls);
		most = fmax(most, all[i].inside);
		if (all[i].inside < least)
			row->slowest_rank = i;
		least = fmin(least, all[i].inside);
	}
	row->step_us = m.step * 1e6;
	row->step_p95_us = m.p95 * 1e6;
	row->compute_us = m.alone * 1e6;
	row->calls_us = m.calls * 1e6;
	row->exposed_us = fmax(m.step - m.compute, 0) * 1e6;
	row->overlap =
		on_gpu(s) && m.calls > 0 ? fmax(1 - row->exposed_us / row->calls_us, 0) * 100 : 0;
	row->slowed = shares_cores(s) || m.alone <= 0 ? NAN : (m.compute / m.alone - 1) * 100;
	row->waited_us = on_gpu(s) ? NAN : (most - least) * 1e6;
	if (on_gpu(s))
		row->slowest_rank = -1;
}

/* The text of a column: numbers to a tenth, "nan" where there is none. */
static const char *cell(int i, const struct step_row *row, char *buf, size_t len)
{
	const void *at = (const char *)row + columns[i].offset;

	if (columns[i].text)
		return *(const char *const *)at;
	return number_text(round(*(const double *)at * 10) / 10, buf, len);
}

/* Where a row goes: the table is the first. */
static struct step_sink {
	enum { STEP_TABLE, STEP_CSV, STEP_JSON } kind;
	FILE *out;
} sinks[5];
static int nsinks;

static void put_row(const struct step_sink *sink, const struct step_row *row, bool head)
{
	static const char *const starts[] = { "", "", "{" }, *const ends[] = { "\n", "\n", "}\n" };
	char buf[32];

	for (int i = 0; head && sink->kind != STEP_JSON && i < COLUMNS; i++)
		if (sink->kind == STEP_CSV)
			fprintf(sink->out, "%s%s", columns[i].name, i + 1 < COLUMNS ? "," : "\n");
		else if (columns[i].head)
			fprintf(sink->out, "%s%*s%s", i ? " " : "#", i ? 9 : -9, columns[i].head,
				i + 1 < COLUMNS ? "" : "\n");
	fputs(starts[sink->kind], sink->out);
	for (int i = 0; i < COLUMNS; i++) {
		const char *text = cell(i, row, buf, sizeof(buf));
		bool none = strcmp(text, "nan") == 0;

		if (sink->kind == STEP_JSON)
			fprintf(sink->out, columns[i].text ? "%s\"%s\":\"%s\"" : "%s\"%s\":%s",
				i ? "," : "", columns[i].name, none ? "null" : text);
		else if (sink->kind == STEP_CSV)
			fprintf(sink->out, "%s%s", i ? "," : "", text);
		else if (columns[i].head)
			fprintf(sink->out, " %*s", i ? 9 : -9, none ? "N/A" : text);
	}
	fputs(ends[sink->kind], sink->out);
	fflush(sink->out);
}

static int open_sinks(const struct options *o, struct error *err)
{
	const struct {
		const char *folder, *path;
		int kind;
	} files[] = { { "", o->csv, STEP_CSV },
		      { "", o->json, STEP_JSON },
		      { o->out, "/steps.csv", STEP_CSV },
		      { o->out, "/steps.jsonl", STEP_JSON } };
	char path[4096];

	sinks[nsinks++] = (struct step_sink){ STEP_TABLE, stdout };
	if (o->out)
		(void)file_folders(o->out);
	for (int i = 0; i < 4; i++) {
		FILE *out;

		if (!files[i].folder || !files[i].path)
			continue;
		snprintf(path, sizeof(path), "%s%s", files[i].folder, files[i].path);
		out = fopen(path, "wxe");
		if (!out)
			return error_set(err, OUTCOME_USAGE, -errno, "%.400s: %s", path,
					 strerror(errno));
		sinks[nsinks].kind = files[i].kind;
		sinks[nsinks++].out = out;
	}
	return 0;
}

static int close_sinks(struct error *err)
{
	int rc = 0;

	for (int i = 1; i < nsinks; i++) {
		int closed = output_close(sinks[i].out);

		rc = rc < 0 ? rc : closed;
	}
	return rc < 0 ? error_set(err, OUTCOME_INTERNAL, rc, "--csv, --json or --out: %s",
				  strerror(-rc))
		      : 0;
}

/* ---- the run ---- */

static int measure(struct stepper *s, struct medians *mine)
{
	const struct recipe_steps *n = &s->steps;
	struct watch *watch = &s->r->watch;
	int most = n->timed > n->warmup ? n->timed : n->warmup;
	struct step_time *times = must(calloc((size_t)(most > 10 ? most : 10), sizeof(*times)));
	int rc;

	watch_phase(watch, PHASE_WARMUP);
	s->slowest = 0;
	rc = run_steps(s, n->warmup, true, true, times);
	for (int i = 1; i < n->warmup; i++) /* the first connects */
		s->slowest = fmax(s->slowest, times[i].took);
	if (rc == 0)
		rc = job_max(s->r->bench.job, &s->slowest, 1);
	if (rc == 0)
		rc = run_steps(s, n->calls, false, true, times);
	mine->calls = OVER(times, n->calls, took).median;
	if (rc == 0)
		rc = run_steps(s, n->compute, true, false, times);
	mine->alone = OVER(times, n->compute, compute).median;
	watch_phase(watch, PHASE_TIMED);
	if (rc == 0)
		rc = run_steps(s, n->timed, true, true, times);
	mine->step = OVER(times, n->timed, took).median;
	mine->p95 = OVER(times, n->timed, took).p95;
	mine->compute = OVER(times, n->timed, compute).median;
	mine->inside = OVER(times, n->timed, inside).median;
	free(times);
	return rc;
}

static int run_recipe(struct stepper *s, int which)
{
	struct bench *bench = &s->r->bench;
	const struct options *o = bench->options;
	struct medians mine = { 0 }, *all = must(calloc((size_t)bench->job->nranks, sizeof(*all)));
	struct step_row row = { .backend = bench->backend->ops->name };
	int64_t wrong = 0;
	int rc = recipe_make(s->recipe, &s->r->recipes, which, bench->job->group_rank, bench->err);

	s->plans = must(calloc((size_t)s->recipe->ncalls + 1, sizeof(*s->plans)));
	if (rc == 0)
		rc = prepare(s);
	if (rc == 0)
		rc = measure(s, &mine);
	if (rc == 0)
		rc = job_gather(bench->job, &mine, sizeof(mine), all);
	if (rc == 0 && o->check > 0)
		rc = check(s, &wrong);
	if (rc == 0 && s->r->run.report) {
		sum_up(s, all, &row);
		row.recipe = s->recipe->name;
		row.dtype = dtype_name((enum dtype)o->dtype_first);
		row.nranks = bench->job->nranks;
		row.nnodes = bench->job->nnodes;
		row.bytes = (double)o->min_bytes;
		row.pieces = s->recipe->pieces;
		row.calls = s->recipe->ncalls;
		row.steps = s->steps.timed;
		row.predicted_us = predicted(s);
		row.wrong = o->check > 0 ? (double)wrong : -1;
		for (int i = 0; i < nsinks; i++)
			put_row(&sinks[i], &row, which == o->recipe_first);
	}
	for (int i = 0; i < s->recipe->ncalls; i++)
		plan_release(&s->plans[i]);
	free(s->plans);
	free(all);
	return rc;
}

static void announce(const struct stepper *s)
{
	const struct rank *r = s->r;
	const struct options *o = r->program->options;
	const char *why = predict_refusal(&r->bench, r->choice.shared_gpu);
	char text[256];

	for (int i = o->recipe_first; i <= o->recipe_last; i++) {
		(void)recipe_make(s->recipe, &r->recipes, i, 0, r->bench.err);
		printf("# %s: %d %s\n", s->recipe->name, s->recipe->pieces, s->recipe->words);
	}
	printf("# %d steps (%d to warm up, then %d of the calls and %d of the compute alone), "
	       "messages of %zu bytes, "
	       "%g ms of compute a step: %s\n",
	       s->steps.timed, s->steps.warmup, s->steps.calls, s->steps.compute, o->min_bytes,
	       o->compute_ms,
	       on_gpu(s) ? "kernels, on a stream beside that of the calls"
			 : "a loop; MPI's calls block, and nothing overlaps");
	printf("# Times in us, of the slowest rank: medians; exposed: of a step beyond its "
	       "compute; slower: the compute "
	       "beside the calls\n");
	if (why)
		printf("# Prediction: N/A: %s\n", why);
	for (int i = 0; r->program->injector && i < r->program->injector->nspecs; i++)
		printf("# fault %s\n",
		       inject_describe(r->program->injector, i, text, sizeof(text)));
}

int step_run(struct rank *r)
{
	const struct options *o = r->program->options;
	struct stepper s = { .r = r, .steps = recipe_steps(o) };
	int rc = r->run.report ? open_sinks(o, &r->err) : 0;

	rc = job_agree(&r->job, rc);
	if (rc < 0)
		return rc;
	s.recipe = must(malloc(sizeof(*s.recipe)));
	r->bench.chain.entered = &s.entered;
	rc = calibrate(&s);
	if (rc == 0 && r->run.report)
		announce(&s);
	for (int i = o->recipe_first; i <= o->recipe_last && rc == 0; i++)
		rc = run_recipe(&s, i);
	r->bench.chain.entered = NULL;
	free(s.recipe);
	return job_agree(&r->job, rc == 0 ? close_sinks(&r->err) : rc);
}

/* Not a collective: it has no rows. Those of moe take their counts from a traffic matrix. */
const struct collective step = {
	.name = "step",
	.irregular = true,
	.shape = shape_whole,
};
