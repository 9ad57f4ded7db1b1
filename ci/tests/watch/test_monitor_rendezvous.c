/* test_monitor_rendezvous.c: ranks that do not come to communicator init, or not alike, are told long
 * before init's deadline; a long init is not. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "seats.h"
#include "record/verdict.h"

static enum diagnosis_class class; /* what the diagnoser finds */

static enum diagnosis_result refine(void *ctx, const struct rank_view *views,
				    const struct record_memory *const *memories, size_t n,
				    struct verdict *verdict)
{
	(void)ctx, (void)views, (void)memories, (void)n;
	verdict->class = class;
	printf("looked\n");
	fflush(stdout);
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

/* Three ranks on their way to init. */
static void three_within(double seconds, enum diagnosis_class found)
{
	class = found;
	seats_open(3);
	seats_config.client = (struct monitor_client){ .refine = refine };
	seats_config.decide.init_seconds = seconds;
	for (int i = 0; i < 3; i++)
		watch_phase(&seats[i].watch, PHASE_SETUP);
	seats_take_in_order(0, 2);
}

static void three(enum diagnosis_class found)
{
	three_within(0.5, found);
}

static void test_missing(void)
{
	double begin;

	three(CLASS_MISSING);
	rank_enters_init(0, 3, 1);
	rank_enters_init(1, 3, 1);
	begin = clock_seconds();
	CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin >= 0.5 && clock_seconds() - begin < 1.2);
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "outcome=hang class=missing-call "));
	seats_close();
}

static void test_unlike(void)
{
	for (int id = 0; id < 2; id++) {
		double begin;

		three(CLASS_MISSING);
		rank_enters_init(0, 3, 1);
		rank_enters_init(1, 3, 1);
		rank_enters_init(2, id ? 3 : 2, id ? 2 : 1);
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin < 1.2);
		seats_close();
	}
}

/* All got through init, the last having asked for so many ranks, and wait in their first call. */
static void all_behind_init(int last)
{
	for (int i = 0; i < 3; i++) {
		rank_enters_init(i, i == 2 ? last : 3, 1);
		watch_leave(&seats[i].watch);
		watch_comm(&seats[i].watch, 0, COMM_READY, NULL);
		watch_enter(&seats[i].watch, "the first call", 10);
	}
}

/* They made what cannot work, and hang in the first call on it, whose deadline is as long. */
static void test_behind_init(void)
{
	double begin;

	three(CLASS_MISSING);
	all_behind_init(2);
	begin = clock_seconds();
	CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin < 1.2);
	seats_close();
	three(CLASS_MISSING);
	all_behind_init(3);
	clock_nap(1.5);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

/* All are inside and will meet: the library takes its time. So do two groups. */
static void test_long_init(void)
{
	for (int groups = 1; groups <= 2; groups++) {
		three(CLASS_MISSING);
		rank_enters_init(0, groups == 1 ? 3 : 2, 1);
		rank_enters_init(1, groups == 1 ? 3 : 2, 1);
		rank_enters_init(2, groups == 1 ? 3 : 1, groups == 1 ? 1 : 2);
		clock_nap(1.5);
		CU_ASSERT(seats_sit(0, 2));
		CU_ASSERT_STRING_EQUAL(seat_said(0), "");
		seats_close();
	}
}

/* A rank that comes late, but comes; and one that still moves. */
static void test_late(void)
{
	three(CLASS_MISSING);
	rank_enters_init(0, 3, 1);
	rank_enters_init(1, 3, 1);
	for (int i = 0; i < 6; i++) {
		clock_nap(0.2);
		watch_phase(&seats[2].watch, PHASE_SETUP);
	}
	rank_enters_init(2, 3, 1);
	clock_nap(0.8);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

/* The whole job was stopped: that time is nobody's delay. */
static void test_suspended(void)
{
	three_within(0.75, CLASS_MISSING);
	rank_enters_init(0, 3, 1);
	rank_enters_init(1, 3, 1);
	clock_nap(0.3);
	for (int i = 0; i < 3; i++)
		kill(seats[i].pid, SIGSTOP);
	clock_nap(2);
	for (int i = 0; i < 3; i++)
		kill(seats[i].pid, SIGCONT);
	clock_nap(0.35);
	rank_enters_init(2, 3, 1);
	clock_nap(0.5);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

/* The diagnoser finds no cause in it: it is asked once, and init's own deadline stands. */
static void test_puzzled(void)
{
	three(CLASS_UNEXPLAINED);
	rank_enters_init(0, 3, 1);
	rank_enters_init(1, 3, 1);
	clock_nap(1.8);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "looked\n");
	seats_close();
}

/* Where -T says how long waits may take. */
static void test_not_asked(void)
{
	three_within(0, CLASS_MISSING);
	rank_enters_init(0, 3, 1);
	rank_enters_init(1, 3, 1);
	clock_nap(1.3);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "one does not come", test_missing },
		{ "one comes otherwise", test_unlike },
		{ "behind init", test_behind_init },
		{ "a long init", test_long_init },
		{ "late", test_late },
		{ "suspended", test_suspended },
		{ "no cause found", test_puzzled },
		{ "not asked", test_not_asked },
	};

	return unit_main("monitor_rendezvous", cases, sizeof(cases) / sizeof(cases[0]));
}
