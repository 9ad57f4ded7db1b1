/* test_schedule.c: the sizes of the steps that faults break, and which first size is too small. */
#include "rig/unit.h"

#include <errno.h>
#include <string.h>

#include "backend/collective.h"
#include "measure/schedule.h"

/* A 64th of the first, in whole 512 bytes and at least that much, less from step to step. */
static void test_bytes(void)
{
	static const struct {
		size_t first;
		int step;
		size_t bytes;
	} table[] = {
		{ 1 << 20, 0, 1 << 20 },
		{ 1 << 20, 1, 1032192 },
		{ 1 << 20, 24, 655360 },
		{ 65536, 24, 40960 },
		{ 12800, 24, 512 },
		{ 12289, 24, 1 },
		{ 12288, 23, 512 },
		{ 12288, 24, 0 },
		{ 4096, 8, 0 },
		{ 4, 0, 4 },
		{ 4, 1, 0 },
		{ 4, 24, 0 },
		{ (size_t)1 << 40, 24, 687194767360 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CU_ASSERT_EQUAL(schedule_bytes(table[i].first, table[i].step), table[i].bytes);
}

static const struct collective each_a_share = { .name = "x", .shape = shape_scatter };

/* On 4 ranks a share of the last step is 16 bytes from 12288 + 64 on. */
static void test_check(void)
{
	struct options options = { .size_given = true, .align = 16, .dtype_first = DT_FLOAT };
	struct error err = { .rank = -1 };

	options.min_bytes = 12288 + 64;
	CU_ASSERT_EQUAL(schedule_check(&options, &each_a_share, 4, NULL, &err), 0);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);
	options.min_bytes = 12288 + 63;
	CU_ASSERT_EQUAL(schedule_check(&options, &each_a_share, 4, NULL, &err), -EINVAL);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
	CU_ASSERT_STRING_EQUAL(err.text,
			       "-b 12351: too small for a schedule of 25 steps on 4 ranks");
}

static const struct unit_case cases[] = {
	{ "sizes of the steps", test_bytes },
	{ "large enough", test_check },
};

int main(void)
{
	return unit_main("schedule", cases, sizeof(cases) / sizeof(cases[0]));
}
