/* predict.c: predictions beside rows, whoever makes them, and what rows came to. */
#include "measure/predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OF_CEILING 105.0 /* percent */

#define CALIBRATION_SECONDS                                                                        \
	30.0 /* takes a fraction of one; a crowded host longer, a device in
                                  * trouble for ever */

const char *forecast_refusal(const struct bench *bench, bool shared_gpu)
{
	const struct options *o = bench->options;

	if (strcmp(o->topo, "none") == 0)
		return "--topo none";
	if (o->nfaults > 0)
		return "none are made of a schedule of faults";
	if (strcmp(bench->backend->ops->name, "nccl") != 0)
		return "none are made for the mpi backend yet";
	if (o->split_kind != SPLIT_NONE)
		return "none are made for groups";
	if (shared_gpu)
		return "none are made for ranks that share a GPU";
	return NULL;
}

bool forecast_planned(const struct bench *bench, bool shared_gpu)
{
	return !forecast_refusal(bench, shared_gpu);
}

int forecast_check_topology(const char *topo, struct error *err)
{
	struct topo_system *sys;
	int rc;

	if (strcmp(topo, "live") == 0)
		return 0;
	sys = malloc(sizeof(*sys));
	if (!sys)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	rc = topo_load(sys, topo, err);
	free(sys);
	return rc;
}

int forecast_check(const struct bench *bench, bool shared_gpu, struct error *err)
{
	const struct options *o = bench->options;
	const char *why = forecast_refusal(bench, shared_gpu);
	int rc;

	if (why && o->min_percent > 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "--min-percent %g: this run has no predictions (%s)",
				 o->min_percent, why);
	if (strcmp(o->topo, "none") == 0)
		return 0;
	rc = forecast_check_topology(o->topo, err);
	if (rc < 0 || !why || strcmp(o->topo, "live") == 0)
		return rc;
	return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			 "--topo %s: this run has no predictions (%s)", o->topo, why);
}

void forecast_ask(struct forecast *f, const struct bench *bench, bool shared_gpu,
		  const char *folder)
{
	(void)shared_gpu;
	forecast_nccl.ask(f, bench->options, folder);
}

int forecast_calibrate(struct forecast *f, const struct bench *bench, bool shared_gpu)
{
	struct job_time former = job_unhurry(bench->job, CALIBRATION_SECONDS);
	int rc = forecast_nccl.calibrate(f, bench);

	(void)shared_gpu;
	job_hurry(bench->job, former);
	return rc;
}

/* Both names are of model_names.c; sends and receives have no choice. */
static void count_choice(struct forecast *f, const struct row *row)
{
	if (!row->used_algo || !row->used_proto || !row->predicted_proto)
		return;
	f->nused++;
	f->nas_predicted += strcmp(row->used_algo, row->predicted_algo) == 0 &&
			    strcmp(row->used_proto, row->predicted_proto) == 0;
}

static void predict_row(void *ctx, struct row *row)
{
	struct forecast *f = ctx;

	if (!f->source->row(f, row))
		return;
	count_choice(f, row);
	row->of_predicted_percent = row->time_us > 0 ? 100 * row->predicted_us / row->time_us : NAN;
	row->of_ceiling_percent =
		row->ceiling_busbw_gbs > 0 ? 100 * row->busbw_gbs / row->ceiling_busbw_gbs : NAN;
	if (row->size >= FORECAST_JUDGED_FROM && isfinite(row->of_predicted_percent) &&
	    f->nshares < FORECAST_SHARES) {
		f->shares[f->nshares++] = row->of_predicted_percent;
		if (row->of_ceiling_percent > f->most_of_ceiling)
			f->most_of_ceiling = row->of_ceiling_percent;
	}
}

static int compare_shares(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Whether the rows so far can be judged by their predictions: not where one is faster than can be.
 * False with the reason in `why`. */
static bool judges(const struct forecast *f, char *why, size_t len)
{
	if (f->most_of_ceiling <= MOST_OF_CEILING)
		return true;
	snprintf(why, len, "a row reaches %.0f %% of its ceiling: the ceiling is wrong",
		 f->most_of_ceiling);
	return false;
}

static const char *word(const struct forecast *f, double percent)
{
	return percent >= f->good ? "good" : percent >= f->low ? "low" : "bad";
}

static double share(void *ctx, char *text, size_t len)
{
	struct forecast *f = ctx;
	char choice[96] = "";
	char why[160] = "";
	double median;
	bool judged;

	if (f->nused)
		snprintf(choice, sizeof(choice),
			 "; algorithm and protocol were as predicted in %zu of %zu rows",
			 f->nas_predicted, f->nused);
	if (f->nshares == 0) {
		snprintf(text, len, "Prediction: no size from 1 MiB was measured%s", choice);
		return NAN;
	}
	qsort(f->shares, f->nshares, sizeof(f->shares[0]), compare_shares);
	median = (f->shares[(f->nshares - 1) / 2] + f->shares[f->nshares / 2]) / 2;
	judged = judges(f, why, sizeof(why));
	snprintf(text, len,
		 "Prediction: the median of %zu rows from 1 MiB reaches %.1f %% of its predicted "
		 "speed%s%s, the slowest row %.1f %%%s%s%s%s",
		 f->nshares, median, judged ? ": " : "", judged ? word(f, median) : "",
		 f->shares[0], judged ? ": " : "",
		 judged ? word(f, f->shares[0]) : ": not judged: ", why, choice);
	f->median = judged ? median : NAN;
	return f->median;
}

const struct forecaster *forecast_open(struct forecast *f, const struct bench *bench,
				       bool shared_gpu, char *text, size_t len)
{
	struct error err = { .rank = -1 };

	(void)shared_gpu;
	f->source = &forecast_nccl;
	f->bench = bench;
	if (f->source->load(f, bench, &err) < 0) {
		snprintf(text, len, "Prediction: N/A: %.180s", err.text);
		return NULL;
	}
	f->good = bench->options->good;
	f->median = NAN;
	f->low = bench->options->low;
	f->hooks = (struct forecaster){ .ctx = f, .row = predict_row, .share = share };
	f->source->describe(f, bench, text, len);
	return &f->hooks;
}

const struct topo_system *forecast_topology(const struct forecast *f)
{
	return f->source == &forecast_nccl && f->hooks.ctx ? &f->sys : NULL;
}
