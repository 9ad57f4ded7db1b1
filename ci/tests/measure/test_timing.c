/* test_timing.c: deadlines. Batches are in mpi_test_point.c. */
#include "rig/unit.h"

#include "measure/timing.h"

UNIT_TEST(test_deadline, "deadlines")
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

	UNIT_ROWS(c, cases)
		CU_ASSERT_DOUBLE_EQUAL(timing_deadline(c->slowest, c->calls), c->seconds, 1e-9);
}

/* Before and after the warm-up: a prediction lengthens both and shortens neither. */
UNIT_TEST(test_point, "deadlines of a point")
{
	static const struct {
		double slowest, expected, predicted, calls, seconds;
	} cases[] = {
		{ 0, 0, 0, 1, 10 },	  { 0, 2, 0, 1, 20 },	   { 0, 2, 3, 1, 30 },
		{ 0, 2, 1, 1, 20 },	  { 1e-6, 0, 0, 1, 0.5 },  { 1e-6, 0, 0.1, 1, 1 },
		{ 1e-6, 0, 0.1, 20, 20 }, { 0.2, 0, 0.1, 20, 40 }, { 1e-6, 5, 0, 20, 0.5 },
	};

	UNIT_ROWS(c, cases) {
		struct timing timing = { .slowest = c->slowest,
					 .expected = c->expected,
					 .predicted = c->predicted };

		CU_ASSERT_DOUBLE_EQUAL(timing_calls_deadline(&timing, c->calls), c->seconds, 1e-9);
	}
}
