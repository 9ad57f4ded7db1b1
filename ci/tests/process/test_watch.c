/* test_watch.c: names of phases; an observer, and each of its hooks, may be absent. */
#include "rig/unit.h"

#include "process/watch.h"

UNIT_TEST(test_names, "names of phases")
{
	static const char *const names[] = { "start", "init",	  "setup", "warmup", "timed",
					     "check", "finalise", "aside", "done" };

	CU_ASSERT_EQUAL(LENGTH(names), PHASE_DONE + 1);
	for (int phase = 0; phase <= PHASE_DONE; phase++)
		CU_ASSERT_STRING_EQUAL(phase_name((enum phase)phase), names[phase]);
	CU_ASSERT_STRING_EQUAL(phase_name((enum phase)(PHASE_DONE + 1)), "unknown");
	CU_ASSERT_STRING_EQUAL(phase_name((enum phase) - 1), "unknown");
}

static int seen;

static void see_phase(void *ctx, enum phase phase)
{
	seen = *(int *)ctx + (int)phase;
}

static void see_enter(void *ctx, const char *what, double seconds)
{
	seen = *(int *)ctx + (int)what[0] + (int)seconds;
}

static void see_replayed(void *ctx, uint32_t calls)
{
	seen = *(int *)ctx + (int)calls;
}

static void see_leave(void *ctx)
{
	seen = *(int *)ctx;
}

UNIT_TEST(test_hooks, "hooks")
{
	int thousand = 1000;
	struct watch none = { .ctx = &thousand };
	const struct watch watch = { .ctx = &thousand,
				     .phase = see_phase,
				     .enter = see_enter,
				     .leave = see_leave,
				     .replayed = see_replayed,
				     .completed = see_leave };

	for (int i = 0; i < 2; i++) {
		const struct watch *w = i ? &none : NULL;

		seen = -1;
		watch_phase(w, PHASE_TIMED);
		watch_enter(w, "x", 1);
		watch_leave(w);
		watch_replayed(w, 3);
		watch_completed(w);
		CU_ASSERT_EQUAL(seen, -1);
	}
	watch_phase(&watch, PHASE_TIMED);
	CU_ASSERT_EQUAL(seen, 1000 + PHASE_TIMED);
	watch_enter(&watch, "A", 7);
	CU_ASSERT_EQUAL(seen, 1000 + 'A' + 7);
	watch_leave(&watch);
	CU_ASSERT_EQUAL(seen, 1000);
	watch_replayed(&watch, 9);
	CU_ASSERT_EQUAL(seen, 1009);
	watch_completed(&watch);
	CU_ASSERT_EQUAL(seen, 1000);
}
