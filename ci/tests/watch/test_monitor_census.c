/* test_monitor_census.c: ranks of several hosts that do not come to communicator init, or not alike: no host
 * sees all of them, and the root calls the roll. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "nodes.h"
#include "record/verdict.h"

static enum diagnosis_class class; /* what the diagnoser finds */

static enum diagnosis_result refine(void *ctx, const struct rank_view *views,
				    const struct record_memory *const *memories, size_t n,
				    struct verdict *verdict)
{
	(void)ctx, (void)memories;
	verdict->class = class;
	for (size_t i = 0; i < n; i++)
		printf("%d%s ", views[i].rank, views[i].overdue ? "*" : "");
	printf("looked\n");
	fflush(stdout);
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

/* Ranks 0 and 1 on one host, 2 and 3 on another, on their way to init. */
static void four(double seconds, enum diagnosis_class found)
{
	class = found;
	seats_open(4);
	seats_config.client = (struct monitor_client){ .refine = refine };
	seats_config.decide.init_seconds = seconds;
	for (int i = 0; i < 4; i++)
		watch_phase(&seats[i].watch, PHASE_SETUP);
	two_nodes();
}

/* Whoever does not come, and wherever: all others are held up, long before init's deadline. */
static void test_missing(void)
{
	static const char *const seen[] = { "0 1* 2* 3* looked\n", "0* 1 2* 3* looked\n",
					    "0* 1* 2 3* looked\n", "0* 1* 2* 3 looked\n" };

	for (int missing = 0; missing < 4; missing++) {
		double begin;

		four(0.75, CLASS_MISSING);
		for (int i = 0; i < 4; i++)
			if (i != missing)
				rank_enters_init(i, 4, 1);
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin >= 0.75 && clock_seconds() - begin < 1.4);
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), seen[missing]));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "outcome=hang class=missing-call "));
		CU_ASSERT_EQUAL(verdict_lines(0, 3), 1);
		seats_close();
	}
}

/* Nobody of a host comes: only the other one knows of a wait. */
static void test_whole_host(void)
{
	for (int away = 0; away < 4; away += 2) {
		four(0.75, CLASS_MISSING);
		rank_enters_init(2 - away, 4, 1);
		rank_enters_init(3 - away, 4, 1);
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT_PTR_NOT_NULL(
			strstr(seat_said(0), away ? "0* 1* 2 3 looked" : "0 1 2* 3* looked"));
		seats_close();
	}
}

/* Each host by itself looks whole: only together they are not. Behind init, too. */
static void test_unlike(void)
{
	for (int how = 0; how < 3; how++) {
		double begin;

		four(0.75, CLASS_MISSING);
		for (int i = 0; i < 4; i++)
			rank_enters_init(i, how == 0 && i == 2 ? 3 : 4, how == 1 && i > 1 ? 2 : 1);
		for (int i = 0; i < 4 && how == 2; i++) {
			watch_leave(&seats[i].watch);
			rank_enters_init(i, i == 3 ? 3 : 4, 1);
			watch_leave(&seats[i].watch);
			watch_comm(&seats[i].watch, 0, COMM_READY, NULL);
			watch_enter(&seats[i].watch, "the first call", 10);
		}
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin < 1.4);
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "0* 1* 2* 3* looked\n"));
		seats_close();
	}
}

/* All have come, and the library takes its time; so do two groups of their own. Long waits in calls come
 * after. */
static void test_long(void)
{
	for (int groups = 1; groups <= 2; groups++) {
		four(0.5, CLASS_MISSING);
		for (int i = 0; i < 4; i++)
			rank_enters_init(i, 4 / groups, (unsigned char)(1 + i % groups));
		clock_nap(1.2);
		for (int i = 0; i < 4; i++) {
			watch_leave(&seats[i].watch);
			watch_comm(&seats[i].watch, 0, COMM_READY, NULL);
			watch_enter(&seats[i].watch, "the first call", 10);
		}
		clock_nap(1.2);
		CU_ASSERT(seats_sit(0, 3));
		CU_ASSERT_STRING_EQUAL(seat_said(0), "");
		watch_leave(&seats[3].watch);
		watch_enter(&seats[3].watch, "a call", 0.1); /* and hangs are still named */
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		seats_close();
	}
}

/* One comes late, but comes, or still moves. */
static void test_late(void)
{
	four(0.5, CLASS_MISSING);
	for (int i = 0; i < 3; i++)
		rank_enters_init(i, 4, 1);
	for (int i = 0; i < 6; i++) {
		clock_nap(0.2);
		watch_phase(&seats[3].watch, PHASE_SETUP);
	}
	rank_enters_init(3, 4, 1);
	clock_nap(0.8);
	CU_ASSERT(seats_sit(0, 3));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

static void signal_all(int n, int number)
{
	for (int i = 0; i < n; i++)
		kill(seats[i].pid, number);
}

/* The whole job was stopped: that time is nobody's delay. */
static void test_suspended(void)
{
	four(0.75, CLASS_MISSING);
	for (int i = 0; i < 3; i++)
		rank_enters_init(i, 4, 1);
	clock_nap(0.3);
	signal_all(4, SIGSTOP);
	clock_nap(2);
	signal_all(4, SIGCONT);
	clock_nap(0.35);
	rank_enters_init(3, 4, 1);
	clock_nap(0.5);
	CU_ASSERT(seats_sit(0, 3));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

/* The diagnoser finds no cause in it: it is asked once, and init's own deadline stands. */
static void test_puzzled(void)
{
	four(0.5, CLASS_UNEXPLAINED);
	for (int i = 0; i < 3; i++)
		rank_enters_init(i, 4, 1);
	clock_nap(2);
	CU_ASSERT(seats_sit(0, 3));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "0* 1* 2* 3 looked\n");
	CU_ASSERT_EQUAL(verdict_lines(0, 3), 0);
	watch_leave(&seats[2].watch);
	watch_enter(&seats[2].watch, "init", 0.1);
	CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
	seats_close();
}

static void test_not_asked(void)
{
	four(0, CLASS_MISSING);
	for (int i = 0; i < 3; i++)
		rank_enters_init(i, 4, 1);
	clock_nap(1.3);
	CU_ASSERT(seats_sit(0, 3));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

/* One of three on each host, the one at `at`, is a surplus rank, which knows of no job. The first one's
 * monitor leads there. */
static void surplus(int at)
{
	static char key[80];

	class = CLASS_MISSING;
	seats_open(6);
	seats_config.client = (struct monitor_client){ .refine = refine };
	seats_config.decide.init_seconds = 0.5;
	snprintf(key, sizeof(key), "%s-1", seats_key);
	for (int i = 0; i < 6; i++) {
		int node = i / 3, before = i % 3 > at;
		bool aside = i % 3 == at;

		watch_phase(&seats[i].watch, aside ? PHASE_SPARE : PHASE_SETUP);
		recorder_identify(&seats[i].recorder, aside ? -1 : 2 * node + i % 3 - before,
				  aside ? -1 : 4, aside ? -1 : node, aside ? -1 : 2, 0, "device",
				  "library");
		seat_take(i, node ? key : seats_key);
		SOON(seats[i].desk->opened);
	}
	port = recorder_uplink_port(&seats[at == 0].recorder);
	CU_ASSERT_FATAL(port > 0);
	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	for (int i = 0; i < 6; i++)
		if (i % 3 != at)
			publish(i, i, address, TOKEN);
	SOON(seats[0].desk->nodes == 1);
	clock_nap(0.05);
}

static void test_surplus(void)
{
	for (int how = 0; how < 4; how++) {
		int at = how / 2, last = at == 1 ? 5 : 4;
		double begin;

		surplus(at);
		for (int i = 0; i < 6; i++)
			if (i % 3 != at && i != last)
				rank_enters_init(i, 4, 1);
		if (how % 2)
			rank_enters_init(last, 4, 2);
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 5, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin < 1.4);
		seats_close();
	}
}

/* All came, beside surplus ranks: the roll is called once, and not all through the run. */
static void test_surplus_fine(void)
{
	long steps;

	surplus(1);
	for (int i = 0; i < 6; i++)
		if (i % 3 != 1)
			rank_enters_init(i, 4, 1);
	clock_nap(0.7);
	steps = seats[3].desk->steps;
	clock_nap(2);
	/* its own clock wakes it every 20 ms, and each message once more */
	CU_ASSERT(seats[3].desk->steps - steps <= 102);
	CU_ASSERT(seats_sit(0, 5));
	CU_ASSERT_STRING_EQUAL(seat_said(0), "");
	seats_close();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "surplus ranks", test_surplus },
		{ "surplus ranks, and all came", test_surplus_fine },
		{ "one does not come", test_missing },
		{ "nobody of a host comes", test_whole_host },
		{ "some come otherwise", test_unlike },
		{ "a long init", test_long },
		{ "late", test_late },
		{ "suspended", test_suspended },
		{ "no cause found", test_puzzled },
		{ "not asked", test_not_asked },
	};

	return unit_main("monitor_census", cases, sizeof(cases) / sizeof(cases[0]));
}
