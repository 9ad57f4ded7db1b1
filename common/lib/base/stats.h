/* stats.h: order statistics of a sample, and when to stop sampling. Pure functions; no clock, no
 * communication. */
#pragma once

/* Smallest sample that has a 95 % interval for the median at all: 2 x 2^-5 is more than 5 %, 2 x
 * 2^-6 is not. */
#define STATS_CI_SAMPLES 6

/* Unit of every field is the unit of the samples; n says how many there were. With n == 0 all
 * are NaN. */
struct stats {
	size_t n;
	double min, max, mean, median;
	double p5, p95, p99;	/* type 7 quantiles (linear interpolation; Hyndman and Fan 1996) */
	double stddev;		/* of the sample (n - 1); 0 for n < 2 */
	double ci_low, ci_high; /* 95 % confidence interval of the median from order statistics
	                         * (binomial, distribution-free; David and Nagaraja, Order
	                         * Statistics, 7.1). For n < 6 no such interval exists: min and max,
	                         * and ci_exact is false */
	bool ci_exact;
};

/* Sorts a copy; `samples` is left alone. Returns 0, or -EINVAL when a sample is NaN. */
int stats_compute(const double *samples, size_t n, struct stats *stats);

/* Sort, ascending; of numbers, one at least, the median. */
void sort_words(uint64_t *words, size_t n);
double sort_median(double *values, size_t n);

/* Half width of the confidence interval over the median, in percent; infinity when the median is
 * 0 or n == 0. */
double stats_ci_percent(const struct stats *stats);

enum stop_reason {
	STOP_NOT_YET,
	STOP_PRECISE, /* confidence interval within the target: "ci" */
	STOP_BUDGET,  /* time budget spent: "budget" */
	STOP_COUNT    /* the asked number of iterations: "count" */
};

const char *stop_reason_name(enum stop_reason reason);

/* When an adaptive measurement ends. */
struct stop_rule {
	double ci_percent;     /* target half width, percent of the median: 1 */
	double budget_seconds; /* spent in timed calls; counts from the third sample on */
	size_t max_samples;    /* reached: STOP_BUDGET; 0: no such limit */
};

/* Sorts the samples when there are STATS_CI_SAMPLES or more: call it per batch, not per sample, where
 * calls are short. An interval of fewer than 6 samples is never precise. */
enum stop_reason stop_check(const struct stop_rule *rule, const double *samples, size_t n,
			    double spent_seconds);

/* What `n` values say: the one that most have (of as many the greatest), how many have it, how many have
 * the next one, and how many values there are. All 0 of none. */
struct vote {
	uint64_t most;
	size_t n, votes, second, kinds;
};

/* Sorts the values. */
struct vote vote_words(uint64_t *values, size_t n);
