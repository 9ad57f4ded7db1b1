/* test_verify.c: schedules as text, and what is said of them. */
#include "rig/unit.h"

#include "answer/classes.h"
#include "verify/verify.h"

static char path[UNIT_TEMP];

/* A schedule of the text, which stands for what is in the file. */
static int read_text(struct schedule *s, const char *text, struct error *err)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	return schedule_read(s, path, err);
}

/* clang-format off */
static const struct {
	const char *text;
	uint64_t eager;
	const char *said; /* outcome, class, ranks, pair; "-": none */
	const char *depends; /* a part of it; NULL: it depends on nothing */
} plays[] = {
	/* collectives: all alike, one missing at the end, one too many, another kind, count, root */
	{ "ranks 3\nrank 0-2 all_reduce//8 broadcast//4/1 ( all_gather alltoall )\n", 0, "ok ok - -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8 all_reduce//9\nrank 3 all_reduce//8\n", 0, "hang missing-call 3 -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8 all_reduce//9 all_reduce//10\nrank 3 all_reduce//8 all_reduce//10\n", 0,
	  "hang skipped-call 3 -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8\nrank 3 all_gather//8\n", 0, "hang mismatch 3 -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8\nrank 3 all_reduce//9\n", 0, "hang mismatch 3 -", NULL },
	{ "ranks 4\nrank 0-2 broadcast//8/0\nrank 3 broadcast//8/1\n", 0, "hang mismatch 3 -", NULL },
	/* the same bytes, another type or operator: what comes out is another thing */
	{ "ranks 4\nrank 0-2 all_reduce//8\nrank 3 all_reduce//8/-/int32\n", 0, "diverged mismatch 3 -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8\nrank 3 all_reduce//8/-/float/max\n", 0, "diverged mismatch 3 -", NULL },
	{ "ranks 4\nrank 0-2 all_reduce//8\nrank 3 all_reduce//4/-/double\n", 0, "diverged mismatch 3 -", NULL },
	/* sends: each with its receive, one without, both first, amounts that do not fit */
	{ "ranks 3\nrank 0 send//8/1 all_reduce\nrank 1 recv//8/0 send//8/2 all_reduce\nrank 2 recv//8/1 all_reduce\n", 0,
	  "ok ok - -", NULL },
	{ "ranks 3\nrank 0 send//8/1 send//8/1\nrank 1 recv//8/0 send//8/2 recv//8/0 send//8/2\nrank 2 recv//8/1 recv//8/1 recv//8/1\n",
	  0, "hang p2p-unmatched - 1>2", NULL },
	{ "ranks 2\nrank 0 send//64K/1 recv//64K/1\nrank 1 send//64K/0 recv//64K/0\n", 0, "hang p2p-deadlock - 0>1",
	  "up to 262144 bytes" },
	{ "ranks 2\nrank 0 send//64K/1 recv//64K/1\nrank 1 send//64K/0 recv//64K/0\n", 262144, "ok ok - -", "hangs without" },
	{ "ranks 2\nrank 0 send//64K/1 recv//64K/1\nrank 1 send//64K/0 recv//64K/0\n", 262143, "hang p2p-deadlock - 0>1",
	  "up to 262144 bytes" },
	{ "ranks 2\nrank 0 ( send//8/1 recv//8/1 )\nrank 1 ( send//8/0 recv//8/0 )\n", 0, "ok ok - -", NULL },
	/* two groups are not one: the second waits for the first */
	{ "ranks 2\nrank 0 ( send//8/1 ) ( recv//8/1 )\nrank 1 ( send//8/0 ) ( recv//8/0 )\n", 0, "hang order-cycle - 0>1",
	  "up to 32 bytes" },
	{ "ranks 2\nrank 0 send//8/1\nrank 1 recv//9/0\n", 0, "hang p2p-size - 0>1", NULL },
	/* a root that may go on */
	{ "ranks 2\nrank 0 broadcast//8/0 recv//8/1\nrank 1 send//8/0 broadcast//8/0\n", 0, "hang order-cycle - 1>0", "up to 32 bytes" },
	{ "ranks 2\nrank 0 send//8/1 all_reduce\nrank 1 all_reduce recv//8/0\n", 0, "hang order-cycle - 0>1", "up to 32 bytes" },
	/* orders of two communicators: on one stream, and on two of which the host waits for each */
	{ "ranks 2\nstream one\ngroup a 0,1\ngroup b 0,1\nrank 0 all_reduce/a all_reduce/b\nrank 1 all_reduce/b all_reduce/a\n", 0,
	  "hang order-cycle - -", "a stream for each communicator it completes" },
	{ "ranks 2\ngroup a 0,1\ngroup b 0,1\nrank 0 all_reduce/a all_reduce/b\nrank 1 all_reduce/b all_reduce/a\n", 0,
	  "ok ok - -", "on one stream it hangs" },
	{ "ranks 2\nahead 0\ngroup a 0,1\ngroup b 0,1\nrank 0 all_reduce/a all_reduce/b\nrank 1 all_reduce/b all_reduce/a\n", 0,
	  "hang order-cycle - -", NULL },
	/* groups that are splits, of which a rank is in a wrong call */
	{ "ranks 4\ngroup x 0,1\ngroup y 3,2\nrank 0,1 all_reduce/x all_reduce\nrank 2,3 broadcast/y/8/1 all_reduce # root is 2\n", 0,
	  "ok ok - -", NULL },
};

static const struct {
	const char *text, *said; /* what follows the file's name */
} wrong[] = {
	{ "", ":0: no schedule" },
	{ "rank 0 all_reduce\n", ":1: 'ranks N' comes first" },
	{ "ranks 0\n", ":1: 'ranks N'" },
	{ "ranks 2\nrank 0 all_reduce/tp\n", ":2: no group 'tp'" },
	{ "ranks 2\n\nrank 2 all_reduce\n", ":3: ranks are numbers from 0 to 1" },
	{ "ranks 2\nrank 0 allreduce\n", ":2: no call 'allreduce'" },
	{ "ranks 2\nrank 0 send//8\n", ":2: send to or from which rank?" },
	{ "ranks 2\nrank 0 send//8/0\n", ":2: rank 0: a send with itself" },
	{ "ranks 2\nrank 0 send//8/2\n", ":2: send of group world: no place 2" },
	{ "ranks 2\nrank 0 all_reduce//x\n", ":2: a count is" },
	{ "ranks 2\nrank 0 all_reduce//1/-/flaot\n", ":2: no type 'flaot'" },
	{ "ranks 2\nrank 0 all_reduce//1/-/float/xor\n", ":2: no operator 'xor'" },
	{ "ranks 2\nrank 0 all_reduce//1/-/float/sum/x\n", ":2: a call is KIND/" },
	{ "ranks 2\nrank 0 ( all_reduce\n", ":2: a group of calls has no ')'" },
	{ "ranks 2\nrank 0 all_reduce )\n", ":2: ')'" },
	{ "ranks 3\ngroup a 0,1\nrank 2 all_reduce/a\n", ":3: rank 2 is no member of group a" },
	{ "ranks 3\ngroup a 0,0\n", ":2: group a has a rank twice" },
	{ "ranks 3\ngroup a 0\ngroup a 1\n", ":3: group a is there twice" },
	{ "ranks 3\nhello you\n", ":2: 'hello you'" },
};
/* clang-format on */

UNIT_TEST(test_plays, "schedules, and what is said of them")
{
	UNIT_ROWS(row, plays) {
		struct error err = { .rank = -1 };
		struct schedule s;
		struct verified v;
		struct verify_how how = { .eager = row->eager };
		char said[1024], depends[400];
		bool fits;

		CU_ASSERT_FATAL(read_text(&s, row->text, &err) == 0);
		how.streams = s.streams;
		CU_ASSERT_FATAL(verify(&v, &s, &how, &err) == 0);
		snprintf(said, sizeof(said), "%s %s %s %s", outcome_name(v.answer.outcome),
			 class_name(v.answer.class, v.answer.outcome), v.answer.ranks,
			 v.answer.pair[0] ? v.answer.pair : "-");
		verify_depends(&s, &how, false, v.stands, depends, sizeof(depends), &err);
		fits = row->depends ? strstr(depends, row->depends) != NULL : depends[0] == '\0';
		UNIT_ALL(!strcmp(said, row->said), fits,
			 v.stands == (v.answer.outcome == OUTCOME_HANG));
		if (strcmp(said, row->said) || !fits)
			printf("%s is %s, not %s; %s\n", row->text, said, row->said, depends);
		verified_release(&v);
		schedule_release(&s);
	}
}

/* One call too many leaves what a call left out leaves: where most ranks do not have the call, that a
 * rank's list is over proves nothing. */
UNIT_TEST(test_certain, "how certain a missing call is")
{
	static const struct {
		const char *text;
		enum confidence confidence;
	} cases[] = {
		{ "ranks 4\nrank 0-2 all_reduce//8 all_reduce//9\nrank 3 all_reduce//8\n",
		  CONFIDENCE_PROVED },
		{ "ranks 2\nrank 0 send//8/1 send//8/1 send//8/1\nrank 1 recv//8/0 recv//8/0\n",
		  CONFIDENCE_INCONCLUSIVE },
		{ "ranks 3\nrank 0 send//8/1 send//8/1 send//8/1\nrank 1 recv//8/0 recv//8/0\nrank "
		  "2 all_reduce/-/1\n",
		  CONFIDENCE_INCONCLUSIVE },
		{ "ranks 3\nrank 0 all_reduce//8 send//4/1 all_reduce//8 all_reduce//8 send//4/1\n"
		  "rank 1 all_reduce//8 recv//4/0 all_reduce//8\nrank 2 all_reduce//8 "
		  "all_reduce//8 "
		  "recv//2/0\n",
		  CONFIDENCE_INCONCLUSIVE },
	};

	UNIT_ROWS(row, cases) {
		struct error err = { .rank = -1 };
		struct verify_how how = { .eager = 0 };
		struct schedule s;
		struct verified v;

		CU_ASSERT_FATAL(read_text(&s, row->text, &err) == 0);
		how.streams = s.streams;
		CU_ASSERT_FATAL(verify(&v, &s, &how, &err) == 0);
		UNIT_ALL(v.answer.outcome == OUTCOME_HANG, v.answer.confidence == row->confidence);
		verified_release(&v);
		schedule_release(&s);
	}
}

UNIT_TEST(test_wrong, "texts that are no schedule")
{
	UNIT_ROWS(row, wrong) {
		struct error err = { .rank = -1 };
		struct schedule s;
		bool fits = read_text(&s, row->text, &err) == -EINVAL &&
			    err.outcome == OUTCOME_USAGE &&
			    strncmp(err.text + strlen(path), row->said, strlen(row->said)) == 0;

		CU_ASSERT(fits);
		if (!fits)
			printf("%s: %s, not %s\n", row->text, err.text, row->said);
		schedule_release(&s);
	}
}

UNIT_TEST(test_printed, "a text that is printed is read as the same")
{
	UNIT_ROWS(row, plays) {
		struct error err = { .rank = -1 };
		struct schedule s, again;
		char *text, *second;

		CU_ASSERT_FATAL(read_text(&s, row->text, &err) == 0);
		text = UNIT_PRINTED(out, schedule_print(out, &s));
		CU_ASSERT_FATAL(read_text(&again, text, &err) == 0);
		second = UNIT_PRINTED(out, schedule_print(out, &again));
		CU_ASSERT_STRING_EQUAL(text, second);
		free(text);
		free(second);
		schedule_release(&s);
		schedule_release(&again);
	}
}

UNIT_TEST(test_assumed, "ranks of which nothing is known get a peer's calls, if there is one")
{
	struct error err = { .rank = -1 };
	struct schedule s;

	CU_ASSERT(read_text(&s, "ranks 3\nrank 0 all_reduce all_gather\n", &err) == 0);
	UNIT_ALL(schedule_unknown(&s) == 1, schedule_assume(&s) == 0, schedule_unknown(&s) == -1,
		 schedule_calls(&s) == 6);
	schedule_release(&s);
	CU_ASSERT(read_text(&s, "ranks 2\nrank 0 send//1/1\n", &err) == 0);
	UNIT_ALL(schedule_assume(&s) == 1, schedule_unknown(&s) == 1);
	schedule_release(&s);
}

/* Takes the schedule again from evidence in which the rank's first calls have left the window, `n` of them. */
static int take_cut(struct schedule *taken, const char *text, int rank, size_t n, struct error *err)
{
	struct schedule s;
	struct evidence e;
	struct evidence_rank *r;
	int rc;

	CU_ASSERT_FATAL(read_text(&s, text, err) == 0);
	CU_ASSERT_FATAL(schedule_evidence(&s, s.streams, &e, err) == 0);
	r = &e.ranks[rank];
	r->ncalls -= n;
	memmove((void *)r->calls, &r->calls[n], r->ncalls * sizeof(*r->calls));
	evidence_index(r);
	rc = schedule_take(taken, &e, err);
	evidence_release(&e);
	schedule_release(&s);
	return rc;
}

UNIT_TEST(test_taken, "from evidence, from the first call on that all members still have")
{
	static const char calls[] =
		"ranks 3\ngroup a 0,1\nrank 0-2 all_reduce//1 all_reduce//2@x.py:1 all_reduce//3\n"
		"rank 0,1 all_gather/a/4\n";
	struct error err = { .rank = -1 };
	struct schedule s;

	CU_ASSERT(take_cut(&s, calls, 1, 0, &err) == 0);
	UNIT_ALL(schedule_calls(&s) == 11, s.ngroups == 2, s.groups[1].n == 2,
		 s.ranks[1].steps[1].count == 2,
		 !strcmp(s.sites[s.ranks[1].steps[1].site], "x.py:1"), schedule_unknown(&s) == -1);
	schedule_release(&s);
	CU_ASSERT(take_cut(&s, calls, 1, 2, &err) == 0);
	UNIT_ALL(schedule_calls(&s) == 5, s.ranks[0].n == 2, s.ranks[0].steps[0].count == 3);
	schedule_release(&s);
	/* which of the sends that have left the window had met is not known */
	CU_ASSERT(take_cut(&s, "ranks 2\nrank 0 send//1/1 send//2/1\nrank 1 recv//1/0 recv//2/0\n",
			   0, 1, &err) == -EINVAL);
	UNIT_ALL(err.outcome == OUTCOME_UNSUPPORTED, strstr(err.text, "its window is cut") != NULL);
	schedule_release(&s);
}

UNIT_MAIN(unit_main_file(path))
