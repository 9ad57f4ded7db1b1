/* test_soak.c: notes on a point over the cycles of a soak. */
#include "measure/soak.h"

#include "rig/unit.h"

/* A point of `rows` rows: 100 us with a jitter of 1 %; from cycle `from` on times `factor`, for
 * `lasting` cycles. The notes by cycle, joined. */
static const struct {
	const char *name;
	size_t rows, from, lasting;
	double factor;
	const char *want;
} cases[] = {
	{ "nothing happens", 400, 400, 0, 1, "" },
	{ "too early to know what is usual", 20, 3, 1, 3, "" },
	{ "one outlier", 100, 34, 1, 2,
	  "34: outlier: cycle 34 took 200 us, 2 times the usual 100 us\n" },
	{ "a long one, without an exponent", 100, 34, 1, 2346,
	  "34: outlier: cycle 34 took 234600 us, 2346 times the usual 100 us\n" },
	{ "a fast one", 100, 31, 1, .5,
	  "31: outlier: cycle 31 took 50 us, 0.5 times the usual 100 us\n" },
	{ "many: one a window is said, and how many were not", 70, 34, 22, 2,
	  "34: outlier: cycle 34 took 200 us, 2 times the usual 100 us\n"
	  "56: outlier: cycle 56 took 101 us, 0.505 times the usual 200 us; 9 more since cycle "
	  "34\n" },
	{ "slower for good, and little: drift, once", 200, 60, 200, 1.04,
	  "79: drift: cycles 60 to 79 took 104 us, 4 % more than the 100 us of cycles 0 to 19\n" },
	{ "faster for good", 200, 60, 200, .9,
	  "79: drift: cycles 60 to 79 took 90 us, 10 % less than the 100 us of cycles 0 to 19\n" },
	{ "back again: twice", 200, 60, 40, 1.1,
	  "79: drift: cycles 60 to 79 took 110 us, 10 % more than the 100 us of cycles 0 to 19\n"
	  "119: drift: cycles 100 to 119 took 100 us, 9.1 % less than the 110 us of cycles 60 to "
	  "79\n" },
	{ "less than what matters", 200, 60, 200, 1.019, "" },
	{ "a window of which a few are slower", 100, 60, 12, 1.05, "" },
};

UNIT_TEST(test_series, "what is said of series")
{
	UNIT_ROWS(c, cases) {
		char said[1024] = "", text[192];
		struct soak soak = { .npoints = 0 };

		for (size_t k = 0; k < c->rows; k++) {
			bool changed = k >= c->from && k < c->from + c->lasting;
			double us = (100 + (double)(k * 7 % 3) - 1) * (changed ? c->factor : 1);
			const char *now = soak_row(&soak, 2, us, text, sizeof(text));
			size_t n = strlen(said);

			if (now)
				snprintf(said + n, sizeof(said) - n, "%zu: %s\n", k, now);
			/* another point has its own rows */
			CU_ASSERT_PTR_NULL(soak_row(&soak, 0, 5, text, sizeof(text)));
		}
		if (strcmp(said, c->want) != 0)
			fprintf(stderr, "%s: said:\n%s", c->name, said);
		CU_ASSERT_STRING_EQUAL(said, c->want);
		soak_release(&soak);
	}
}
