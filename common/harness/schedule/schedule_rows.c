/* schedule_rows.c: rows of a schedule's steps: the time of the slowest rank, and the ranks that waited. */
#include "schedule/schedule_parts.h"

#include "base/clock.h"
#include "base/rank_list.h"

#define LEAST_WAIT 100e-6 /* seconds: less is the jitter of ranks that start together */

static void clear(struct row *row)
{
	memset(row, 0, sizeof(*row));
	row_no_prediction(row);
	for (size_t i = 0; i < row_column_count; i++)
		if (row_columns[i].type == COLUMN_DOUBLE)
			*(double *)(void *)((char *)row + row_columns[i].offset) = NAN;
}

/* `costs` has the step's row of each rank, `stride` apart. */
static void fill(struct row *row, const struct step_cost *costs, int stride, int nranks)
{
	bool *in = must(calloc((size_t)nranks, sizeof(*in)));
	double took = 0, longest = 0, shortest = INFINITY;

	for (int r = 0; r < nranks; r++) {
		const struct step_cost *cost = &costs[r * stride];

		took = fmax(took, cost->took);
		longest = fmax(longest, cost->inside);
		if (cost->inside < shortest)
			row->slowest_rank = r;
		shortest = fmin(shortest, cost->inside);
	}
	for (int r = 0; r < nranks; r++)
		in[r] = longest - shortest > LEAST_WAIT &&
			costs[r * stride].inside - shortest > (longest - shortest) / 2;
	row->time_us = took * 1e6;
	row->waited_us = (longest - shortest) * 1e6;
	rank_list_text(in, nranks, row->waiting, sizeof(row->waiting));
	if (strcmp(row->waiting, "-") == 0)
		row->waiting[0] = '\0';
	free(in);
}

static int write_rows(struct run *run, const struct step_cost *costs)
{
	const struct bench *bench = run->bench;
	const struct options *o = bench->options;
	struct row row;
	int rc = 0;

	for (int i = 0; i < SCHEDULE_TIMED && rc == 0; i++) {
		clear(&row);
		row.schema = ROW_SCHEMA;
		row.collective = bench->collective->name;
		row.backend = bench->backend->ops->name;
		row.nranks = bench->job->nranks;
		row.nnodes = bench->job->nnodes;
		row.size = schedule_bytes(o, SCHEDULE_WARMUP + i);
		row.type = dtype_name((enum dtype)o->dtype_first);
		row.count = row.size / dtype_size((enum dtype)o->dtype_first);
		row.redop =
			redop_name(bench->collective->reduces ? (enum redop)o->op_first : OP_NONE);
		row.root = bench->collective->rooted ? o->root : -1;
		row.placement = "out-of-place";
		row.mode = mode_name(o->mode);
		row.wrong = -1;
		row.samples = row.calls = 1;
		row.used_channels = -1;
		row.step = SCHEDULE_WARMUP + i + 1;
		fill(&row, &costs[i], SCHEDULE_TIMED, bench->job->nranks);
		clock_local(row.timestamp, sizeof(row.timestamp), CLOCK_ISO);
		rc = report_step(run->report, &row);
	}
	return rc;
}

int schedule_rows(struct run *run, const struct step_cost costs[SCHEDULE_TIMED])
{
	struct job *job = run->bench->job;
	size_t bytes = SCHEDULE_TIMED * sizeof(*costs);
	struct step_cost *all = job->rank == 0 ? must(malloc((size_t)job->nranks * bytes)) : NULL;
	int rc = job_gather(job, costs, bytes, all);

	if (rc == 0 && run->report)
		rc = write_rows(run, all);
	free(all);
	return rc;
}
