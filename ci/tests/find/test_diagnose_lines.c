/* test_diagnose_lines.c: what a diagnosis says in sentences: who is meant, and how many of them. */
#include "calls_played.h"

#include "answer/classes.h"
#include "answer/postmortem.h"
#include "base/rank_list.h"

UNIT_TEST(test_rank_list_words, "ranks as words")
{
	static const struct {
		const char *set; /* '1': in it */
		size_t room;
		const char *words;
	} table[] = {
		{ "0000", 64, "no rank" },
		{ "", 64, "no rank" },
		{ "0100", 64, "rank 1" },
		{ "1000", 64, "rank 0" },
		{ "0110", 64, "ranks 1,2" },
		{ "1110", 64, "ranks 0-2" },
		{ "1011011111", 64, "ranks 0,2,3,5-9" },
		{ "1010101010101010101010101", 32, "ranks 0,2,4,6,8,10,12,14,16,..." },
	};

	UNIT_ROWS(row, table) {
		bool in[32] = { false };
		char buf[64];

		for (size_t k = 0; row->set[k]; k++)
			in[k] = row->set[k] == '1';
		UNIT_ALL(!strcmp(rank_list_words(in, (int)strlen(row->set), buf, row->room),
				 row->words),
			 strlen(buf) < row->room);
	}
}

UNIT_TEST(test_absent, "of whom nothing is known")
{
	for (int absent = 1; absent <= 3; absent++) {
		all_but(5, 1, OP - 1, OP, odd_count, true);
		for (int i = 0; i < absent; i++)
			evidence.ranks[4 - i].present = false;
		finish();
		CU_ASSERT(said(absent == 1   ? "Nothing is known of rank 4 (1 of 5 ranks)."
			       : absent == 2 ? "Nothing is known of ranks 3,4 (2 of 5 ranks)."
					     : "Nothing is known of ranks 2-4 (3 of 5 ranks)."));
	}
}

/* Is there a line with it? */
static bool mentions(const char *text)
{
	for (size_t i = 0; i < found.nnotes; i++)
		if (strstr(found.notes[i], text))
			return true;
	return false;
}

/* Rank 2 is dead or stopped, rank 1 as `what`, `process`, `calls`, `inside` say; others: OP. */
UNIT_TEST(test_missing_too, "who else did not make a call")
{
	static const struct {
		int culprit; /* how rank 2 is */
		const char *class;
		int process, calls;
		bool inside;
		const char *what, *line; /* NULL: rank 1 is not blamed of anything */
	} table[] = {
		{ PROCESS_KILLED, "rank-killed", PROCESS_ALIVE, OP - 1, false, "timed calls",
		  "Rank 1 is alive in system call clock_nanosleep: 19 calls made on communicator "
		  "0, the "
		  "last one returned; it did not make call 20 either." },
		{ PROCESS_STOPPED, "rank-stopped", PROCESS_ALIVE, OP - 1, false, "timed calls",
		  "Rank 1 is alive in system call clock_nanosleep: 19 calls made on communicator "
		  "0, the "
		  "last one returned; it did not make call 20 either." },
		{ PROCESS_KILLED, "rank-killed", PROCESS_ALIVE, OP - 2, false, "timed calls",
		  "Rank 1 is alive in system call clock_nanosleep: 18 calls made on communicator "
		  "0, the "
		  "last one returned; it did not make call 19." },
		{ PROCESS_KILLED, "rank-killed", PROCESS_STOPPED, OP - 1, false, "timed calls",
		  "Rank 1 is stopped: 19 calls made on communicator 0, the last one returned; it "
		  "did not make call 20 either." },
		{ PROCESS_KILLED, "rank-killed", PROCESS_ALIVE, OP - 1, true, "timed calls", NULL },
		{ PROCESS_KILLED, "rank-killed", PROCESS_ALIVE, OP, false, "timed calls", NULL },
		{ PROCESS_KILLED, "rank-killed", PROCESS_ALIVE, OP - 1, false,
		  "the start of a batch", NULL },
	};

	UNIT_ROWS(row, table) {
		struct evidence_rank *r;

		all_but(4, 2, OP - 1, OP, odd_count, true);
		evidence.ranks[2].view.process = row->culprit;
		evidence.ranks[2].view.status = row->culprit == PROCESS_KILLED ? SIGKILL : SIGSTOP;
		r = &evidence.ranks[1];
		play(1, row->calls, odd_count, row->inside);
		r->view.process = row->process;
		strcpy(r->view.what, row->what);
		strcpy(r->syscall, "clock_nanosleep");
		finish();
		UNIT_ALL(!strcmp(class_name(found.class, found.outcome), row->class),
			 !strcmp(found.ranks, "2"), found.seq_low == OP);
		if (row->line)
			CU_ASSERT(said(row->line))
		else
			CU_ASSERT_FALSE(mentions("did not make call"));
	}
}

/* The last call left out, or the loop left before it: the same evidence, not proved. */
UNIT_TEST(test_last_or_all, "one last call left out, or all from it on")
{
	static const struct {
		int lacking;
		const char *what; /* ranks 0 and 1 are in the last call, rank 2 is past it, here */
		const char *class, *confidence;
		bool level; /* all wait there, and no call is left to wait for */
	} table[] = {
		{ 1, "the end of the schedule", "skipped-or-early-exit", "majority", true },
		{ 1, "timed calls", "skipped-or-early-exit", "majority", false },
		{ 1, "the end of the schedule", "skipped-or-early-exit", "majority", false },
		{ 2, "timed calls", "early-exit", "proved", false },
		{ 5, "the end of the schedule", "early-exit", "proved", false },
	};
	static const char line[] =
		"Call 20 is the last that anyone made: whether the rank left out this one "
		"alone or all from it on cannot be told (skipped-call or early-exit).";

	UNIT_ROWS(row, table) {
		calls_set_up(4);
		for (int k = 0; k < 4; k++)
			play(k, k == 3 ? OP - row->lacking : OP, odd_count, k < 2 && !row->level);
		for (int k = row->level ? 0 : 2; k < 3; k++)
			strcpy(evidence.ranks[k].view.what, row->what);
		strcpy(evidence.ranks[3].view.what, "the end of the schedule");
		finish();
		UNIT_ALL(!strcmp(class_name(found.class, found.outcome), row->class),
			 !strcmp(found.ranks, "3"),
			 !strcmp(confidence_name(found.confidence), row->confidence),
			 said("The culprit is past the call: it waits in another place or has "
			      "finished."));
		if (row->lacking == 1)
			CU_ASSERT(said(line))
		else
			CU_ASSERT_FALSE(mentions("skipped-call or early-exit"));
	}
	calls_set_up(5);
	for (int k = 0; k < 5; k++)
		play(k, k >= 3 ? OP - 1 : OP, odd_count, k < 3);
	for (int k = 3; k < 5; k++)
		strcpy(evidence.ranks[k].view.what, "the end of the schedule");
	finish();
	finds("* * 3,4 majority");
	CU_ASSERT(said("The culprits are past the call: they wait in another place or have "
		       "finished."));
}

/* All idle before the same call: no rank is named, but the proved facts are printed. */
UNIT_TEST(test_uncalled, "no rank made the call")
{
	static const char uncalled[] =
		"Nobody has made call 20 of communicator 0: all 4 ranks wait outside of "
		"calls.";

	for (int odd = 0; odd <= 5; odd++) {
		struct evidence_rank *r;

		calls_set_up(4);
		for (int k = 0; k < 4; k++) {
			play(k, OP - 1, odd_count, false);
			strcpy(evidence.ranks[k].syscall, "clock_nanosleep");
			evidence.ranks[k].view.comm_state = RECORD_COMM_READY;
		}
		r = &evidence.ranks[2];
		if (odd == 1)
			r->syscall[0] = '\0';
		else if (odd == 2) /* it waits for a call that it made */
			r->view.completed--;
		else if (odd == 3)
			r->present = false;
		else if (odd == 4)
			r->view.comm_state = RECORD_COMM_INIT;
		else if (odd == 5)
			r->view.waiting = 0;
		finish();
		finds("hang unexplained - inconclusive");
		CU_ASSERT_EQUAL(mentions("Nobody has made"), odd < 2);
		if (odd == 0) {
			UNIT_ALL(said(uncalled), said("Ranks 0-3 wait in 'timed calls', in system "
						      "call clock_nanosleep."));
		} else if (odd == 1) {
			CU_ASSERT(said(uncalled));
			CU_ASSERT(said("Ranks 0,1,3 wait in 'timed calls', in system call "
				       "clock_nanosleep."));
			CU_ASSERT(said("Rank 2 waits in 'timed calls', in no system call."));
		}
	}
	/* before the first call a rank in no wait has not come to where the others are */
	calls_set_up(4);
	for (int k = 0; k < 4; k++) {
		play(k, 0, odd_count, false);
		evidence.ranks[k].view.comm_state = RECORD_COMM_READY;
	}
	evidence.ranks[2].view.waiting = 0;
	strcpy(evidence.ranks[2].syscall, "pause");
	expect(OUTCOME_HANG, "missing-call", "2", 0, 0, -1);
}

UNIT_TEST(test_process, "how a process is")
{
	static const struct {
		int process, status, calls;
		const char *line;
	} table[] = {
		{ PROCESS_EXITED, 11, 7,
		  "Rank 1 exited with 11: 7 calls made on communicator 0, " },
		{ PROCESS_KILLED, SIGKILL, 1, "Rank 1 was killed by SIGKILL: 1 call made on " },
		{ PROCESS_KILLED, SIGSEGV, 0, "Rank 1 was killed by SIGSEGV: no calls made on " },
		{ PROCESS_STOPPED, SIGSTOP, 2, "Rank 1 is stopped: 2 calls made on " },
		{ PROCESS_ALIVE, 0, 1, "Rank 1 is alive: 1 call made on " },
	};

	UNIT_ROWS(row, table) {
		all_but(4, 1, row->calls, row->calls + 1, odd_count, true);
		evidence.ranks[1].view.process = row->process;
		evidence.ranks[1].view.status = row->status;
		finish();
		UNIT_ALL(!strcmp(found.ranks, "1"), said(row->line),
			 said("3 of 4 ranks made call "));
	}
}

/* All stand in call OP; ranks of `wrong` (bits) in the one after it, if `by` < 0, else with another
 * operator. */
static void differ(int nranks, unsigned wrong, int by)
{
	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		struct record *last = &evidence.ranks[i].calls[OP - 1];

		play(i, OP, step_count, true);
		if (wrong & 1u << i && by < 0)
			last->count = step_count(OP + 1);
		else if (wrong & 1u << i)
			last->op = OP_MAX;
	}
	finish();
}

UNIT_TEST(test_difference, "what calls differ in")
{
	differ(4, 2, -1);
	UNIT_ALL(said("Call 20 of communicator 0: rank 1 made AllReduce count 1344 float sum, the "
		      "others AllReduce count 1280 float sum."),
		 said("From there on its calls are the others' moved by 1."));
	differ(5, 6, -1);
	CU_ASSERT(said("Call 20 of communicator 0: ranks 1,2 made AllReduce count 1344 "));
	CU_ASSERT(said("From there on their calls are the others' moved by 1."));
	differ(2, 2, -1);
	UNIT_ALL(!strcmp(found.ranks, "1"),
		 said("1 of 2 ranks made call 20 of communicator 0 (AllReduce count 1280 float "
		      "sum) and waits in it or behind it."),
		 said("Call 20 of communicator 0: rank 1 made AllReduce count 1344 float sum, rank "
		      "0 AllReduce "),
		 said("From there on its calls are the other's moved by 1."),
		 said("As many ranks made the one as the other; what was made before and after "
		      "decides."));
	/* nothing decides which arguments are right: no rank is named, and the words say so */
	differ(4, 12, 1);
	finds("* * - inconclusive");
	UNIT_ALL(said("Call 20 of communicator 0: ranks 2,3 made AllReduce count 1280 float max, "
		      "the others AllReduce count 1280 float sum."),
		 said("As many ranks made the one as the other: either side may be the one that is "
		      "wrong."));
}

/* Field by field, with both values; cause and fix speak of what differs: the call, or what it was given.
 * A letter a rank: which it gives another value. */
static const struct {
	const char *made, *ranks, *field, *line, *more;
} fields[] = {
	{ "..k..", "2", "kind", "kind: rank 2: Broadcast, the others: AllReduce.", "" },
	{ "..c..", "2", "count", "count: rank 2: 7, the others: 1349.", "" },
	{ "t.t..", "0,2", "dtype", "dtype: ranks 0,2: bfloat16, the others: float.", "" },
	{ "..o..", "2", "op", "op: rank 2: max, the others: sum.", "" },
	{ "..r..", "2", "root", "root: rank 2: 1, the others: none.", "" },
	{ "..x..", "2", "dtype", "dtype: rank 2: bfloat16, ", "op: rank 2: max, " }, /* two */
	/* no call has a majority, each field has; but no rank made that; nor has a field */
	{ "ot.t.", "0,1,3", "op", "dtype: ranks 1,3: bfloat16, ", "op: rank 0: max, " },
	{ "yzoto", "-", "op", "Rank 0 made call 20 ", "Rank 1 made call 20 " },
	{ "o.", "-", "op", "Rank 0 made call 20 ", "No value has a majority: " },
	{ "o.o.", "-", "op", "Ranks 0,2 made call 20 ", "Ranks 1,3 made call 20 " },
	{ ".o.o.o.o", "-", "op", "Ranks 0,2,4,6 made call 20 ", "Ranks 1,3,5,7 made call 20 " },
	{ "ooc.", "-", "count", "Ranks 0,1 made call 20 ", "Rank 2 made call 20 " },
};

UNIT_TEST(test_fields, "field by field")
{
	for (size_t k = 0; k < LENGTH(fields); k++) {
		int nranks = (int)strlen(fields[k].made);
		bool kind = fields[k].made[2] == 'k', named = fields[k].ranks[0] != '-';

		calls_set_up(nranks);
		for (int i = 0; i < nranks; i++) {
			struct record *r = &evidence.ranks[i].calls[OP - 1];
			char c = fields[k].made[i];

			play(i, OP, odd_count, true);
			r->kind = c == 'k' ? CALL_BROADCAST : CALL_ALL_REDUCE;
			r->count = strchr("cyz", c) ? 7 : r->count;
			r->dtype = strchr("txyz", c) ? DT_BFLOAT16 : DT_FLOAT;
			r->op = strchr("oxz", c) ? OP_MAX : OP_SUM;
			r->peer = c == 'r' ? 1 : -1;
		}
		expect(OUTCOME_HANG, "mismatch", fields[k].ranks, OP, OP, OP);
		CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence),
				       named ? "majority" : "inconclusive");
		CU_ASSERT_STRING_EQUAL(found.field, fields[k].field);
		CU_ASSERT(said(fields[k].line) && said(fields[k].more));
		CU_ASSERT(named || !mentions("ranks made call")); /* the others' */
		CU_ASSERT_EQUAL(strstr(meaning_of(&found)->cause, "different calls") != NULL, kind);
		CU_ASSERT_EQUAL(strstr(meaning_of(&found)->fix, "branch") != NULL, kind);
	}
}

UNIT_TEST(test_class_names, "names of classes")
{
	static const char *const known[] = { "missing-call", "unexplained", "rank-died",
					     "wrong-data", "ok" };
	static const char *const unknown[] = { "", "nosuchclass", "missing", "missing-call ",
					       "rank" };
	char list[600];

	for (size_t i = 0; i < LENGTH(known); i++)
		UNIT_ALL(class_known(known[i]), !class_known(unknown[i]));
	class_list(list, sizeof(list));
	for (char *name = strtok(list, " "); name; name = strtok(NULL, " "))
		CU_ASSERT_TRUE(class_known(name));
}

/* A rank in no system call runs: that is no want of anything. */
UNIT_TEST(test_running, "one that runs")
{
	all_but(3, 1, OP - 1, OP, step_count, true);
	evidence.ranks[1].state = 'R';
	evidence.ranks[1].cpu_share = 1;
	evidence.ranks[1].syscall[0] = '\0';
	finish();
	CU_ASSERT(said("Rank 1 is alive, running 100 % of the time: 19 calls made on "));
}

/* The first lines of what is written of `ranks`. */
UNIT_TEST(test_postmortem_names, "who is named in a post-mortem")
{
	static const struct {
		const char *ranks, *title, *cause;
	} table[] = {
		{ "-", ", no rank is named\n", "\nNo rank is named, confidence: " },
		{ "3", ", rank 3\n", "\nRank 3, confidence: " },
		{ "1,3", ", ranks 1,3\n", "\nRanks 1,3, confidence: " },
	};

	UNIT_ROWS(row, table) {
		char *text;

		calls_set_up(4);
		judge();
		snprintf(found.ranks, sizeof(found.ranks), "%s", row->ranks);
		text = UNIT_PRINTED(f,
				    postmortem_print(f, &found, &evidence, "/nonexistent", true));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, row->title));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, row->cause));
		free(text);
		evidence_release(&evidence);
	}
}
