/* stats.h: order statistics of a sample, and the stop rule of sampling. Pure functions. */
#pragma once

/* Smallest sample with a 95 % interval for the median: 2 x 2^-5 is above 5 %, 2 x 2^-6 not. */
#define STATS_CI_SAMPLES 6

/* All fields have the unit of the samples; n is the sample size. With n == 0 all are NaN. */
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

/* Sorts in ascending order; the median of at least one number. */
void sort_words(uint64_t *words, size_t n);
double sort_median(double *values, size_t n);

/* Half width of the confidence interval over the median, in percent; infinity for 0, n == 0. */
double stats_ci_percent(const struct stats *stats);

enum stop_reason {
	STOP_NOT_YET,
	STOP_PRECISE, /* confidence interval within the target: "ci" */
	STOP_BUDGET,  /* time budget spent: "budget" */
	STOP_COUNT    /* iteration limit reached: "count" */
};

/* The quoted word of a reason; "none" for STOP_NOT_YET. */
const char *stop_reason_name(enum stop_reason reason);

struct stop_rule {
	double ci_percent;     /* target half width, percent of the median: 1 */
	double budget_seconds; /* time in timed calls; checked from the third sample on */
	size_t max_samples;    /* limit that also gives STOP_BUDGET; 0: none */
};

/* Sorts the samples if there are STATS_CI_SAMPLES or more; call it per batch where calls are short.
 * An interval of fewer than 6 samples is never precise. */
enum stop_reason stop_check(const struct stop_rule *rule, const double *samples, size_t n,
			    double spent_seconds);

/* Votes of `n` values: the most frequent one (the greatest on a tie), its count, the count of the
 * next one, and the number of different values. All 0 for n = 0. */
struct vote {
	uint64_t most;
	size_t n, votes, second, kinds;
};

/* Counts votes. Sorts the values in place. */
struct vote vote_words(uint64_t *values, size_t n);
