/* test_answer.c: outcome and line of an answer, from the views of ranks. */
#include "rig/unit.h"

#include "backend/call.h"
#include "answer/answer.h"
#include "process/watch.h"

enum { RANKS = 4 };

static struct rank_view views[RANKS];

/* Four ranks that work, the last call being number 10 of communicator 2. */
static void set_up(void)
{
	for (int i = 0; i < RANKS; i++)
		views[i] = (struct rank_view){
			.rank = i,
			.outcome = -1,
			.phase = PHASE_TIMED,
			.issued = 10,
			.seq = 10,
			.last = { .ticket = 10, .seq = 10, .comm = 2, .kind = CALL_ALL_REDUCE },
			.host = "node1",
		};
}

static void finish(int rank, enum outcome outcome)
{
	views[rank].process = PROCESS_EXITED;
	views[rank].outcome = outcome;
	views[rank].status = (int32_t)outcome;
}

static void wait_in(int rank, double seconds, bool overdue)
{
	views[rank].waiting = 1;
	views[rank].waited = seconds;
	views[rank].overdue = overdue;
}

/* A rank that left with an error, if one did, was seen half a second ago. */
static struct answer judge(double death_seconds)
{
	struct answer verdict;

	answer_of_views(&verdict, views, RANKS, death_seconds, 0.5);
	return verdict;
}

UNIT_TEST(test_finished, "finished")
{
	set_up();
	CU_ASSERT(!view_finished(&views[0]));
	views[0].process = PROCESS_EXITED;
	CU_ASSERT(!view_finished(&views[0])); /* exit(0) behind our back */
	finish(0, OUTCOME_OK);
	CU_ASSERT(view_finished(&views[0]));
	finish(0, OUTCOME_ERROR);
	CU_ASSERT(view_finished(&views[0]));
	views[0].status = 3;
	CU_ASSERT(!view_finished(&views[0]));
	finish(0, OUTCOME_OK);
	views[0].process = PROCESS_KILLED;
	CU_ASSERT(!view_finished(&views[0]));
}

UNIT_TEST(test_abnormal, "abnormal")
{
	set_up();
	UNIT_ALL(!views_abnormal(views, RANKS, true), !views_abnormal(views, 0, true));
	wait_in(1, 0.2, false);
	views[2].process = PROCESS_STOPPED;
	finish(3, OUTCOME_OK);
	CU_ASSERT(!views_abnormal(views, RANKS,
				  true)); /* no rank waits too long for the stopped one */
	views[1].overdue = 1;
	UNIT_ALL(views_abnormal(views, RANKS, true), !views_abnormal(views, RANKS, false));
	views[1].overdue = 0;
	finish(3, OUTCOME_WRONG_DATA);
	CU_ASSERT(!views_abnormal(views, RANKS, true));
	finish(3, OUTCOME_ERROR);
	CU_ASSERT(views_abnormal(views, RANKS, false));
	finish(3, OUTCOME_INTERNAL);
	CU_ASSERT(views_abnormal(views, RANKS, false));
	finish(3, OUTCOME_OK);
	views[3].process = PROCESS_KILLED;
	CU_ASSERT(views_abnormal(views, RANKS, false));
}

UNIT_TEST(test_ok, "ok")
{
	struct answer v;

	set_up();
	v = judge(0);
	CU_ASSERT_EQUAL(v.outcome, OUTCOME_OK);
	for (int i = 0; i < RANKS; i++)
		finish(i, OUTCOME_OK);
	v = judge(0);
	UNIT_ALL(v.outcome == OUTCOME_OK, !strcmp(class_name(v.class, v.outcome), "ok"),
		 !strcmp(v.ranks, "-"), v.last_seq == -1);
	answer_of_views(&v, NULL, 0, 0, 0);
	CU_ASSERT_EQUAL(v.outcome, OUTCOME_OK);
}

UNIT_TEST(test_died, "died")
{
	struct answer v;

	set_up();
	views[1].process = PROCESS_KILLED;
	views[1].status = SIGKILL;
	views[3].process = PROCESS_EXITED;
	views[3].status = 0;
	wait_in(0, 3, true);
	wait_in(2, 2, true);
	views[2].seq = 9;
	v = judge(0.125);
	UNIT_ALL(v.outcome == OUTCOME_DIED, !strcmp(class_name(v.class, v.outcome), "rank-died"),
		 !strcmp(v.ranks, "1,3"), v.confidence == CONFIDENCE_INCONCLUSIVE,
		 v.last_comm == 2);
	CU_ASSERT_EQUAL(v.last_seq, 9); /* of those that wait, the one furthest behind */
	CU_ASSERT_DOUBLE_EQUAL(v.detect_ms, 125, 1e-9);
	/* a launcher ends the others */
	views[3].process = PROCESS_KILLED;
	views[3].status = SIGTERM;
	v = judge(0.125);
	UNIT_ALL(!strcmp(v.ranks, "1"), v.confidence == CONFIDENCE_PROVED);
	/* so does the end of a supervisor */
	views[3].status = SIGKILL;
	views[3].lost = LOST_MONITOR;
	views[3].reported = 1;
	v = judge(0.125);
	UNIT_ALL(!strcmp(v.ranks, "1"), v.confidence == CONFIDENCE_PROVED);
}

/* A rank that reports an error is a victim as a rule. */
UNIT_TEST(test_reporters, "who reports an error")
{
	struct answer v;

	set_up();
	finish(0, OUTCOME_ERROR);
	finish(3, OUTCOME_ERROR);
	v = judge(0);
	UNIT_ALL(!strcmp(v.ranks, "0,3"), v.confidence == CONFIDENCE_INCONCLUSIVE);
	finish(3, OUTCOME_OK);
	CU_ASSERT_EQUAL(judge(0).confidence, CONFIDENCE_INCONCLUSIVE);
	finish(1, OUTCOME_OK);
	finish(2, OUTCOME_OK);
	CU_ASSERT_EQUAL(judge(0).confidence, CONFIDENCE_PROVED);
}

/* Before MPI has given numbers no rank can be named. */
UNIT_TEST(test_died_unnumbered, "died before MPI")
{
	struct answer v;

	set_up();
	views[0].rank = -1;
	views[0].process = PROCESS_KILLED;
	v = judge(0);
	UNIT_ALL(v.outcome == OUTCOME_DIED, !strcmp(v.ranks, "-"));
}

UNIT_TEST(test_hang, "hang")
{
	struct answer v;

	set_up();
	wait_in(0, 2.5, true);
	wait_in(1, 0.75, true);
	wait_in(3, 1.5, false);
	v = judge(0);
	UNIT_ALL(v.outcome == OUTCOME_HANG, !strcmp(class_name(v.class, v.outcome), "unexplained"),
		 !strcmp(v.ranks, "-"), v.confidence == CONFIDENCE_INCONCLUSIVE, v.last_comm == 2,
		 v.last_seq == 10, fabs(v.detect_ms - 750) <= 1e-9);
	for (int i = 0; i < RANKS; i++)
		views[i].last.ticket = 0;
	v = judge(0);
	UNIT_ALL(v.last_comm == -1, v.last_seq == -1);
}

UNIT_TEST(test_others, "other outcomes")
{
	static const struct {
		enum outcome outcome;
		const char *class, *ranks;
		double detect_ms;
		enum confidence confidence;
	} cases[] = {
		{ OUTCOME_ERROR, "error", "2", 500, CONFIDENCE_PROVED },
		{ OUTCOME_INTERNAL, "error", "2", 500, CONFIDENCE_PROVED },
		{ OUTCOME_WRONG_DATA, "wrong-data", "-", 0, CONFIDENCE_INCONCLUSIVE },
		{ OUTCOME_SLOW, "slow", "-", 0, CONFIDENCE_PROVED },
		{ OUTCOME_USAGE, "usage", "-", 0, CONFIDENCE_PROVED },
		{ OUTCOME_UNSUPPORTED, "unsupported", "-", 0, CONFIDENCE_PROVED },
	};

	UNIT_ROWS(c, cases) {
		struct answer v;

		set_up();
		for (int rank = 0; rank < RANKS; rank++)
			finish(rank, rank == 2 ? c->outcome : OUTCOME_OK);
		v = judge(0);
		CU_ASSERT_EQUAL(v.outcome, c->outcome);
		CU_ASSERT_STRING_EQUAL(class_name(v.class, v.outcome), c->class);
		CU_ASSERT_STRING_EQUAL(v.ranks, c->ranks);
		CU_ASSERT_EQUAL(v.confidence, c->confidence);
		CU_ASSERT_EQUAL(v.detect_ms, c->detect_ms);
	}
}

/* A death hides an error, that a hang, that wrong data. */
UNIT_TEST(test_order, "which outcome hides which")
{
	set_up();
	finish(3, OUTCOME_WRONG_DATA);
	CU_ASSERT_EQUAL(judge(0).outcome, OUTCOME_WRONG_DATA);
	wait_in(2, 1, true);
	CU_ASSERT_EQUAL(judge(0).outcome, OUTCOME_HANG);
	finish(1, OUTCOME_ERROR);
	CU_ASSERT_EQUAL(judge(0).outcome, OUTCOME_ERROR);
	views[0].process = PROCESS_KILLED;
	CU_ASSERT_EQUAL(judge(0).outcome, OUTCOME_DIED);
}

/* More culprits than there is room for: whole numbers, as many as fit. */
UNIT_TEST(test_many, "many guilty ranks")
{
	enum { MANY = 300 };
	struct rank_view *many = calloc(MANY, sizeof(*many));
	struct answer v;

	CU_ASSERT_PTR_NOT_NULL_FATAL(many);
	for (int i = 0; i < MANY; i++)
		many[i] = (struct rank_view){ .rank = 1000 + i, .process = PROCESS_KILLED };
	answer_of_views(&v, many, MANY, 0, 0);
	CU_ASSERT_EQUAL(strlen(v.ranks), 254); /* 51 of "1000," less the last comma */
	UNIT_ALL(strncmp(v.ranks, "1000,1001,", 10) == 0, !strcmp(v.ranks + 250, "1050"));
	free(many);
}

static char *print(const struct answer *v)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	answer_print(out, v);
	fclose(out);
	return text;
}

UNIT_TEST(test_print, "wording")
{
	struct answer v;

	set_up();
	views[1].process = PROCESS_KILLED;
	views[1].status = SIGKILL;
	v = judge(0.0625);
	v.comm = v.seq_low = 2;
	v.hang_seq = 3;
	CU_ASSERT_STRING_EQUAL(print(&v),
			       "# verdict: outcome=died class=rank-died ranks=1 comm=2 "
			       "seq=2 confidence=proved detect_ms=62 hang_seq=3 evidence=-\n");

	for (int i = 0; i < RANKS; i++)
		finish(i, i == 3 ? OUTCOME_WRONG_DATA : OUTCOME_OK);
	v = judge(0);
	v.class = CLASS_MISMATCH;
	v.seq_low = v.hang_seq = 8; /* the other point is told where it is another */
	v.wrong_seq = 12;
	strcpy(v.field, "count");
	CU_ASSERT_STRING_EQUAL(print(&v), "# verdict: outcome=wrong-data class=mismatch ranks=- "
					  "comm=-1 seq=8 confidence=inconclusive detect_ms=0 "
					  "field=count wrong_seq=12 evidence=-\n");
}
