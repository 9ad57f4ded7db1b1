/* test_diagnose.c: synthetic evidence of every class, culprit and job size, and what must not
 * be concluded. Calls left out or added are in test_diagnose_shift.c. */
#include "calls_played.h"

/* Rows leave out what is NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* How the culprit's process is, and what must be said of it. */
static const struct arrival {
	const char *class;
	enum outcome outcome;
	int process, status;
	char state;
	const char *syscall;
	double share;
	uint32_t phase;
	const char *what; /* NULL: as the others */
} arrivals[] = {
	{ "missing-call", OUTCOME_HANG, PROCESS_ALIVE, 0, 'S', "clock_nanosleep", 0 },
	{ "missing-call", OUTCOME_HANG, PROCESS_ALIVE, 0, 'S', "pause", 0 },
	{ "host-blocked", OUTCOME_HANG, PROCESS_ALIVE, 0, 'S', "futex", 0 },
	{ "host-blocked", OUTCOME_HANG, PROCESS_ALIVE, 0, 'S', "read", 0 },
	{ "host-busy", OUTCOME_HANG, PROCESS_ALIVE, 0, 'R', "", 0.97 },
	{ "rank-killed", OUTCOME_DIED, PROCESS_KILLED, SIGKILL, 0, "", -1 },
	{ "rank-crashed", OUTCOME_DIED, PROCESS_KILLED, SIGSEGV, 0, "", -1 },
	{ "rank-exited", OUTCOME_DIED, PROCESS_EXITED, 0, 0, "", -1 },
	{ "rank-stopped", OUTCOME_HANG, PROCESS_STOPPED, SIGSTOP, 'T', "", 0 },
	{ "rank-stopped", OUTCOME_HANG, PROCESS_ALIVE, 0, 'T', "", 0 },
	{ "early-exit", OUTCOME_HANG, PROCESS_ALIVE, 0, 'R', "", 1, PHASE_FINALISE,
	  "the other ranks' end" },
	{ "early-exit", OUTCOME_HANG, PROCESS_ALIVE, 0, 'S', "poll", 0, PHASE_TIMED,
	  "the start of a batch" },
};

static void apply(const struct arrival *a, int rank)
{
	struct evidence_rank *r = &evidence.ranks[rank];

	r->view.process = a->process;
	r->view.status = a->status;
	r->state = a->state;
	strcpy(r->syscall, a->syscall);
	r->cpu_share = a->share;
	if (!a->what)
		return;
	r->view.phase = a->phase;
	strcpy(r->view.what, a->what);
}

/* `ahead`: calls that the others have queued behind theirs (nccl), 0: inside it (mpi). */
static void arrival_case(const struct arrival *a, int nranks, uint32_t set, int ahead)
{
	/* who has left a loop and lacks one known call may have left out that one alone */
	bool left = strcmp(a->class, "early-exit") == 0, either = left && !ahead;
	char names[64];

	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		bool culprit = set & 1u << i;

		play(i, culprit ? OP - 1 : OP + ahead, odd_count, !culprit && !ahead);
		if (ahead)
			evidence.ranks[i].view.completed = OP - 3;
		if (culprit)
			apply(a, i);
	}
	name_set(set, names);
	expect(a->outcome, either ? "skipped-or-early-exit" : a->class, names, OP, OP, OP);
	/* of two, the other one may have gone on too long */
	CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence), left && nranks == 2
									  ? "inconclusive"
								  : either ? "majority"
									   : "proved");
}

UNIT_TEST(test_arrivals, "who did not arrive, and how its process is")
{
	uint32_t sets[4];

	for (size_t k = 0; k < LENGTH(arrivals); k++)
		for (size_t s = 0; s < 4; s++) {
			size_t n = culprit_sets(job_sizes[s], sets);

			for (size_t i = 0; i < n; i++) {
				arrival_case(&arrivals[k], job_sizes[s], sets[i], 0);
				arrival_case(&arrivals[k], job_sizes[s], sets[i], 12);
			}
		}
}

/* Ranks whose calls NCCL itself told, asleep or busy: they may be in one that is never told. A
 * dead one is in none. Three in one set-up left the fourth to blame (an H200, local_comm). */
UNIT_TEST(test_untold, "a call that NCCL does not tell")
{
	static const struct {
		int nranks, lack, process, status;
		char state;
		const char *wanted;
	} cases[] = { { 3, 1, PROCESS_ALIVE, 0, 'S', "hang missing-call 1 majority" },
		      { 2, 1, PROCESS_ALIVE, 0, 'S', "hang missing-call 1 majority" },
		      { 4, 1, PROCESS_ALIVE, 0, 'R', "hang host-busy 1 majority" },
		      { 4, 3, PROCESS_ALIVE, 0, 'R', "hang host-busy 1,2,3 inconclusive" },
		      { 3, 1, PROCESS_KILLED, SIGKILL, 0, "died rank-killed 1 proved" } };

	UNIT_ROWS(c, cases) {
		struct record_header told = { .told = 1, .preloaded = 1 };

		calls_set_up(c->nranks);
		for (int i = 0; i < c->nranks; i++) {
			bool lacks = i >= 1 && i <= c->lack;

			play(i, lacks ? OP - 1 : OP, odd_count, !lacks);
			if (!lacks)
				continue;
			evidence.ranks[i].view.process = c->process;
			evidence.ranks[i].view.status = c->status;
			evidence.ranks[i].state = c->state;
			evidence.ranks[i].cpu_share = c->state == 'R' ? 0.99 : 0;
			evidence.ranks[i].recorder = &told;
		}
		judge();
		for (int i = 0; i < c->nranks; i++)
			evidence.ranks[i].recorder = NULL;
		finds(c->wanted);
		CU_ASSERT_EQUAL(c->process == PROCESS_ALIVE,
				found.nnotes > 0 &&
					strstr(found.notes[found.nnotes - 1], "without elements"));
		evidence_release(&evidence);
	}
}

/* A rank that lost a connection left first: the other side may be the cause, or what is between
 * (an H200: sixty set-ups). */
UNIT_TEST(test_lost_peer, "the first to leave lost a peer")
{
	static const struct {
		const char *said, *wanted;
	} cases[] = {
		{ "[rank2]: socketPollConnect: connect to 127.0.0.1<60751> returned Connection "
		  "refused, "
		  "exceeded error retry count after 35 attempts",
		  "died error - inconclusive" },
		{ "train.py:9: ncclRemoteError: socketProgress: Connection closed by remote peer",
		  "died error - inconclusive" },
		{ "train.py:9: OperationalError: data base: Connection refused",
		  "died rank-exited 2 proved" },
		{ "train.py:9: ValueError: loss is NaN", "died rank-exited 2 proved" },
	};

	UNIT_ROWS(c, cases) {
		struct record_header recorder = { .preloaded = 1 };

		all_but(4, 2, OP - 1, OP, odd_count, true);
		evidence.ranks[2].view.process = PROCESS_EXITED;
		evidence.ranks[2].view.status = 1;
		evidence.ranks[2].recorder = &recorder;
		snprintf(evidence.ranks[2].said, sizeof(evidence.ranks[2].said), "%s", c->said);
		judge();
		evidence.ranks[2].recorder = NULL;
		finds(c->wanted);
		evidence_release(&evidence);
	}
}

/* Two ranks end alike: which left first is a note, and its words are quoted, where observers can tell
 * the two apart. */
UNIT_TEST(test_alike, "two ends alike: the first is a note")
{
	static const struct {
		uint64_t left[2]; /* ms, of ranks 1 and 3 */
		const char *note;
	} cases[] = {
		{ { 500, 400 }, "Ranks 1,3 end alike, rank 3 first." },
		{ { 400, 500 }, "Ranks 1,3 end alike, rank 1 first." },
		{ { 410, 400 }, "Ranks 1,3 end alike." },
		{ { 0, 400 }, "Ranks 1,3 end alike." },
	};

	UNIT_ROWS(c, cases) {
		struct record_header recorder = { .preloaded = 1 };

		all_but(4, 2, OP - 1, OP, odd_count, true);
		for (int i = 0; i < 2; i++) {
			struct evidence_rank *r = &evidence.ranks[2 * i + 1];

			r->view.process = PROCESS_EXITED;
			r->view.status = 1;
			r->recorder = &recorder;
			r->left_ns = c->left[i] * 1000000;
			snprintf(r->said, sizeof(r->said),
				 "train.py:9: ncclRemoteError: "
				 "socketProgress: Connection closed");
		}
		judge();
		finds("died error - inconclusive");
		CU_ASSERT_STRING_EQUAL(found.notes[0], c->note);
		evidence.ranks[1].recorder = evidence.ranks[3].recorder = NULL;
		evidence_release(&evidence);
	}
}

/* A rank that its own call's partner let go a call further leaves the other one waiting for its
 * device: that one is in no loop of its own, though its process runs (an alltoallv whose counts
 * disagree, two H200). */
UNIT_TEST(test_on_device, "a rank on its device")
{
	calls_set_up(2);
	play(0, OP, odd_count, false);
	play(1, OP + 1, odd_count, false);
	evidence.ranks[0].view.completed = OP - 1;
	evidence.ranks[1].view.completed = OP;
	evidence.ranks[0].view.device_wait = evidence.ranks[1].view.device_wait =
		RECORD_DEVICE_AWAITED;
	evidence.ranks[0].state = 'R';
	evidence.ranks[0].cpu_share = 0.97;
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, OP);
}

/* Two lack the call: one asleep, one in a loop, which may be for the first. A rank inside init
 * of another communicator is kept there. */
UNIT_TEST(test_not_proved, "who waits elsewhere, or may")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++)
		play(i, i < 2 ? OP : OP - 1, odd_count, i < 2);
	evidence.ranks[3].state = 'R';
	evidence.ranks[3].cpu_share = 0.97;
	expect(OUTCOME_HANG, "missing-call majority", "2,3", OP, OP, OP);

	/* Two of eight against one, and five who have not come to it. */
	calls_set_up(8);
	for (int i = 0; i < 8; i++) {
		play(i, i < 3 ? OP : OP - 1, odd_count, i < 3);
		if (i < 2)
			evidence.ranks[i].calls[OP - 1].count++;
	}
	finish();
	CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence), "inconclusive");

	/* An error of the library ends all, wherever they are: one made fewer calls. */
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		play(i, i == 2 ? OP - 7 : OP, odd_count, false);
		v->process = PROCESS_EXITED;
		v->status = v->outcome = OUTCOME_ERROR;
		v->error_code = -EIO;
		v->overdue = v->waiting = 0;
	}
	finish();
	CU_ASSERT_STRING_NOT_EQUAL(class_name(found.class, found.outcome), "early-exit");
	CU_ASSERT_STRING_NOT_EQUAL(confidence_name(found.confidence), "proved");

	all_but(4, 2, OP - 1, OP, odd_count, true);
	evidence.ranks[2].recorder = calloc(1, sizeof(*evidence.ranks[2].recorder));
	evidence.ranks[2].recorder->inits[1].state = RECORD_COMM_INIT;
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, OP);
}

/* All made the same calls, and a rank that stopped or died keeps the others from completing call
 * OP - 1: over sockets it may be done with that itself (`own` calls) while a thread of its own
 * still owes the others data. */
static void same_calls_case(const struct arrival *a, int nranks, uint32_t set, int own)
{
	bool made = own < OP - 1;
	char names[64];

	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		bool culprit = set & 1u << i;

		play(i, OP - 1, odd_count, false);
		evidence.ranks[i].view.completed = (uint64_t)(culprit ? own : OP - 2);
		if (culprit)
			apply(a, i);
	}
	name_set(set, names);
	expect(a->outcome, a->class, names, own + 1, own + 1, OP - 1);
	/* of two that crashed in a call the one may have done so because of the other */
	CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence),
			       made && (set & (set - 1)) && a->status == SIGSEGV ? "inconclusive"
										 : "proved");
	CU_ASSERT_STRING_EQUAL(found.field, made ? "completion" : "call");
	CU_ASSERT_STRING_EQUAL(found.theirs, made ? "made, cannot complete" : "no call");
}

/* Rank 1 is held in some way, in the call that the others wait in or before it, and rank 3 lacks
 * that call or does not. Stopped is what does not run at all. */
UNIT_TEST(test_held, "stopped beside another one that lacks the call")
{
	static const struct {
		char state;
		bool ran, stands, lacks;
		const char *finds;
	} table[] = {
		{ 'T', true, true, true, "hang missing-call 3 proved" },
		{ 'T', true, true, false, "hang unexplained - inconclusive" },
		{ 'T', true, false, false, "hang missing-call 1 proved" },
		{ 'T', false, true, true, "hang missing-call 3 proved" },
		{ 'T', false, true, false, "hang rank-stopped 1 proved" },
		{ 'T', false, false, true, "hang rank-stopped 1 proved" },
		{ 't', true, true, false, "hang unexplained - inconclusive" },
		{ 't', false, true, true, "hang missing-call 3 proved" },
		{ 'F', true, true, true, "hang missing-call 3 proved" },
		{ 'F', false, false, true, "hang rank-frozen 1 proved" },
	};

	UNIT_ROWS(row, table) {
		struct evidence_rank *r;

		all_play(4, OP, odd_count, true);
		if (row->lacks)
			play(3, OP - 1, odd_count, false);
		if (!row->stands)
			play(1, OP - 1, odd_count, false);
		r = &evidence.ranks[1];
		r->state = row->state;
		r->view.process = row->state == 'T' ? PROCESS_STOPPED : PROCESS_ALIVE;
		r->view.ran = row->ran;
		finish();
		finds(row->finds);
	}
}

UNIT_TEST(test_same_calls, "stopped or dead after the calls that all made")
{
	uint32_t sets[4];

	UNIT_ROWS(row, arrivals) {
		if (strncmp(row->class, "rank-", 5) != 0)
			continue;
		for (size_t s = 0; s < 4; s++) {
			size_t n = culprit_sets(job_sizes[s], sets);

			for (size_t i = 0; i < n; i++) {
				same_calls_case(row, job_sizes[s], sets[i], OP - 1);
				same_calls_case(row, job_sizes[s], sets[i], OP - 2);
			}
		}
	}
}

/* A broadcast lets its root go, and an exchange the ranks that are not beside the culprit: those
 * wait elsewhere by right. A rank that never came to the call is not past it. */
UNIT_TEST(test_some_let_go, "calls that let some ranks go")
{
	static const struct {
		const char *class, *what;
		char state;
		bool inside; /* is one other rank still in the call? */
	} table[] = {
		{ "missing-call", "timed calls", 'S', true },
		{ "host-busy", "timed calls", 'R', true },
		{ "missing-call", "timed calls", 'S', false },
		{ "skipped-or-early-exit", "the slowest rank's figures", 'R', true },
		{ "skipped-or-early-exit", "the end of the schedule", 'R', true },
	};

	UNIT_ROWS(row, table)
		for (int culprit = 0; culprit < 4; culprit++) {
			struct evidence_rank *r;
			char name[16];

			calls_set_up(4);
			r = &evidence.ranks[culprit];
			for (int i = 0; i < 4; i++) {
				bool inside = row->inside && i == (culprit + 1) % 4;

				play(i, i == culprit ? OP - 1 : OP, odd_count, inside);
				if (i != culprit && !inside)
					strcpy(evidence.ranks[i].view.what,
					       "the slowest rank's figures");
			}
			strcpy(r->view.what, row->what);
			r->state = row->state;
			r->cpu_share = row->state == 'R';
			sprintf(name, "%d", culprit);
			expect(OUTCOME_HANG, row->class, name, OP, OP, OP);
		}
}

UNIT_TEST(test_mismatch, "other arguments")
{
	all_play(4, CALLS, odd_count, false);
	evidence.ranks[3].calls[OP - 1].dtype = DT_INT32;
	for (int i = 0; i < 4; i++) {
		evidence.ranks[i].view.process = PROCESS_EXITED;
		evidence.ranks[i].view.outcome = 0;
	}
	expect(OUTCOME_DIVERGED, "mismatch", "3", OP, OP, -1);
	UNIT_ALL(!strcmp(found.field, "dtype"), strstr(found.theirs, "int32") != NULL,
		 strstr(found.majority, "float") != NULL);
}

/* Messages that fit into buffers let everybody come to the end, with a call less on one rank. */
UNIT_TEST(test_fewer_calls, "fewer calls, and nobody waits")
{
	for (int wrong = 0; wrong <= 1; wrong++)
		for (int culprit = 0; culprit < 4; culprit++) {
			char name[16];

			calls_set_up(4);
			for (int i = 0; i < 4; i++) {
				struct rank_view *v = &evidence.ranks[i].view;

				play(i, i == culprit ? OP - 1 : CALLS, odd_count, false);
				v->process = PROCESS_EXITED;
				v->outcome = v->status = wrong ? OUTCOME_WRONG_DATA : OUTCOME_OK;
				v->overdue = v->waiting = 0;
			}
			sprintf(name, "%d", culprit);
			expect(wrong ? OUTCOME_WRONG_DATA : OUTCOME_DIVERGED, "early-exit", name,
			       OP, OP, -1);
		}
}

UNIT_TEST(test_nothing_wrong, "nothing wrong")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) { /* at different points, no rank overdue: late is no fault */
		play(i, CALLS - i, odd_count, i == 0);
		evidence.ranks[i].view.overdue = 0;
	}
	expect(OUTCOME_OK, "ok", "-", -1, -1, -1);
	calls_set_up(3);
	for (int i = 0; i < 3; i++) {
		play(i, CALLS, odd_count, false);
		evidence.ranks[i].view.process = PROCESS_EXITED;
		evidence.ranks[i].view.outcome = 0;
		evidence.ranks[i].view.overdue = 0;
	}
	expect(OUTCOME_OK, "ok", "-", -1, -1, -1);
}

UNIT_TEST(test_unexplained, "unexplained")
{
	all_play(4, OP, odd_count, true); /* all in the same call */
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, OP);
	calls_set_up(4); /* no call at all */
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, -1);
	calls_set_up(4); /* the one of which nothing is known is not named */
	for (int i = 0; i < 3; i++)
		play(i, OP, odd_count, true);
	evidence.ranks[3].present = false;
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, OP);
	CU_ASSERT_PTR_NOT_NULL(strstr(found.notes[found.nnotes - 1], "Nothing is known"));
	all_play(4, OP, odd_count,
		 true); /* one whose newest record is torn: where it stands is not known */
	evidence.ranks[2].ncalls--;
	expect(OUTCOME_HANG, "unexplained", "-", -1, -1, OP);
}

/* An unknown rank may be a culprit too, or instead: nothing is proved then. */
UNIT_TEST(test_absent_ranks, "absent ranks")
{
	for (int absent = 0; absent <= 2; absent++) {
		all_but(4, 1, OP - 1, OP, odd_count, true);
		for (int i = 0; i < absent; i++)
			evidence.ranks[3 - i].present = false;
		finish();
		UNIT_ALL(!strcmp(class_name(found.class, found.outcome), "missing-call"),
			 !strcmp(found.ranks, "1"),
			 !strcmp(confidence_name(found.confidence), absent == 0 ? "proved"
								    : absent == 1
									    ? "majority"
									    : "inconclusive"));
	}
	/* the others are well: that says nothing of the run */
	for (int ended = 0; ended <= 2; ended++) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			play(i, OP, odd_count, !ended);
			evidence.ranks[i].view.overdue = 0;
			evidence.ranks[i].view.process = ended ? PROCESS_EXITED : PROCESS_ALIVE;
			evidence.ranks[i].view.outcome = ended ? OUTCOME_OK : -1;
		}
		evidence.ranks[3].present = ended == 2;
		evidence.ranks[3].ncalls -= ended == 2; /* torn */
		expect(OUTCOME_INTERNAL, "unexplained inconclusive", "-", -1, -1, -1);
	}
	all_but(4, 1, OP - 1, OP, odd_count, true); /* and nothing says that these were all */
	evidence.uncounted = true;
	finish();
	UNIT_ALL(!strcmp(found.ranks, "1"), !strcmp(confidence_name(found.confidence), "majority"),
		 strstr(found.notes[found.nnotes - 1], "is not known: at least 4") != NULL);
}

/* More processes than GPUs: those that stand aside wait for the end and never make a call. */
UNIT_TEST(test_surplus_processes, "surplus processes")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		play(i, i >= 2 ? 0 : i == 1 ? OP - 1 : OP, odd_count, i == 0);
		if (i < 2)
			continue;
		v->phase = PHASE_SPARE;
		v->overdue = 0;
		strcpy(v->what, "the other ranks' end");
	}
	expect(OUTCOME_HANG, "missing-call", "1", OP, OP, OP);
}

UNIT_TEST(test_hostile_calls, "hostile records")
{
	calls_set_up(3); /* call numbers at the end of their range */
	for (int i = 0; i < 3; i++) {
		play(i, CALLS, odd_count, false);
		for (uint64_t k = 0; k < CALLS; k++)
			evidence.ranks[i].calls[k].seq = UINT64_MAX - CALLS + k;
	}
	finish();
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "unexplained");
	srand(7);
	for (int round = 0; round < unit_times(300); round++) {
		calls_set_up(3);
		for (int i = 0; i < 3; i++) {
			unsigned char *bytes = (unsigned char *)evidence.ranks[i].calls;

			play(i, CALLS, odd_count, false);
			for (int k = 0; k < 1 + round; k++)
				bytes[(size_t)rand() % (CALLS * sizeof(struct record))] =
					(unsigned char)rand();
		}
		finish();
		UNIT_ALL(found.outcome == OUTCOME_HANG, meaning_of(&found)->cause[0]);
	}
}
