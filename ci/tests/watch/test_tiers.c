/* test_tiers.c: which waits of somebody else's program are named, suspected, or none of our business; and the faults that
 * it can be given. */
#include "preload/fault_spec.h"
#include "rig/unit.h"
#include "watch/tiers.h"

static const struct patience patience = { .look = 1, .suspect = 10, .hang = 120 };

static void test_tiers(void)
{
	static const struct {
		enum diagnosis_class class;
		double waited, longest;
		enum tier tier;
	} rows[] = {
		{ CLASS_MISSING, 1, 0, TIER_WAIT },
		{ CLASS_MISSING, 9.9, 0, TIER_WAIT },
		{ CLASS_MISSING, 10, 0, TIER_SUSPECT },
		{ CLASS_MISSING, 30, 2, TIER_WAIT },
		{ CLASS_MISSING, 40, 2, TIER_SUSPECT },
		{ CLASS_MISSING, 120, 30, TIER_VERDICT },
		{ CLASS_UNEXPLAINED, 119, 0, TIER_SUSPECT },
		{ CLASS_BLOCKED, 5, 0, TIER_WAIT },
		{ CLASS_STOPPED, 1, 0, TIER_VERDICT },
		{ CLASS_MISMATCH, 1, 30, TIER_VERDICT },
		{ CLASS_CYCLE, 1, 0, TIER_VERDICT },
		{ CLASS_EARLY, 1, 0, TIER_WAIT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CU_ASSERT_EQUAL(tier_of(&patience, rows[i].class, rows[i].waited, rows[i].longest),
				rows[i].tier);
}

static void test_faults(void)
{
	static const char *const wrong[] = { "skip",
					     "skip-call",
					     "skip-call:3",
					     "skip-call:-1@3",
					     "skip-call:1@0",
					     "skip-call:1@2,",
					     "skip-call:1@2,kind=Nothing",
					     "count-larger:1@2" };
	struct fault_spec f;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(fault_spec_parse(&f, wrong[i]));
	CU_ASSERT_PTR_NULL(
		fault_spec_parse(&f, "late:2@100,comm=1,ranks=4,kind=allreduce,value=0.5"));
	UNIT_ALL(f.fault == PRELOAD_LATE, f.rank == 2, f.value == 0.5,
		 fault_spec_hits(&f, 2, 1, 4, CALL_ALL_REDUCE, 300, 100),
		 !fault_spec_hits(&f, 1, 1, 4, CALL_ALL_REDUCE, 300, 100),
		 !fault_spec_hits(&f, 2, 0, 4, CALL_ALL_REDUCE, 300, 100),
		 !fault_spec_hits(&f, 2, 1, 8, CALL_ALL_REDUCE, 300, 100),
		 !fault_spec_hits(&f, 2, 1, 4, CALL_BROADCAST, 300, 100),
		 !fault_spec_hits(&f, 2, 1, 4, CALL_ALL_REDUCE, 100, 101));
}

UNIT_MAIN("tiers", { "tiers", test_tiers }, { "faults", test_faults })
