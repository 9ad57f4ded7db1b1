/* test_timing.c: deadlines. What batches hold is in mpi_test_point.c. */
#include "unit.h"

#include <math.h>

#include "timing.h"

static void test_deadline(void)
{
	static const struct {
		double slowest, calls, seconds;
	} cases[] = {
		{ 0, 1, 10 },	  /* the first use */
		{ 1e-6, 1, 0.5 }, /* the floor */
		{ 1e-6, 256, 0.5 }, { 1e-3, 50, 0.5 },
		{ 1e-3, 51, 0.51 }, { 0.1, 1, 1 }, /* ten times the slowest */
		{ 0.1, 20, 20 },    { 2, 1, 20 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_DOUBLE_EQUAL(timing_deadline(cases[i].slowest, cases[i].calls),
				       cases[i].seconds, 1e-9);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "deadlines", test_deadline },
	};

	return unit_main("timing", cases, sizeof(cases) / sizeof(cases[0]));
}
