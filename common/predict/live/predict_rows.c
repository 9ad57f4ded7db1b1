/* predict_rows.c: the prediction of a row, and the verdict on all rows. */
#include "live/predict.h"

#include "base/stats.h"
#include "measure/irregular.h"

#define MOST_OF_CEILING 105.0 /* percent */
#define MISSED		1.5   /* times too fast or too slow: never good */

static enum model_mode mode_of(const struct row *row)
{
	if (row->mode && strcmp(row->mode, "isolated") == 0)
		return MODEL_ISOLATED;
	return row->mode && strcmp(row->mode, "graph") == 0 ? MODEL_GRAPH : MODEL_STREAM;
}

/* Fills in the bytes that the matrix gives the row's size. */
static void uneven(const struct bench *bench, const struct row *row, size_t elsize,
		   struct predict_request *request)
{
	int n = bench->traffic.nranks;
	const struct geometry g = { .nranks = n,
				    .elsize = elsize,
				    .bytes = row->count * (size_t)n * elsize,
				    .traffic = &bench->traffic };

	request->away = (double)(irregular_busiest(&g, false) * elsize);
	for (int i = 0; i < n * n; i++)
		if (i / n != i % n)
			request->flow = fmax(request->flow,
					     (double)(irregular_count(&g, i / n, i % n) * elsize));
}

/* Returns true if the mpi backend reduces this type by its own functions, of unmeasured speed. */
static bool is_own_reduction(const struct predict *p, const struct row *row, int dtype)
{
	return !(p->bench->backend->ops->flags & BACKEND_DEVICE) &&
	       strcmp(row->redop, "none") != 0 &&
	       (dtype == DT_HALF || dtype == DT_BFLOAT16 || dtype == DT_F8E4M3 ||
		dtype == DT_F8E5M2);
}

/* Returns false where the model has no prediction of the row. `plain` gets the one that no rows of --calibrate moved. */
static bool fill(const struct predict *p, struct row *row, struct prediction *plain)
{
	int dtype = dtype_parse(row->type);
	struct predict_request request = {
		.collective =
			(enum model_coll)model_find(model_coll_names, MODEL_COLLS, row->collective),
		.mode = mode_of(row),
		.in_place = row->placement && strcmp(row->placement, "in-place") == 0,
		.bytes = (double)row->size,
		.elsize = dtype < 0 ? 0 : (int)dtype_size((enum dtype)dtype),
		.algo = -1,
		.proto = -1,
		.no_nvls = strcmp(row->redop, "prod") == 0 || strcmp(row->redop, "avg") == 0,
		.plain = strcmp(row->type, p->rows.dtype) != 0,
	};
	struct prediction found;

	if (request.collective == MODEL_ALLTOALLV && p->bench->traffic.nranks > 1 && dtype >= 0)
		uneven(p->bench, row, dtype_size((enum dtype)dtype), &request);
	if ((int)request.collective < 0 || is_own_reduction(p, row, dtype) ||
	    model_predict(&p->model, &request, &found) < 0)
		return false;
	request.plain = true;
	(void)model_predict(&p->model, &request, plain);
	row->predicted_us = found.time_us;
	row->predicted_busbw_gbs = found.busbw;
	row->predicted_low_gbs = found.low_busbw;
	row->predicted_high_gbs = found.high_busbw;
	row->ceiling_busbw_gbs = found.ceiling_busbw;
	row->predicted_algo = model_algo_names[found.algo];
	row->predicted_proto = found.algo == MODEL_P2P ? NULL : model_proto_names[found.proto];
	row->predicted_channels = found.algo == MODEL_P2P ? -1 : found.channels;
	return true;
}

/* Counts rows whose algorithm and protocol are known. Sends and receives have no choice. */
static void count_choice(struct predict *p, const struct row *row)
{
	if (!row->used_algo || !row->used_proto || !row->predicted_proto)
		return;
	p->nused++;
	p->nas_predicted += strcmp(row->used_algo, row->predicted_algo) == 0 &&
			    strcmp(row->used_proto, row->predicted_proto) == 0;
}

bool predict_is_printed(const struct row *row)
{
	return !row->placement || strcmp(row->placement, "in-place") != 0;
}

void predict_row(void *ctx, struct row *row)
{
	struct predict *p = ctx;
	struct prediction plain;

	if (!fill(p, row, &plain))
		return;
	count_choice(p, row);
	row->of_predicted_percent = row->time_us > 0 ? 100 * row->predicted_us / row->time_us : NAN;
	row->of_ceiling_percent =
		row->ceiling_busbw_gbs > 0 ? 100 * row->busbw_gbs / row->ceiling_busbw_gbs : NAN;
	if (row->size >= PREDICT_FROM && predict_is_printed(row) &&
	    isfinite(row->of_predicted_percent) && p->npercents < PREDICT_ROWS) {
		/* a machine that is slow makes itself no sound one by its rows */
		double percent = 100 * plain.time_us / row->time_us;
		double low = plain.low_busbw / plain.busbw, high = plain.high_busbw / plain.busbw;

		p->nbarred += !isnan(low);
		p->of_low[p->npercents] = percent / (isnan(low) ? 1 : low);
		p->of_high[p->npercents] = percent / (isnan(high) ? 1 : high);
		p->percents[p->npercents++] = percent;
		if (row->of_ceiling_percent > p->most_of_ceiling)
			p->most_of_ceiling = row->of_ceiling_percent;
	}
}

/* The word for a share, which is the printed one. Over MPI the model of the library is the weakest part: a host is
 * never low or bad by it, and its wide bar (of_low, of_high: percent of the ends) is said. */
static void judge(const struct predict *p, double percent, double of_low, double of_high,
		  char *text, size_t len)
{
	const struct options *o = p->bench->options;
	bool near = percent <= 100 * MISSED && percent >= 100 / MISSED;
	const char *word = percent >= o->low ? "low" : "bad";

	if (percent >= o->good)
		word = near ? "good" : "not as predicted";
	else if (topo_is_host(&p->sys))
		word = "not as predicted";
	if (topo_is_host(&p->sys) && strcmp(word, "good") != 0 && of_low >= 100 && of_high <= 100)
		snprintf(text, len, ": in its error bar, %.0f to %.0f %%", 100 * percent / of_low,
			 100 * percent / of_high);
	else
		snprintf(text, len, ": %s", word);
}

/* Percent of healthy machines below `min` percent of a bar's lower end, `end` of the prediction, which a twentieth misses; as
 * logarithms of speeds spread (Gauss). */
static double would_fail(double end, double min)
{
	double sigma = -log(end) / 1.645;

	return 50 * erfc(-log(end * min / 100) / (sigma * sqrt(2)));
}

double predict_reached(void *ctx, char *text, size_t len)
{
	struct predict *p = ctx;
	const struct options *o = p->bench->options;
	char choice[96] = "";
	char why[160] = "";
	char words[48] = "", slowest[48] = "";
	double median, low, high;
	/* A row above its ceiling leaves the rows without a judgement. */
	bool told = p->most_of_ceiling <= MOST_OF_CEILING;

	if (p->nused)
		snprintf(choice, sizeof(choice),
			 "; algorithm and protocol were as predicted in %zu of %zu rows",
			 p->nas_predicted, p->nused);
	if (p->npercents == 0) {
		snprintf(text, len, "Prediction: no row from 1 MiB has one%s", choice);
		return NAN;
	}
	median = sort_median(p->percents, p->npercents);
	low = sort_median(p->of_low, p->npercents);
	high = sort_median(p->of_high, p->npercents);
	judge(p, median, low, high, words, sizeof(words));
	judge(p, p->percents[0], p->of_low[0], p->of_high[0], slowest, sizeof(slowest));
	if (!told)
		snprintf(why, sizeof(why),
			 "a row reaches %.0f %% of its ceiling: the ceiling is wrong",
			 p->most_of_ceiling);
	snprintf(text, len,
		 "Prediction: the median of %zu rows from 1 MiB reaches %.1f %% of its predicted "
		 "speed%s%s, the slowest row %.1f %%%s%s%s",
		 p->npercents, median, p->rows.dtype[0] ? " without --calibrate" : "",
		 told ? words : "", p->percents[0], told ? slowest : ": not judged: ", why, choice);
	if (o->min_percent > 0 && p->nbarred == 0)
		text_add(text, len, "; no row has an error bar");
	else if (o->min_percent > 0 && median < low)
		text_add(text, len, "; --min-percent %g would fail %.2g %% of healthy machines",
			 o->min_percent, would_fail(median / low, o->min_percent));
	p->median = told && p->nbarred > 0 ? low : NAN;
	return p->median;
}
