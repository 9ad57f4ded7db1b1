/* test_monitor_census.c: ranks of several hosts that do not come to communicator init: the census goes over
 * sockets, and a surplus rank may lead. When it is taken and what it says: test_decide_init.c. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "nodes.h"
#include "answer/answer.h"

static enum answer_class class; /* what the diagnoser finds */

static enum diagnosis_result refine(void *ctx, const struct rank_view *views,
				    const struct record_memory *const *memories, size_t n,
				    struct answer *verdict)
{
	verdict->class = class;
	for (size_t i = 0; i < n; i++)
		printf("%d%s ", views[i].rank, views[i].overdue ? "*" : "");
	printf("looked\n");
	fflush(stdout);
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

/* Ranks 0 and 1 on one host, 2 and 3 on another, on their way to init. */
static void four(double seconds, enum answer_class found)
{
	class = found;
	seats_open(4);
	seats_config.client = (struct monitor_client){ .refine = refine };
	seats_config.decide.init_seconds = seconds;
	for (int i = 0; i < 4; i++)
		watch_phase(&seats[i].watch, PHASE_SETUP);
	two_nodes();
}

/* Whichever rank does not come, and on whichever host: all others are held up, long before init's deadline. */
UNIT_TEST(test_missing, "one does not come")
{
	static const char *const seen[] = { "0 1* 2* 3* looked\n", "0* 1 2* 3* looked\n",
					    "0* 1* 2 3* looked\n", "0* 1* 2* 3 looked\n" };

	for (int missing = 0; missing < 4; missing += 3) {
		double begin;

		four(0.75, CLASS_MISSING);
		for (int i = 0; i < 4; i++)
			if (i != missing)
				rank_enters_init(i, 4, 1);
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin >= 0.75 &&
			  unit_in_time(clock_seconds() - begin, 1.4));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), seen[missing]));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "outcome=hang class=missing-call "));
		CU_ASSERT_EQUAL(verdict_lines(0, 3), 1);
		seats_close();
	}
}

/* One of three on each host, at `at`, is a surplus rank, which knows of no job; the first leads. */
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
	nodes_port = recorder_uplink_port(&seats[at == 0].recorder);
	CU_ASSERT_FATAL(nodes_port > 0);
	snprintf(nodes_address, sizeof(nodes_address), "127.0.0.1:%d", nodes_port);
	for (int i = 0; i < 6; i++)
		if (i % 3 != at)
			nodes_publish(i, i, nodes_address, TOKEN);
	SOON(seats[0].desk->nodes == 1);
	clock_sleep(0.05);
}

UNIT_TEST(test_surplus, "surplus ranks")
{
	for (int how = 0; how < 4; how += 3) {
		int at = how / 2, last = at == 1 ? 5 : 4;
		double begin;

		surplus(at);
		for (int i = 0; i < 6; i++)
			if (i % 3 != at && i != last)
				rank_enters_init(i, 4, 1);
		if (how % 2)
			rank_enters_init(last, 4, 2);
		begin = clock_seconds();
		UNIT_ALL(seats_end(0, 5, OUTCOME_HANG), unit_in_time(clock_seconds() - begin, 1.4));
		seats_close();
	}
}
