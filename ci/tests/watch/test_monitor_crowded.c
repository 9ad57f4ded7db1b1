/* test_monitor_crowded.c: a host that keeps a rank from running is an excuse for that rank, and for
 * those who wait for it; not for another one. */
/* alone: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "backend/call.h"
#include "nodes.h"
#include "rig/spinners.h"
#include "record/verdict.h"

static const char *named; /* whom the diagnoser names, "-" for nobody; NULL: it finds no cause */

static enum diagnosis_result name_ranks(void *ctx, const struct rank_view *views,
					const struct record_memory *const *memories, size_t n,
					struct verdict *verdict)
{
	(void)ctx, (void)views, (void)memories, (void)n;
	if (named) {
		verdict->class = CLASS_BUSY;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%s", named);
	}
	printf("looked\n");
	fflush(stdout);
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

static pid_t greedy, meek, idle;

static void makes_calls(int i, int n)
{
	const struct call call = { .kind = CALL_ALL_GATHER, .count = 1, .op = OP_NONE, .peer = -1 };
	const struct watch *w = &seats[i].watch;

	while (n-- > 0) {
		w->returned(w->ctx, w->call(w->ctx, &call), 0);
		watch_completed(w);
	}
}

static pid_t sleeper(void)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		sleep(30);
		_exit(0);
	}
	return pid;
}

/* `n` seats, processes that ranks may take for their own, and a diagnoser that names `ranks`. */
static void a_crowd(int n, const char *ranks)
{
	named = ranks;
	greedy = spinner(SCHED_OTHER, 10);
	meek = spinner(SCHED_IDLE, 10);
	idle = sleeper();
	CU_ASSERT_FATAL(greedy > 0 && meek > 0 && idle > 0);
	seats_open(n);
	seats_config.client = (struct monitor_client){ .refine = name_ranks };
}

/* Rank 0 waits in its third call, rank 1 is kept from running in its own third, rank 2 has made
 * `calls`. But for rank 1 they sleep, so that nobody keeps them from running. */
static void crowded(int calls, const char *ranks)
{
	const struct call call = { .kind = CALL_ALL_GATHER, .count = 1, .op = OP_NONE, .peer = -1 };

	a_crowd(3, ranks);
	seats[1].memory->header.pid = meek;
	seats[0].memory->header.pid = seats[2].memory->header.pid = idle;
	seats_take_in_order(0, 2);
	for (int i = 0; i < 3; i++)
		makes_calls(i, 2);
	watch_enter(&seats[0].watch, "timed calls", 0.1);
	for (int i = 0; i < 2; i++)
		seats[i].watch.call(seats[i].watch.ctx, &call);
	makes_calls(2, calls - 2);
}

/* The same on two hosts, where rank 3 is alone on the other one. Rank `late` has made a call less, for which
 * those on the other host wait. Rank `kept` is kept from running, the others sleep. Named is `ranks`. */
static void crowded_elsewhere(int late, int kept, const char *ranks)
{
	a_crowd(4, ranks);
	for (int i = 0; i < 4; i++)
		seats[i].memory->header.pid = i == kept ? meek : idle;
	node_take(0, 0, 2);
	node_take(1, 3, 3);
	join(1);
	for (int i = 0; i < 4; i++)
		makes_calls(i, i == late ? 2 : 3);
	clock_nap(0.6); /* nobody has moved lately */
	for (int i = 0; i < 4; i++)
		if ((i == 3) != (late == 3))
			watch_enter(&seats[i].watch, "timed calls", 0.1);
}

static void quiet_again(void)
{
	spinner_end(greedy);
	spinner_end(meek);
	spinner_end(idle);
	seats_close();
}

/* Nobody but the one that is kept can be what rank 0 waits for: it gets its time. */
static void test_excused(void)
{
	crowded(3, "1");
	clock_nap(2);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_STRING_EQUAL(seat_said(0), ""); /* the diagnoser was not even asked */
	rank_ends(2, SIGKILL);
	CU_ASSERT(seats_end(0, 2, OUTCOME_DIED));
	quiet_again();
}

/* Rank 2 lacks the call, and could run. */
static void test_no_excuse(void)
{
	double begin = clock_seconds();

	crowded(2, "2");
	CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin < 1.5);
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "class=host-busy ranks=2 "));
	quiet_again();
}

/* So it seems; but the diagnoser says that they wait for the one that is kept: until it no longer is. It is
 * another process then, for the one that starves might never get to hear a signal. */
static void test_judge_names_kept(void)
{
	crowded(2, "1");
	clock_nap(2);
	CU_ASSERT(seats_sit(0, 2));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "looked\n"));
	CU_ASSERT_EQUAL(verdict_lines(0, 2), 0);
	seats[1].memory->header.pid = idle;
	CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "class=host-busy ranks=1 "));
	quiet_again();
}

/* Whoever is named: on a crowded host somebody is always kept, and an excuse ends. */
static void test_excuse_ends(void)
{
	static const char *const whom[] = { "1", "-" };

	for (int i = 0; i < 2; i++) {
		double begin;

		crowded(2, whom[i]);
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin > 4.5 && clock_seconds() - begin < 6.5);
		quiet_again();
	}
}

/* Nothing explains it: being kept for a moment prolongs that doubt by as much, and not by six times as
 * long again. */
static void test_doubt_goes_on(void)
{
	double begin, first, lasted;

	a_crowd(2, NULL);
	seats_config.decide.extensions = true;
	seats[0].memory->header.pid = seats[1].memory->header.pid = idle;
	seats_take_in_order(0, 1);
	begin = clock_seconds();
	watch_enter(&seats[1].watch, "timed calls", 0.1);
	SOON(strstr(seat_said(0), "looked\n") != NULL);
	first = clock_seconds() - begin;
	seats[1].memory->header.pid = meek;
	clock_nap(2 * first); /* over the second look */
	seats[1].memory->header.pid = idle;
	CU_ASSERT(seats_end(0, 1, OUTCOME_HANG));
	lasted = clock_seconds() - begin;
	CU_ASSERT(lasted > 5 * first && lasted < 8 * first);
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "class=unexplained "));
	quiet_again();
}

/* Its host says so when it is asked, and says so again; the excuse ends when that does, or after 5 s. */
static void test_elsewhere(void)
{
	double begin;

	crowded_elsewhere(3, 3, "3");
	clock_nap(3);
	CU_ASSERT(seats_sit(0, 3));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "looked\n"));
	CU_ASSERT_EQUAL(verdict_lines(0, 3), 0);
	seats[3].memory->header.pid = idle;
	CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
	quiet_again();

	for (int late = 2; late < 4; late++) { /* on the root's host, or on the other one */
		crowded_elsewhere(late, late, late == 2 ? "2" : "3");
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin > 4.5 && clock_seconds() - begin < 6.5);
		quiet_again();
	}

	for (int kept = 0; kept < 2;
	     kept++) { /* it only sleeps; or the diagnoser names another one */
		crowded_elsewhere(3, kept ? 3 : -1, kept ? "2" : "3");
		begin = clock_seconds();
		CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
		CU_ASSERT(clock_seconds() - begin < 1.5);
		quiet_again();
	}
}

/* Rank 1 is kept from running on the root's host; two more hosts have a rank each. */
static void crowded_root(void)
{
	a_crowd(4, "1");
	for (int i = 0; i < 4; i++)
		seats[i].memory->header.pid = i == 1 ? meek : idle;
	three_nodes();
	clock_nap(0.6);
}

/* Where only the root's host waits, its excuse is no longer; and an excuse is for one wait: another one has its
 * own. */
static void test_other_waits(void)
{
	int code = NOT_ENDED;
	double begin;

	crowded_root();
	begin = clock_seconds();
	watch_enter(&seats[0].watch, "timed calls", 0.1);
	CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin > 4.5 && clock_seconds() - begin < 6.5);
	quiet_again();

	crowded_root();
	for (int i = 0; i < 8 && code == NOT_ENDED; i++) {
		struct seat *s = &seats[i % 2 ? 3 : 2]; /* 2 s each, and always one of them */

		if (i > 1)
			watch_leave(&s->watch);
		watch_enter(&s->watch, "timed calls", 0.1);
		code = seat_code(0, 1);
	}
	CU_ASSERT_EQUAL(code, NOT_ENDED);
	CU_ASSERT_EQUAL(verdict_lines(0, 3), 0);
	quiet_again();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "all wait for a rank that is kept", test_excused },
		{ "another one could run", test_no_excuse },
		{ "the diagnoser names the one that is kept", test_judge_names_kept },
		{ "the excuse ends", test_excuse_ends },
		{ "the doubt goes on", test_doubt_goes_on },
		{ "on another host", test_elsewhere },
		{ "other waits", test_other_waits },
	};

	return unit_main("monitor_crowded", cases, sizeof(cases) / sizeof(cases[0]));
}
