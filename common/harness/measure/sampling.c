/* sampling.c: gathers batches, decides when to stop, and computes a row. */
#include "measure/sampling.h"

#define MAX_SAMPLES 2000

void sampling_init(struct sampling *s, struct timing *timing)
{
	const struct options *o = timing->plan->bench->options;

	memset(s, 0, sizeof(*s));
	s->timing = timing;
	s->skip = o->per_iter ? (size_t)o->per_iter_skip : 0;
	s->rule = (struct stop_rule){
		.ci_percent = o->ci_percent,
		.budget_seconds = o->budget,
		.max_samples = MAX_SAMPLES,
	};
}

void sampling_release(struct sampling *s)
{
	free(s->time);
	free(s->enqueue);
	free(s->headline);
	free(s->per_rank);
	memset(s, 0, sizeof(*s));
}

static struct job *job_of(const struct sampling *s)
{
	return s->timing->plan->bench->job;
}

static void grow(struct sampling *s, size_t more)
{
	size_t nranks = (size_t)job_of(s)->nranks, room = 2 * (s->n + more);

	if (s->n + more <= s->room)
		return;
	s->time = must(realloc(s->time, room * nranks * sizeof(*s->time)));
	s->enqueue = must(realloc(s->enqueue, room * nranks * sizeof(*s->enqueue)));
	s->headline = must(realloc(s->headline, room * sizeof(*s->headline)));
	s->room = room;
}

/* Applies -a over the ranks of one sample. */
static double headline(const struct sampling *s, const double *times, size_t nranks)
{
	double sum = 0, low = times[0], high = times[0];

	for (size_t r = 0; r < nranks; r++) {
		sum += times[r];
		low = times[r] < low ? times[r] : low;
		high = times[r] > high ? times[r] : high;
	}
	switch (s->timing->plan->bench->options->average) {
	case AVERAGE_RANK0:
		return times[0];
	case AVERAGE_MEAN:
		return sum / (double)nranks;
	case AVERAGE_MIN:
		return low;
	default:
		return high;
	}
}

/* `all` holds times and then enqueue times of each rank, `samples` of both, in seconds. */
static void append(struct sampling *s, const double *all, size_t samples, size_t nranks)
{
	for (size_t i = 0; i < samples; i++) {
		double *time = s->time + (s->n + i) * nranks;
		double *enqueue = s->enqueue + (s->n + i) * nranks;

		for (size_t r = 0; r < nranks; r++) {
			time[r] = all[r * 2 * samples + i] * 1e6;
			enqueue[r] = all[r * 2 * samples + samples + i] * 1e6;
		}
		s->headline[s->n + i] = headline(s, time, nranks);
		s->spent += s->headline[s->n + i] * 1e-6 * s->timing->per_sample;
	}
}

bool sampling_last_batch(struct sampling *s)
{
	struct timing *t = s->timing;
	int asked = t->plan->bench->options->iters;
	int batch = t->mode == MODE_ISOLATED ? t->samples : t->calls;

	if (asked == 0)
		return s->n < STATS_CI_SAMPLES && s->n + (size_t)t->samples >= STATS_CI_SAMPLES;
	if (asked - s->iterations >= 2 * batch)
		return false;
	timing_set_last(t, asked - s->iterations);
	return true;
}

/* Rank 0 decides for all. */
static int decide(struct sampling *s, size_t samples)
{
	struct job *job = job_of(s);
	int stop = STOP_NOT_YET, asked = s->timing->plan->bench->options->iters, rc;

	s->n += samples;
	s->iterations += s->timing->mode == MODE_ISOLATED ? s->timing->samples : s->timing->calls;
	if (asked > 0) {
		s->stop = s->iterations >= asked ? STOP_COUNT : STOP_NOT_YET;
		return 0;
	}
	if (job->rank == 0)
		stop = (int)stop_check(&s->rule, s->headline, s->n, s->spent);
	rc = job_bcast(job, &stop, sizeof(stop));
	s->stop = (enum stop_reason)stop;
	return rc;
}

int sampling_batch(struct sampling *s, const struct checked_slot *checked)
{
	struct job *job = job_of(s);
	size_t samples = (size_t)s->timing->samples, nranks = (size_t)job->nranks;
	double *mine = must(calloc(2 * samples, sizeof(*mine)));
	double *all = job->rank == 0 ? must(calloc(2 * samples * nranks, sizeof(*all))) : NULL;
	struct batch batch = { mine, mine + samples };
	double deadline = job->deadline;
	int rc;

	/* all ranks come from a barrier or the last batch: a batch's deadline is enough */
	job->deadline =
		timing_calls_deadline(s->timing, (double)s->timing->per_sample * (double)samples);
	rc = timing_batch(s->timing, checked, &batch);
	if (rc == 0)
		rc = job_gather(job, mine, 2 * samples * sizeof(*mine), all);
	if (rc == 0 && job->rank == 0) {
		grow(s, samples);
		append(s, all, samples, nranks);
	}
	if (rc == 0)
		rc = decide(s, samples);
	job->deadline = deadline;
	free(all);
	free(mine);
	return rc;
}

/* Statistics of column `rank` of a matrix, from the first sample that counts. */
static void column_stats(const struct sampling *s, const double *matrix, size_t rank,
			 double *scratch, struct stats *stats)
{
	size_t nranks = (size_t)job_of(s)->nranks, n = s->n - s->skip;

	for (size_t i = 0; i < n; i++)
		scratch[i] = matrix[(s->skip + i) * nranks + rank];
	stats_compute(scratch, n, stats);
}

static void rank_stats(struct sampling *s, struct row *row)
{
	size_t nranks = (size_t)job_of(s)->nranks;
	double *scratch = must(calloc(s->n, sizeof(*scratch))), fastest = 0, slowest = 0;
	struct stats enqueue;

	s->per_rank = must(calloc(nranks, sizeof(*s->per_rank)));
	row->enqueue_us = 0;
	for (size_t r = 0; r < nranks; r++) {
		column_stats(s, s->enqueue, r, scratch, &enqueue);
		if (enqueue.median > row->enqueue_us)
			row->enqueue_us = enqueue.median;
		column_stats(s, s->time, r, scratch, &s->per_rank[r]);
		if (r == 0 || s->per_rank[r].median < fastest)
			fastest = s->per_rank[r].median;
		if (s->per_rank[r].median > slowest)
			slowest = s->per_rank[r].median;
	}
	free(scratch);
	row->per_rank = s->per_rank;
	row->rank_spread_percent = fastest > 0 ? 100 * (slowest - fastest) / fastest : 0;
}

static int32_t most_often_slowest(const struct sampling *s)
{
	size_t nranks = (size_t)job_of(s)->nranks, best = 0;
	size_t *times = must(calloc(nranks, sizeof(*times)));

	for (size_t i = s->skip; i < s->n; i++) {
		const double *row = s->time + i * nranks;
		size_t slowest = 0;

		for (size_t r = 1; r < nranks; r++)
			if (row[r] > row[slowest])
				slowest = r;
		if (++times[slowest] > times[best])
			best = slowest;
	}
	free(times);
	return (int32_t)best;
}

static void put_stats(struct row *row, const struct stats *stats)
{
	row->time_us = stats->median;
	row->mean_us = stats->mean;
	row->min_us = stats->min;
	row->max_us = stats->max;
	row->p5_us = stats->p5;
	row->p95_us = stats->p95;
	row->p99_us = stats->p99;
	row->stddev_us = stats->n > 1 ? stats->stddev : NAN;
	/* NaN: fewer than six samples have no such interval, one has no spread */
	row->ci_low_us = stats->ci_exact ? stats->ci_low : NAN;
	row->ci_high_us = stats->ci_exact ? stats->ci_high : NAN;
	row->ci_percent = stats->ci_exact ? stats_ci_percent(stats) : NAN;
	row->samples = (int64_t)stats->n;
}

void sampling_finish(struct sampling *s, struct row *row)
{
	const struct job *job = job_of(s);
	struct stats stats;

	if (s->skip >= s->n)
		s->skip = s->n - 1;
	stats_compute(s->headline + s->skip, s->n - s->skip, &stats);
	put_stats(row, &stats);
	rank_stats(s, row);
	row->slowest_rank = most_often_slowest(s);
	/* -I: every sample, unless ranks are in groups, whose times run in parallel */
	if (s->timing->plan->bench->options->per_iter && job->group_size == job->nranks) {
		row->sample_times_us = s->time;
		row->skipped = (int64_t)s->skip;
	}
	row->calls = s->timing->per_sample;
	row->stop = stop_reason_name(s->stop);
}
