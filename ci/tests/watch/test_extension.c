/* test_extension.c: how long a run goes on that nothing explains. */
#include "rig/unit.h"

#include "watch/extension.h"

#define SECOND 1000000000ull

static void test_benefit(void)
{
	struct extension extension = { 0 };
	const uint64_t begin = 1000 * SECOND;

	CU_ASSERT_FALSE(extension_holds(&extension, begin));
	CU_ASSERT_FALSE(extension_over(&extension, begin));
	CU_ASSERT_TRUE(
		extension_grant(&extension, 10, 0, begin)); /* 50 s more, looked at after 5 */
	CU_ASSERT_EQUAL(extension.until_ns, begin + 5 * SECOND);
	CU_ASSERT_EQUAL(extension.end_ns, begin + 50 * SECOND);
	CU_ASSERT_TRUE(extension_holds(&extension, begin + 5 * SECOND - 1));
	CU_ASSERT_FALSE(extension_holds(&extension, begin + 5 * SECOND));
	CU_ASSERT_FALSE(extension_over(&extension, begin + 5 * SECOND - 1));
	CU_ASSERT_TRUE(extension_over(&extension, begin + 5 * SECOND));
	CU_ASSERT_EQUAL(extension.since_ns, begin);
	/* the end stays where it is, and the beginning */
	CU_ASSERT_TRUE(extension_grant(&extension, 45, 0, begin + 35 * SECOND));
	CU_ASSERT_EQUAL(extension.since_ns, begin);
	CU_ASSERT_EQUAL(extension.until_ns, begin + 50 * SECOND);
	CU_ASSERT_FALSE(extension_grant(&extension, 60, 0, begin + 50 * SECOND));
}

static void test_short_waits(void)
{
	struct extension extension = { 0 };

	CU_ASSERT_TRUE(
		extension_grant(&extension, 0.1, 0, SECOND)); /* not looked at 20 times a second */
	CU_ASSERT_EQUAL(extension.until_ns, SECOND + SECOND / 4);
	CU_ASSERT_FALSE(extension_grant(&extension, 0.6, 0, SECOND + SECOND / 2));
	extension = (struct extension){ 0 };
	CU_ASSERT_FALSE(
		extension_grant(&extension, 0, 0, SECOND)); /* nobody waits: nothing to grant */
	CU_ASSERT_EQUAL(extension.since_ns, 0);
}

/* What is excused until then is so, however short the wait, and looked at often. */
static void test_excuse(void)
{
	struct extension extension = { 0 };

	CU_ASSERT_TRUE(extension_grant(&extension, 0, 6 * SECOND, SECOND));
	CU_ASSERT_EQUAL(extension.end_ns, 6 * SECOND);
	CU_ASSERT_EQUAL(extension.until_ns, SECOND + SECOND / 4);
	CU_ASSERT_TRUE(
		extension_grant(&extension, 0, 5 * SECOND, 6 * SECOND - 1)); /* sooner: not cut */
	CU_ASSERT_EQUAL(extension.until_ns, 6 * SECOND);
	CU_ASSERT_FALSE(extension_grant(&extension, 0, 5 * SECOND, 6 * SECOND));
	/* then nothing explains it: that has a benefit of its own, once */
	CU_ASSERT_TRUE(extension_grant(&extension, 2, 0, 7 * SECOND));
	CU_ASSERT_EQUAL(extension.end_ns, 17 * SECOND);
	CU_ASSERT_EQUAL(extension.until_ns, 8 * SECOND);
	CU_ASSERT_TRUE(extension_grant(&extension, 11, 0, 16 * SECOND));
	CU_ASSERT_EQUAL(extension.end_ns, 17 * SECOND);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "five times as long", test_benefit },
		{ "short waits", test_short_waits },
		{ "an excuse", test_excuse },
	};

	return unit_main("extension", cases, sizeof(cases) / sizeof(cases[0]));
}
