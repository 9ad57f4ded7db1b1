/* test_monitor.c: the observers of one node: who leads, and what they conclude. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "seats.h"

UNIT_TEST(test_all_well, "eight observers, all well")
{
	seats_open(8);
	seats_take(0, 7); /* at once: the kernel picks a leader */
	for (int i = 0; i < 8; i++)
		SOON(seats[i].desk->opened);
	UNIT_ALL(seat_leading(0, 7) >= 0, seat_leading(seat_leading(0, 7) + 1, 7) == -1);
	SOON(seats[seat_leading(0, 7)].desk->peers == 8);
	ranks_finish(0, 6, OUTCOME_OK);
	clock_sleep(0.15);
	CU_ASSERT(seats_sit(0, 7)); /* one is still at work */
	rank_finishes(7, OUTCOME_OK, "", NULL);
	CU_ASSERT(seats_end(0, 7, 0));
	for (int i = 0; i < 8; i++)
		CU_ASSERT_STRING_EQUAL(seat_said(i), "");
	seats_close();
}

UNIT_TEST(test_alone, "a single rank")
{
	seats_open(1);
	seats_take_in_order(0, 0);
	rank_finishes(0, OUTCOME_WRONG_DATA, "0", NULL);
	UNIT_ALL(seats_end(0, 0, OUTCOME_WRONG_DATA),
		 strstr(seat_said(0), "outcome=wrong-data class=wrong-data ranks=0 ") != NULL);
	seats_close();
}

/* A rank of a member, then the leader's own; killed, or gone without a word. */
UNIT_TEST(test_death, "a rank dies")
{
	static const struct {
		int rank, status;
		const char *line, *word;
	} cases[] = {
		{ 2, SIGKILL,
		  "# verdict: outcome=died class=rank-died ranks=2 comm=", "killed by SIGKILL" },
		{ 0, SIGSEGV,
		  "# verdict: outcome=died class=rank-died ranks=0 comm=", "killed by SIGSEGV" },
		{ 1, W_EXITCODE(0, 0), "class=rank-died ranks=1 ", "exited with 0" },
		{ 1, W_EXITCODE(3, 0), "class=rank-died ranks=1 ", "exited with 3" },
	};

	UNIT_ROWS(c, cases) {
		double begin;

		seats_open(3);
		seats_take_in_order(0, 2);
		begin = clock_seconds();
		rank_ends(c->rank, c->status);
		UNIT_ALL(seats_end(0, 2, OUTCOME_DIED), unit_in_time(clock_seconds() - begin, 0.5),
			 strstr(seat_said(0), c->line) != NULL,
			 strstr(seat_said(0), c->word) != NULL, verdict_lines(0, 2) == 1);
		seats_close();
	}
}

/* Deaths that come within a moment are one verdict. */
UNIT_TEST(test_two_deaths, "two ranks die")
{
	seats_open(4);
	seats_take_in_order(0, 3);
	rank_ends(3, SIGKILL);
	clock_sleep(0.03);
	rank_ends(1, SIGKILL);
	UNIT_ALL(seats_end(0, 3, OUTCOME_DIED), strstr(seat_said(0), "ranks=1,3 ") != NULL);
	seats_close();
}

UNIT_TEST(test_hang, "a rank waits past its deadline")
{
	double begin;

	seats_open(3);
	seats_take_in_order(0, 2);
	watch_enter(&seats[0].watch, "timed calls", 10);
	watch_enter(&seats[1].watch, "timed calls", 0.2);
	begin = clock_seconds();
	UNIT_ALL(seats_end(0, 2, OUTCOME_HANG), clock_seconds() - begin > 0.2,
		 unit_in_time(clock_seconds() - begin, 0.7), verdict_lines(0, 2) == 1,
		 strstr(seat_said(0), "# verdict: outcome=hang class=unexplained ") != NULL,
		 strstr(seat_said(0), "# no culprit is named: no cause was found\n") != NULL,
		 strstr(seat_said(0), "# ranks 0,1 wait in 'timed calls', 0.") != NULL,
		 strstr(seat_said(0), "# rank 2 is in phase timed, ") != NULL);
	seats_close();
}

/* detect_ms of the verdict line; -1: there is none. */
static double said_ms(int seat)
{
	const char *at = strstr(seat_said(seat), " detect_ms=");

	return at ? atof(at + strlen(" detect_ms=")) : -1;
}

/* An error waits 0.6 s for the death that may be behind it; the time counts from the error, not
 * from the end of a rank that did well. */
UNIT_TEST(test_error, "a rank reports an error")
{
	double begin;

	seats_open(3);
	seats_take_in_order(0, 2);
	rank_finishes(0, OUTCOME_OK, "", NULL);
	clock_sleep(0.3);
	begin = clock_seconds();
	rank_finishes(1, OUTCOME_ERROR, "", "MPI_Allreduce failed: out of luck");
	UNIT_ALL(seats_end(0, 2, OUTCOME_ERROR), said_ms(0) >= 600,
		 said_ms(0) <= (clock_seconds() - begin) * 1e3,
		 strstr(seat_said(0), "# verdict: outcome=error class=error ranks=1 ") != NULL,
		 strstr(seat_said(0), "# rank 1 reported: MPI_Allreduce failed: out of luck\n") !=
			 NULL);
	seats_close();
}

/* An outcome that all agree upon is no matter for a verdict, unless it is about the measurement. */
UNIT_TEST(test_outcomes, "other outcomes")
{
	static const struct {
		enum outcome outcome;
		int lines;
	} cases[] = {
		{ OUTCOME_USAGE, 0 },
		{ OUTCOME_UNSUPPORTED, 0 },
		{ OUTCOME_SLOW, 1 },
		{ OUTCOME_WRONG_DATA, 1 },
	};

	UNIT_ROWS(c, cases) {
		seats_open(2);
		seats_take_in_order(0, 1);
		rank_finishes(0, c->outcome, "", NULL);
		rank_finishes(1, c->outcome, c->outcome == OUTCOME_WRONG_DATA ? "1,3" : "", NULL);
		CU_ASSERT(seats_end(0, 1, (int)c->outcome));
		CU_ASSERT_EQUAL(verdict_lines(0, 1), c->lines);
		if (c->outcome == OUTCOME_WRONG_DATA) {
			CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), " ranks=1,3 "));
		}
		seats_close();
	}
}

UNIT_TEST(test_expect, "--expect")
{
	static const struct {
		const char *expect;
		int code;
	} cases[] = {
		{ "died", 0 },
		{ "died:rank-died", 0 },
		{ "died:rank-died:2", 0 },
		{ "died:rank-died:1", 1 },
		{ "hang", 1 },
		{ "ok", 1 },
	};

	UNIT_ROWS(c, cases) {
		seats_open(3);
		seats_config.expect = c->expect;
		seats_take_in_order(0, 2);
		rank_ends(2, SIGKILL);
		CU_ASSERT(seats_end(0, 2, c->code));
		CU_ASSERT_PTR_NOT_NULL(
			strstr(seat_said(0), "outcome=died")); /* what happened, all the same */
		seats_close();
	}
	seats_open(2);
	seats_config.expect = "hang";
	seats_take_in_order(0, 1);
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 1));
	seats_close();
}
