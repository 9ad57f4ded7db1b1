/* test_stats.c: quantiles, confidence intervals, the stop rule, against values by hand. */
#include "rig/unit.h"

#include "base/stats.h"

#define CLOSE(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-12)

/* n, n-1, ..., 1: rank k of the sorted sample is the value k. */
static double *countdown(size_t n)
{
	double *samples = malloc(n * sizeof(*samples));

	for (size_t i = 0; i < n; i++)
		samples[i] = (double)(n - i);
	return samples;
}

UNIT_TEST(test_known_values, "known values")
{
	const double samples[] = { 4, 1, 3, 2 };
	const double before[] = { 4, 1, 3, 2 };
	struct stats s;

	UNIT_ALL(stats_compute(samples, 4, &s) == 0, memcmp(samples, before, sizeof(samples)) == 0,
		 s.n == 4);
	CLOSE(s.min, 1);
	CLOSE(s.max, 4);
	CLOSE(s.mean, 2.5);
	CLOSE(s.median, 2.5);
	CLOSE(s.p5, 1.15);  /* 3 * 0.05 = 0.15 above the first */
	CLOSE(s.p95, 3.85); /* 3 * 0.95 = 2.85 */
	CLOSE(s.p99, 3.97); /* 3 * 0.99 = 2.97 */
	CLOSE(s.stddev, sqrt(5.0 / 3));
	CU_ASSERT_FALSE(s.ci_exact);
	CLOSE(s.ci_low, 1);
	CLOSE(s.ci_high, 4);
	CLOSE(stats_ci_percent(&s), 60); /* (4 - 1) / 2 / 2.5 */
}

UNIT_TEST(test_one_and_none, "one sample and none")
{
	const double one = 7;
	struct stats s;

	UNIT_ALL(stats_compute(&one, 1, &s) == 0, s.n == 1);
	CLOSE(s.median, 7);
	CLOSE(s.p5, 7);
	CLOSE(s.p99, 7);
	CLOSE(s.stddev, 0);
	CLOSE(stats_ci_percent(&s), 0);
	CU_ASSERT_FALSE(s.ci_exact);

	UNIT_ALL(stats_compute(NULL, 0, &s) == 0, s.n == 0,
		 isnan(s.min) && isnan(s.max) && isnan(s.mean) && isnan(s.median),
		 isnan(s.p5) && isnan(s.p95) && isnan(s.p99) && isnan(s.stddev),
		 isnan(s.ci_low) && isnan(s.ci_high), stats_ci_percent(&s) == INFINITY);
}

/* Ranks from tables of the binomial distribution. */
UNIT_TEST(test_interval_ranks, "interval ranks from tables")
{
	static const struct {
		size_t n, low, high;
	} known[] = {
		{ 6, 1, 6 },   { 7, 1, 7 },    { 8, 1, 8 },    { 9, 2, 8 },	{ 10, 2, 9 },
		{ 11, 2, 10 }, { 12, 3, 10 },  { 15, 4, 12 },  { 17, 5, 13 },	{ 20, 6, 15 },
		{ 25, 8, 18 }, { 30, 10, 21 }, { 50, 18, 33 }, { 100, 40, 61 },
	};

	UNIT_ROWS(row, known) {
		double *samples = countdown(row->n);
		struct stats s;

		UNIT_ALL(stats_compute(samples, row->n, &s) == 0, s.ci_exact,
			 s.ci_low == (double)row->low, s.ci_high == (double)row->high);
		free(samples);
	}
}

/* P(B <= k) summed from 0 in plain doubles, another way than stats.c's. */
static double tail(size_t n, size_t k)
{
	double term = ldexp(1, -(int)n), sum = term;

	for (size_t i = 1; i <= k; i++) {
		term *= (double)(n - i + 1) / (double)i;
		sum += term;
	}
	return sum;
}

UNIT_TEST(test_interval_by_definition, "interval by definition, 6 to 1000")
{
	double *samples = countdown(1000);

	/* The first n values of a countdown from 1000 are 1000 - n + 1 ... 1000. */
	for (size_t n = 6; n <= 1000; n++) {
		size_t low;
		struct stats s;

		CU_ASSERT_EQUAL_FATAL(stats_compute(samples, n, &s), 0);
		low = (size_t)s.ci_low - (1000 - n);
		CU_ASSERT_FATAL(low >= 1 && 2 * low <= n);
		CU_ASSERT_TRUE_FATAL(tail(n, low - 1) <= 0.025);
		CU_ASSERT_TRUE_FATAL(tail(n, low) > 0.025);
		CU_ASSERT_EQUAL_FATAL((size_t)s.ci_high - (1000 - n), n + 1 - low);
	}
	free(samples);
}

/* 1e5 samples: n/2 - 1.96 sqrt(n)/2 is 49690.1; the exact rank is within 1 of it. */
UNIT_TEST(test_interval_of_many, "interval of many")
{
	double *samples = countdown(100000);
	struct stats s;

	UNIT_ALL(stats_compute(samples, 100000, &s) == 0, s.ci_exact, fabs(s.ci_low - 49690) <= 1,
		 s.ci_low + s.ci_high == 100001);
	free(samples);
}

UNIT_TEST(test_hostile_samples, "hostile samples")
{
	const double nan_last[] = { 1, 2, 3, 4, 5, 6, NAN };
	const double infinite[] = { 1, INFINITY, 1, INFINITY, INFINITY, INFINITY };
	const double zero[] = { 0, 0, 0, 0, 0, 0 };
	const double negative[] = { -3, -1, -2, -2, -2, -2 };
	struct stats s;

	UNIT_ALL(stats_compute(nan_last, 7, &s) == -EINVAL, s.n == 0, isnan(s.median),
		 stats_compute(infinite, 6, &s) == 0, s.median == INFINITY, s.p99 == INFINITY,
		 stats_ci_percent(&s) == INFINITY, stats_compute(zero, 6, &s) == 0,
		 stats_ci_percent(&s) == INFINITY, stats_compute(negative, 6, &s) == 0);
	CLOSE(stats_ci_percent(&s), 50);
}

UNIT_TEST(test_stop_names, "names of reasons")
{
	CU_ASSERT_STRING_EQUAL(stop_reason_name(STOP_PRECISE), "ci");
	CU_ASSERT_STRING_EQUAL(stop_reason_name(STOP_BUDGET), "budget");
	CU_ASSERT_STRING_EQUAL(stop_reason_name(STOP_COUNT), "count");
	CU_ASSERT_STRING_EQUAL(stop_reason_name((enum stop_reason)99), "unknown");
}

UNIT_TEST(test_stop_precise, "stop: precise")
{
	/* Six samples: the interval is all of them, 2 / 2 / 100 = 1 %. */
	const double samples[] = { 99, 100, 100, 100, 100, 101, 100 };
	struct stop_rule rule = { .ci_percent = 1, .budget_seconds = 10, .max_samples = 50 };

	CU_ASSERT_EQUAL(stop_check(&rule, samples, 5, 0), STOP_NOT_YET);
	CU_ASSERT_EQUAL(stop_check(&rule, samples, 6, 0), STOP_PRECISE);
	rule.ci_percent = 0.99;
	CU_ASSERT_EQUAL(stop_check(&rule, samples, 6, 0), STOP_NOT_YET);
	rule.ci_percent = 1;
	/* No interval exists below six, however alike the samples are. */
	CU_ASSERT_EQUAL(stop_check(&rule, samples + 1, 4, 0), STOP_NOT_YET);
}

UNIT_TEST(test_stop_budget, "stop: budget")
{
	const double wild[] = { 1, 100, 3, 50, 7, 80, 2 };
	const double bad[] = { NAN, 1, 1, 1, 1, 1, 1 };
	const struct stop_rule rule = { .ci_percent = 1, .budget_seconds = 2, .max_samples = 7 };

	CU_ASSERT_EQUAL(stop_check(&rule, wild, 6, 1.9), STOP_NOT_YET);
	CU_ASSERT_EQUAL(stop_check(&rule, wild, 6, 2), STOP_BUDGET);
	CU_ASSERT_EQUAL(stop_check(&rule, wild, 2, 99), STOP_NOT_YET);
	CU_ASSERT_EQUAL(stop_check(&rule, wild, 3, 99), STOP_BUDGET);
	CU_ASSERT_EQUAL(stop_check(&rule, wild, 7, 0), STOP_BUDGET);
	CU_ASSERT_EQUAL(stop_check(&rule, bad, 6, 0), STOP_NOT_YET);
	CU_ASSERT_EQUAL(stop_check(&rule, bad, 6, 3), STOP_BUDGET);
}
