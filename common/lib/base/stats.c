/* stats.c: order statistics of a sample, and the stop rule of sampling. */
#include "base/stats.h"

#include "base/error.h"

/* Fewest samples before the budget ends a measurement: a median of fewer means little. */
#define BUDGET_SAMPLES 3

/* Probability left out on each side of the interval. */
#define CI_TAIL 0.025

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void sort_words(uint64_t *words, size_t n)
{
	qsort(words, n, sizeof(*words), compare_words);
}

double sort_median(double *values, size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Type 7: linear between the order statistics around (n - 1) p. Equal neighbours are not
 * subtracted, so infinite samples give infinity and not NaN. */
static double quantile(const double *sorted, size_t n, double p)
{
	double at = p * (double)(n - 1);
	size_t low = (size_t)at;
	double part = at - (double)low;

	if (low + 1 >= n || part == 0 || sorted[low] == sorted[low + 1])
		return sorted[low];
	return sorted[low] + part * (sorted[low + 1] - sorted[low]);
}

/* P(B <= k) for B binomial (n, 1/2) and k < n / 2. Terms fall towards 0, so the sum starts at k and
 * ends once the rest is negligible. The logarithm keeps 2^-n representable. */
static double binomial_tail(size_t n, size_t k)
{
	int sign;
	double log_term = lgamma_r((double)n + 1, &sign) - lgamma_r((double)k + 1, &sign) -
			  lgamma_r((double)(n - k) + 1, &sign) - (double)n * M_LN2;
	double term = exp(log_term), sum = term;

	for (; k > 0 && term > sum * 1e-16; k--) {
		term *= (double)k / (double)(n - k + 1);
		sum += term;
	}
	return sum;
}

/* Largest 1-based rank l whose interval [x(l), x(n + 1 - l)] covers the median with 95 %: P(B <= l
 * - 1) <= 2.5 %. The search starts at the normal approximation and the binomial decides. n >=
 * STATS_CI_SAMPLES. */
static size_t ci_rank(size_t n)
{
	double guess = floor((double)n / 2 - 0.98 * sqrt((double)n));
	size_t l = guess < 1 ? 1 : (size_t)guess;

	while (l > 1 && binomial_tail(n, l - 1) > CI_TAIL)
		l--;
	while (2 * (l + 1) < n && binomial_tail(n, l) <= CI_TAIL)
		l++;
	return l;
}

static void set_interval(const double *sorted, size_t n, struct stats *stats)
{
	size_t l = 1;

	stats->ci_exact = n >= STATS_CI_SAMPLES;
	if (stats->ci_exact)
		l = ci_rank(n);
	stats->ci_low = sorted[l - 1];
	stats->ci_high = sorted[n - l];
}

static void set_moments(const double *samples, size_t n, struct stats *stats)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += samples[i];
	stats->mean = sum / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (samples[i] - stats->mean) * (samples[i] - stats->mean);
	stats->stddev = n < 2 ? 0 : sqrt(squares / (double)(n - 1));
}

static void set_nothing(struct stats *stats)
{
	*stats = (struct stats){
		.min = NAN,
		.max = NAN,
		.mean = NAN,
		.median = NAN,
		.p5 = NAN,
		.p95 = NAN,
		.p99 = NAN,
		.stddev = NAN,
		.ci_low = NAN,
		.ci_high = NAN,
	};
}

int stats_compute(const double *samples, size_t n, struct stats *stats)
{
	double *sorted;

	set_nothing(stats);
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (isnan(samples[i]))
			return -EINVAL;
	sorted = must(malloc(n * sizeof(*sorted)));
	memcpy(sorted, samples, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);

	stats->n = n;
	stats->min = sorted[0];
	stats->max = sorted[n - 1];
	stats->median = quantile(sorted, n, 0.5);
	stats->p5 = quantile(sorted, n, 0.05);
	stats->p95 = quantile(sorted, n, 0.95);
	stats->p99 = quantile(sorted, n, 0.99);
	set_moments(sorted, n, stats);
	set_interval(sorted, n, stats);
	free(sorted);
	return 0;
}

double stats_ci_percent(const struct stats *stats)
{
	double percent;

	if (stats->n == 0 || stats->median == 0)
		return INFINITY;
	percent = (stats->ci_high - stats->ci_low) / 2 / fabs(stats->median) * 100;
	return isnan(percent) ? INFINITY : percent;
}

const char *stop_reason_name(enum stop_reason reason)
{
	static const char *const names[] = {
		[STOP_NOT_YET] = "none",
		[STOP_PRECISE] = "ci",
		[STOP_BUDGET] = "budget",
		[STOP_COUNT] = "count",
	};

	if ((unsigned int)reason >= LENGTH(names))
		return "unknown";
	return names[reason];
}

/* A sample without a usable value (NaN) is not precise; the budget ends it. */
static bool precise(const struct stop_rule *rule, const double *samples, size_t n)
{
	struct stats stats;

	return n >= STATS_CI_SAMPLES && stats_compute(samples, n, &stats) == 0 &&
	       stats_ci_percent(&stats) <= rule->ci_percent;
}

enum stop_reason stop_check(const struct stop_rule *rule, const double *samples, size_t n,
			    double spent_seconds)
{
	if (precise(rule, samples, n))
		return STOP_PRECISE;
	if (rule->max_samples > 0 && n >= rule->max_samples)
		return STOP_BUDGET;
	if (n >= BUDGET_SAMPLES && spent_seconds >= rule->budget_seconds)
		return STOP_BUDGET;
	return STOP_NOT_YET;
}

struct vote vote_words(uint64_t *values, size_t n)
{
	struct vote v = { .n = n };

	sort_words(values, n);
	for (size_t i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && values[i + run] == values[i];)
			run++;
		v.kinds++;
		if (run < v.votes) {
			v.second = run > v.second ? run : v.second;
			continue;
		}
		v.second = v.votes;
		v.votes = run;
		v.most = values[i];
	}
	return v;
}
