/* run.c: the loop over points. */
#include "measure/run.h"

#include "base/clock.h"
#include "base/rank_list.h"
#include "measure/irregular.h"
#include "measure/point.h"
#include "measure/sweep.h"

#define REPORT_SECONDS 60 /* the end of the sinks: a document of millions of samples */

static void begin_sweep(struct sweep *sweep, const struct bench *bench)
{
	sweep_init(sweep, bench->options, bench->collective, bench->backend,
		   bench->job->group_size);
}

size_t run_largest(const struct bench *bench)
{
	struct sweep sweep;
	struct point point;
	size_t largest = 0;

	begin_sweep(&sweep, bench);
	while (sweep_next(&sweep, &point)) {
		struct geometry g = plan_geometry(bench, &point, bench->job->group_rank);
		struct shape shape;
		size_t bytes;

		bench->collective->shape(&g, &shape);
		bytes = shape.bytes + (size_t)bench->options->unalign * g.elsize;
		if (bytes < shape.bytes)
			bytes = SIZE_MAX;
		largest = bytes > largest ? bytes : largest;
	}
	return largest;
}

static long long count_points(const struct bench *bench)
{
	struct sweep sweep;
	struct point point;
	long long n = 0;

	begin_sweep(&sweep, bench);
	while (sweep_next(&sweep, &point))
		n += bench->collective->in_place ? 2 : 1;
	return n;
}

/* One write: a launcher may put a row between two. The newest row tells more than the mean. */
static void show_progress(struct run *run, const struct point *point, int cycle)
{
	double each = (clock_seconds() - run->started) / fmax(1, (double)run->done);
	char total[32] = "", left[48] = "";

	if (run->points > 0)
		snprintf(total, sizeof(total), " of %lld", run->points);
	if (run->points > 0 && run->done > 0)
		snprintf(left, sizeof(left), ", about %.0f s left",
			 (cycle ? each : fmax(each, run->point_seconds)) *
				 (double)(run->points - run->done));
	else if (run->points == 0)
		snprintf(left, sizeof(left), ", cycle %d until Ctrl-C", cycle + 1);
	dprintf(STDERR_FILENO, "\r\033[K%lld%s points, now %s %s %zu B%s", run->done, total,
		dtype_name(point->dtype), redop_name(point->op), point->bytes, left);
}

/* A launcher carries the two streams separately. The text that clears the line goes in front of the
 * row, in the row's own write, which its sink makes. */
static void clear_progress(const struct run *run)
{
	if (run->progress == PROGRESS_AMONG_ROWS)
		fputs("\r\033[K", stdout);
	else if (run->progress == PROGRESS_ALONE)
		dprintf(STDERR_FILENO, "\r\033[K");
}

void run_note_culprits(struct run *run, const struct check_report *report)
{
	char name[16];
	size_t len = strlen(run->culprits);
	/* equal errors on all ranks point at a rank's contribution, or at none */
	bool all = report->ranks > 1 && report->ranks == run->bench->job->nranks;
	int who = all ? report->culprit : report->rank;

	if (report->wrong == 0)
		return;
	run->outcome = OUTCOME_WRONG_DATA;
	snprintf(name, sizeof(name), "%s%d", len ? "," : "", who);
	if (who >= 0 && !rank_list_has(run->culprits, who) &&
	    len + strlen(name) < sizeof(run->culprits))
		strcpy(run->culprits + len, name);
}

/* Rank 0 has the times of all ranks; with groups, of the first group's. */
static int summarise_ranks(struct run *run, const struct measured *measured)
{
	const struct bench *bench = run->bench;
	int mine = options_color(bench->options, 0), at = 0, rc = 0;
	char line[256];

	for (int rank = 0; rc == 0 && rank < bench->job->nranks; rank++) {
		if (options_color(bench->options, rank) != mine)
			continue;
		irregular_summary(&measured->plan.geometry, at++,
				  measured->row.per_rank[rank].median, line, sizeof(line));
		rc = report_comment(run->report, "%s", line);
	}
	return rc;
}

/* Rank 0: passes the row to the hooks, then to the sinks; `out` as in report_row. */
static int report_measured(struct run *run, struct measured *measured, const struct row *out)
{
	const struct predictor *predictor = run->bench->predictor;
	struct row *row = &measured->row;
	int rc;

	report_lock();
	clear_progress(run);
	run->report->wrong_checks += measured->wrong_checks;
	row_no_prediction(row);
	if (predictor)
		predictor->row(predictor->ctx, row);
	if (run->reconciler)
		run->reconciler->row(run->reconciler->ctx, row);
	rc = report_row(run->report, row, out);
	if (rc == 0 && run->bench->options->matrix_summary && run->bench->collective->irregular)
		rc = summarise_ranks(run, measured);
	report_unlock();
	return rc;
}

/* Watches a point for changes over repeated sweeps. */
static int watch_drift(struct run *run, const struct row *row)
{
	char text[192];

	if (run->bench->options->cycles == 1 ||
	    !soak_row(&run->soak, run->at++, row->time_us, text, sizeof(text)))
		return 0;
	return report_comment(run->report, "%s %s %s %lu B %s: %s", row->collective, row->type,
			      row->redop, row->size, row->placement, text);
}

/* In place if there is an out-of-place row `out`. */
static int one_placement(struct run *run, const struct point *point, int cycle,
			 struct measured *measured, const struct row *out)
{
	double begin = clock_seconds();
	int rc = point_measure(run->bench, point, out != NULL, measured);

	run->done++;
	run->point_seconds = clock_seconds() - begin;
	if (rc < 0)
		return rc;
	measured->row.cycle = cycle;
	run_note_culprits(run, &measured->row.report);
	if (run->report)
		rc = report_measured(run, measured, out);
	return rc < 0 || !run->report ? rc : watch_drift(run, &measured->row);
}

/* The out-of-place row lives until the sinks have both. */
static int one_point(struct run *run, const struct point *point, int cycle)
{
	bool in_place = run->bench->collective->in_place;
	struct measured out, in;
	int rc = one_placement(run, point, cycle, &out, NULL);

	if (rc == 0 && in_place) {
		rc = one_placement(run, point, cycle, &in, &out.row);
		point_release(&in);
	} else if (rc == -ENODATA) {
		run->too_small++;
		run->done += in_place;
		rc = 0;
	}
	point_release(&out);
	return rc;
}

static int one_cycle(struct run *run, int cycle)
{
	struct sweep sweep;
	struct point point;
	int rc = 0;

	run->at = 0;
	begin_sweep(&sweep, run->bench);
	while (rc == 0 && sweep_next(&sweep, &point)) {
		if (run->progress)
			show_progress(run, &point, cycle);
		rc = one_point(run, &point, cycle);
	}
	clear_progress(run);
	return rc;
}

int run_sweep(struct run *run)
{
	int cycles = run->bench->options->cycles, rc = 0;

	run->points = count_points(run->bench) * cycles; /* 0: without end */
	run->started = clock_seconds();
	for (int cycle = 0; rc == 0 && (cycles == 0 || cycle < cycles); cycle++)
		rc = one_cycle(run, cycle);
	soak_release(&run->soak);
	if (rc == 0 && run->too_small && run->report)
		rc = report_comment(
			run->report,
			"%zu size(s) too small to give each of %d ranks %zu bytes: left "
			"out (--align changes the step)",
			run->too_small, run->bench->job->group_size, run->bench->options->align);
	return rc;
}

/* --min-percent: the run is slow below it. Without a valid prediction nothing is proved. */
static int check_min_percent(struct run *run, double reached)
{
	double min = run->bench->options->min_percent;

	if (run->outcome != OUTCOME_OK || !(min > 0) || reached >= min)
		return 0;
	run->outcome = isnan(reached) ? OUTCOME_UNSUPPORTED : OUTCOME_SLOW;
	if (!isnan(reached))
		return report_comment(run->report,
				      "--min-percent %g: the median row reached %.1f %%: exit %d",
				      min, reached, (int)run->outcome);
	return report_comment(run->report, "--min-percent %g: unknown, %s: exit %d", min,
			      run->bench->predictor ? "for the reason above"
						    : "as there is no prediction",
			      (int)run->outcome);
}

/* Notes the result of the predictions. */
static int finish_predictions(struct run *run)
{
	const struct predictor *predictor = run->bench->predictor;
	double reached = NAN;
	char text[512];
	int rc = 0;

	if (predictor) {
		reached = predictor->reached(predictor->ctx, text, sizeof(text));
		rc = report_comment(run->report, "%s", text);
	}
	return rc < 0 ? rc : check_min_percent(run, reached);
}

/* --min-busbw as `min`, or nine tenths of NCCL_TESTS_MIN_BW as in nccl-tests. */
static int check_min_busbw(struct run *run, const char *option, double asked, double min)
{
	double average = run->report->rows ? run->report->busbw_sum / (double)run->report->rows : 0;

	if (run->outcome != OUTCOME_OK || !(asked > 0) || average >= min)
		return 0;
	run->outcome = OUTCOME_SLOW;
	return report_comment(run->report,
			      "%s %g: the average bus bandwidth was %.4g GB/s: exit %d", option,
			      asked, average, (int)run->outcome);
}

static int finish_hook(struct run *run, const struct run_hook *hook)
{
	return hook && hook->finish ? hook->finish(hook->ctx, run->report) : 0;
}

/* Ends the sinks. One of them writes a whole document, so the other ranks wait without -T. */
static int finish_report(struct run *run)
{
	const struct watch *watch = run->bench->watch;
	struct run_summary summary = {
		.outcome = run->outcome,
		.checked = run->bench->options->check > 0,
		.calls_checked = run->calls_checked,
		.memory = run->memory,
	};
	int rc;

	watch_work(watch, "writing the report", REPORT_SECONDS);
	rc = report_end(run->report, &summary);
	watch_leave(watch);
	return rc;
}

void run_interrupted(struct run *run)
{
	const struct predictor *predictor = run->bench->predictor;
	struct run_summary summary = {
		.interrupted = true,
		.outcome = run->outcome,
		.checked = run->bench->options->check > 0,
		.memory = run->memory,
	};
	char text[512];

	report_lock();
	if (run->report->ended) {
		report_unlock();
		return;
	}
	clear_progress(run);
	report_comment(run->report, "Interrupted: this is what was measured until now");
	if (predictor && predictor->reached) {
		predictor->reached(predictor->ctx, text, sizeof(text));
		report_comment(run->report, "%s", text);
	}
	report_end(run->report, &summary);
}

/* Rank 0 decides about the outcome. */
static int finish(struct run *run)
{
	const struct options *o = run->bench->options;
	int rc = check_min_busbw(run, "NCCL_TESTS_MIN_BW", o->min_bw, .9 * o->min_bw);

	if (rc == 0)
		rc = check_min_busbw(run, "--min-busbw", o->min_busbw, o->min_busbw);
	if (rc == 0)
		rc = finish_predictions(run);
	if (rc == 0)
		rc = finish_hook(run, run->reconciler);
	return rc < 0 ? rc : finish_report(run);
}

int run_finish(struct run *run)
{
	struct job_time former = job_extend_deadline(run->bench->job, REPORT_SECONDS);
	int rc = run->report ? finish(run) : 0;

	/* the others wait for the outcome: a full disk after a good sweep is no rank's hang */
	if (rc < 0 && run->bench->err->outcome == OUTCOME_INTERNAL) {
		error_print(run->bench->err, "hangar");
		run->outcome = OUTCOME_INTERNAL;
		rc = 0;
	}
	if (rc == 0)
		rc = job_bcast(run->bench->job, &run->outcome, sizeof(run->outcome));
	job_restore_deadline(run->bench->job, former);
	return rc;
}
