/* test_rules.c: the table of rules and the driver: a rule that says no leaves nothing behind. */

#include "calls_played.h"
#include "find/plans.h"

UNIT_TEST(test_rows, "every row is complete")
{
	for (size_t i = 0; i < rules_count; i++) {
		const struct rule *r = &rules[i];

		CU_ASSERT_FATAL(r->f != NULL);
		CU_ASSERT(r->outcomes >= ON_HANG && r->outcomes <= ON_ANY);
		CU_ASSERT(r->comms >= COMMS_EACH && r->comms <= COMMS_NONE);
		CU_ASSERT_FALSE((r->flags & RULE_STRICT) && r->comms != COMMS_EACH);
		CU_ASSERT_FALSE((r->flags & RULE_REMARK) && (r->flags & RULE_DIVERGED));
		for (size_t k = 0; k < i; k++)
			CU_ASSERT(r->f != rules[k].f);
	}
}

/* The last two rows answer whatever is left, a hang or not, and no other row stands behind one that
 * always says yes. A hang that cannot be looked at, for want of memory, stays unexplained. */
UNIT_TEST(test_last, "the rows that always answer are the last")
{
	const struct rule *last = &rules[rules_count - 1];

	UNIT_ALL((int)last->outcomes == (ON_ANY & ~ON_HANG), last->comms == COMMS_NONE,
		 !(last->flags & RULE_REMARK), last->f == rule_reported,
		 rules[rules_count - 2].f == rule_unexplained,
		 rules[rules_count - 2].outcomes == ON_HANG);
}

static bool no_is_seen; /* was there anything of an earlier finding in a later one? */

static bool is_blank(const struct finding *f)
{
	size_t marked = f->culprits.n;

	for (int i = 0; i < f->culprits.nranks; i++)
		marked += f->culprits.in[i];
	return marked == 0 && f->answer.class == CLASS_OUTCOME && f->answer.nnotes == 0 &&
	       f->answer.comm == -1 && f->answer.seq_low == -1 && f->answer.seq_high == -1 &&
	       f->answer.hang_seq == -1 && !f->answer.field[0] && !f->answer.theirs[0] &&
	       !f->answer.majority[0] && !f->answer.hosts[0] && !f->answer.pair[0] &&
	       f->answer.confidence == CONFIDENCE_INCONCLUSIVE && f->reasons == 0;
}

/* Writes all over its finding. */
static void scribble(const struct rule_ctx *ctx, struct finding *f)
{
	no_is_seen = no_is_seen || !is_blank(f);
	f->answer.class = CLASS_MISMATCH;
	f->answer.confidence = CONFIDENCE_PROVED;
	f->answer.comm = 3;
	f->answer.seq_low = f->answer.seq_high = f->answer.hang_seq = 7;
	strcpy(f->answer.field, "count");
	strcpy(f->answer.theirs, "theirs");
	strcpy(f->answer.majority, "ours");
	strcpy(f->answer.hosts, "node2");
	strcpy(f->answer.pair, "0>1");
	f->reasons = 1;
	for (int i = 0; i < ctx->evidence->nranks; i++)
		rank_set_add(&f->culprits, i);
	finding_note(f, "scribbled");
}

static bool says_no(const struct rule_ctx *ctx, struct finding *f)
{
	scribble(ctx, f);
	return false;
}

static bool says_yes(const struct rule_ctx *ctx, struct finding *f)
{
	scribble(ctx, f);
	return true;
}

static bool names_one(const struct rule_ctx *ctx, struct finding *f)
{
	no_is_seen = no_is_seen || !is_blank(f);
	f->answer.class = CLASS_BUSY;
	rank_set_add(&f->culprits, 1);
	finding_note(f, "one");
	return true;
}

static void walk(const struct rule *table, size_t n)
{
	all_play(3, OP, odd_count, true);
	no_is_seen = false;
	calls_index();
	rules_walk(table, n, &evidence, &found);
	evidence_release(&evidence);
	CU_ASSERT_FALSE(no_is_seen);
}

/* Rows that say no, wherever they look, leave nothing: not for the next row, not in the diagnosis. */
UNIT_TEST(test_no, "what says no leaves nothing")
{
	static const struct rule table[] = {
		{ says_no, ON_ANY, COMMS_EACH, 0 },
		{ says_no, ON_ANY, COMMS_NONE, RULE_DIVERGED },
		{ says_no, ON_ANY, COMMS_INIT, RULE_REMARK },
		{ names_one, ON_ANY, COMMS_FIRST, 0 },
	};

	walk(table, LENGTH(table));
	UNIT_ALL(found.outcome == OUTCOME_HANG, found.class == CLASS_BUSY);
	finds("* * 1 inconclusive");
	UNIT_ALL(found.comm == -1 && found.seq_low == -1 && found.hang_seq == -1, found.nnotes == 1,
		 !strcmp(found.notes[0], "one"));

	walk(table, 3); /* no rule says yes */
	UNIT_ALL(found.class == CLASS_UNEXPLAINED, !strcmp(found.ranks, "-"),
		 found.comm == -1 && found.seq_low == -1 && found.nnotes == 0);
}

/* Only the notes of a remark are kept; a row for other outcomes is not asked; the first
 * row that says yes is the last one asked. */
UNIT_TEST(test_yes, "remarks, outcomes, the first yes")
{
	static const struct rule table[] = {
		{ says_yes, ON_DIED | ON_ERROR | ON_OTHER, COMMS_EACH, 0 },
		{ says_yes, ON_HANG, COMMS_EACH, RULE_STRICT },
		{ says_yes, ON_HANG, COMMS_EACH, RULE_REMARK },
		{ names_one, ON_HANG, COMMS_EACH, RULE_DIVERGED },
		{ says_yes, ON_HANG, COMMS_EACH, 0 },
	};

	walk(table, LENGTH(table));
	UNIT_ALL(found.outcome == outcome_worse(OUTCOME_HANG, OUTCOME_DIVERGED),
		 found.class == CLASS_BUSY, !strcmp(found.ranks, "1"), found.comm == -1,
		 found.nnotes == 2, !strcmp(found.notes[0], "scribbled"),
		 !strcmp(found.notes[1], "one"));
}

/* The ranks have all ended, `wrong` with wrong data; `kinds`: each one's sends and receives, to and from
 * the next one, or for a capital letter the one before. */
static void end_with(int nranks, const char *const *kinds, int wrong)
{
	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];
		int n = (int)strlen(kinds[i]);

		play(i, n, odd_count, false);
		for (int k = 0; k < n; k++) {
			r->calls[k].kind = strchr("sS", kinds[i][k]) ? CALL_SEND : CALL_RECV;
			if (r->calls[k].kind == CALL_RECV)
				r->calls[k].count = odd_count(1);
			r->calls[k].op = -1;
			r->calls[k].peer = (i + (kinds[i][k] < 'a' ? nranks - 1 : 1)) % nranks;
		}
		r->view.process = PROCESS_EXITED;
		r->view.outcome = r->view.status = i == wrong ? OUTCOME_WRONG_DATA : OUTCOME_OK;
		r->view.overdue = r->view.waiting = 0;
	}
}

/* The rule about missing calls finds a rank behind, places it, and then says no: two sides differ
 * before, or the rank behind waits for a partner. Wrong data are then no one else's, and nowhere. */
UNIT_TEST(test_missing_says_no, "the missing-call rule says no")
{
	static const char *const split[] = { "sssssss", "ssssrs" };
	static const char *const excused[] = { "sr", "s", "ss", "sr" };

	for (int i = 0; i < 2; i++) {
		end_with(i ? 4 : 2, i ? excused : split, 0);
		evidence.ranks[1].view.completed--;
		finish();
		UNIT_ALL(found.outcome == OUTCOME_WRONG_DATA, found.class == CLASS_OUTCOME,
			 !strcmp(found.ranks, "0"),
			 found.comm == -1 && found.seq_low == -1 && found.seq_high == -1,
			 !strcmp(found.field, ""), found.nnotes == 0);
	}
}

static void leaves_nothing(struct evidence_rank *r)
{
	for (int i = 0; i < evidence.nranks; i++)
		evidence.ranks[i].view.device_wait = RECORD_DEVICE_AWAITED;
	r->present = false;
}

/* How rank 1 of 3 is, which ends after OP - 1 of OP calls; the others wait in call OP, or at init. */
struct deed {
	void (*calls)(struct evidence_rank *rank); /* what else it does with its calls */
	int process, status, outcome, error_code;
	char state;
	const char *syscall;
	double share;
	enum phase phase;
	bool init; /* no rank is further than that */
	uint32_t comm_state, oom_kills, lost;
	int init_nranks;
	uint64_t netns;
};

static void skips(struct evidence_rank *r)
{
	for (int k = OP / 2; k < OP - 1; k++)
		r->calls[k].count = odd_count((uint64_t)k + 2);
	r->calls[OP - 2].state = RECORD_ISSUING;
	r->view.completed--;
}

static void repeats(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	for (int k = OP / 2; k < OP; k++)
		r->calls[k].count = odd_count((uint64_t)k);
}

static void leaves(struct evidence_rank *r)
{
	play(1, OP - 2, odd_count, false);
	r->cpu_share = -1;
}

static void mistakes(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	r->calls[OP - 1].dtype = DT_INT32;
}

static void crosses(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	r->calls[OP / 2].count = odd_count(OP / 2 + 2);
	r->calls[OP / 2 + 1].count = odd_count(OP / 2 + 1);
}

/* All send to the next rank and receive from the one before, in turn; rank 1 without its call `lacking` (0:
 * with all), and in the last one. */
static void exchange(uint64_t lacking)
{
	for (int i = 0; i < 3; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		play(i, OP, odd_count, true);
		for (uint64_t k = 0; k < OP; k++) {
			uint64_t step = k + (i == 1 && lacking && k + 1 >= lacking);

			r->calls[k].kind = step % 2 ? CALL_RECV : CALL_SEND;
			r->calls[k].op = OP_NONE;
			r->calls[k].peer = (i + (step % 2 ? 2 : 1)) % 3;
			r->calls[k].count = odd_count(step / 2);
		}
	}
}

static void lacks_one(struct evidence_rank *r)
{
	exchange(OP / 2);
}

static void sends_less(struct evidence_rank *r)
{
	exchange(0);
	r->calls[OP - 2].count--;
}

static void sends_elsewhere(struct evidence_rank *r)
{
	exchange(0);
	r->calls[OP - 2].peer = 0;
	r->view.completed = evidence.ranks[2].view.completed = OP - 2;
}

static void sends_first(struct evidence_rank *r)
{
	exchange(0);
	for (int i = 0; i < 3; i++)
		evidence.ranks[i].ncalls = evidence.ranks[i].view.issued = OP - 1;
	r->calls[OP - 2].state = evidence.ranks[0].calls[OP - 2].state = RECORD_ISSUING;
	r->calls[OP - 2].peer = 0;
	r->view.completed = evidence.ranks[0].view.completed = OP - 2;
}

static void launches_less(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	for (int i = 0; i < 3; i++)
		for (size_t k = 0; k < OP; k++)
			evidence.ranks[i].calls[k].replays = 1;
	r->calls[OP / 2].replays = 0;
	r->view.last = r->calls[OP - 1];
}

/* Its call is on communicator 1, of which each made one before. */
static void swaps(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	for (int i = 0; i < 3; i++)
		evidence.ranks[i].calls[0].comm = 1;
	r->calls[OP - 1].comm = 1;
	r->calls[OP - 1].seq = 2;
}

static void does_as_all(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
}

/* texts[i] belongs to rank i; NULL: not known. */
static void give_settings(const char *const *texts)
{
	for (int i = 0; i < evidence.nranks; i++) {
		struct record_header *h = aligned_alloc(64, sizeof(*h));

		memset(h, 0, sizeof(*h));
		snprintf(h->settings, sizeof(h->settings), "%s", texts[i] ? texts[i] : "");
		h->settings_hash = texts[i] != NULL;
		evidence.ranks[i].recorder = h;
	}
}

static void is_set_otherwise(struct evidence_rank *r)
{
	does_as_all(r);
	give_settings((const char *[]){ "", "NCCL_ALGO=Tree\n", "" });
}

/* The others' has returned. */
static void comes_not_out(struct evidence_rank *r)
{
	strcpy(evidence.backend, "nccl");
	for (int i = 0; i < 3; i++) {
		play(i, OP, odd_count, false);
		evidence.ranks[i].view.completed = OP - 1;
		evidence.ranks[i].calls[OP - 1].state = RECORD_RETURNED;
	}
	r->calls[OP - 1].state = RECORD_CLOSING;
}

/* Its device has not come to the last call, which those of the others wait in. */
static void stands_ahead(struct evidence_rank *stuck)
{
	play(1, OP, odd_count, false);
	for (int i = 0; i < 3; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->view.device_wait = RECORD_DEVICE_AWAITED;
		r->view.completed = OP - 1;
		r->calls[OP - 1].state = RECORD_RETURNED;
		r->times = calloc(OP, sizeof(*r->times));
		for (int k = 0; k < OP; k++)
			r->times[k] = (struct call_times){ 5, k < OP - 1 };
		if (r == stuck)
			r->times[OP - 1].start_ns = 0;
	}
}

/* Its send buffer is not what it must be; all end with wrong data. */
static void corrupts(struct evidence_rank *r)
{
	play(1, OP, odd_count, false);
	give_settings((const char *[]){ NULL, NULL, NULL });
	r->recorder->wrongs = 1;
	r->recorder->wrong[0] = (struct record_wrong){ .from = 1, .culprit = -1, .sent = 1 };
	for (int i = 0; i < 3; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		v->completed = v->issued;
		v->process = PROCESS_EXITED;
		v->outcome = v->status = OUTCOME_WRONG_DATA;
	}
}

/* No rank of a preloaded program is in a call, and it stands in another line than the others. */
static void stands_elsewhere(struct evidence_rank *r)
{
	play(1, OP, odd_count, true);
	give_settings((const char *[]){ NULL, NULL, NULL });
	for (int i = 0; i < 3; i++) {
		struct evidence_rank *one = &evidence.ranks[i];

		one->recorder->preloaded = 1;
		one->view.completed = one->view.issued = OP;
		one->view.waiting = 0;
		one->calls[OP - 1].state = RECORD_RETURNED;
		strcpy(one->where, one == r ? "a.py:7 (load)" : "a.py:9 (step) in all_reduce");
	}
}

/* By PyTorch's own account it waits in the call before the one in which the others wait. */
static void lags(struct evidence_rank *r)
{
	strcpy(evidence.backend, "nccl");
	strcpy(evidence.program, "PyTorch");
	play(1, OP - 1, odd_count, true);
	for (int i = 0; i < 3; i++) {
		struct evidence_rank *one = &evidence.ranks[i];

		one->calls[one->ncalls - 1].state = RECORD_RETURNED;
		one->view.last = one->calls[one->ncalls - 1];
		one->view.waiting = 1;
		one->view.device_wait = RECORD_DEVICE_AWAITED;
	}
}

static const struct deed deeds[CLASS_COUNT] = {
	[CLASS_MISSING] = { .state = 'S', .syscall = "clock_nanosleep" },
	[CLASS_BLOCKED] = { .state = 'S', .syscall = "futex" },
	[CLASS_BUSY] = { .state = 'R', .share = 1 },
	[CLASS_KILLED] = { .process = PROCESS_KILLED, .status = 9 },
	[CLASS_CRASHED] = { .process = PROCESS_KILLED, .status = 11 },
	[CLASS_EXITED] = { .process = PROCESS_EXITED },
	[CLASS_FROZEN] = { .state = 'F' },
	[CLASS_TRACED] = { .state = 't' },
	[CLASS_STOPPED] = { .process = PROCESS_STOPPED, .state = 'T' },
	[CLASS_SKIPPED] = { skips, .state = 'S' },
	[CLASS_EXTRA] = { repeats, .state = 'S' },
	[CLASS_EARLY] = { leaves, .state = 'S', .phase = PHASE_FINALISE },
	[CLASS_SKIPPED_OR_EARLY] = { .state = 'S', .phase = PHASE_FINALISE },
	[CLASS_SWAPPED] = { crosses, .state = 'S' },
	[CLASS_MISMATCH] = { mistakes, .state = 'S' },
	[CLASS_OOM] = { .process = PROCESS_KILLED, .status = 9, .oom_kills = 1 },
	[CLASS_GPU_OOM] = { .process = PROCESS_EXITED,
			    .status = OUTCOME_ERROR,
			    .outcome = OUTCOME_ERROR,
			    .error_code = -ENOMEM },
	[CLASS_INIT_MISSING] = { .init = true, .comm_state = RECORD_COMM_NONE },
	[CLASS_INIT_MISMATCH] = { .init = true, .comm_state = RECORD_COMM_INIT, .init_nranks = 2 },
	[CLASS_INIT_UNREACHABLE] = { .init = true, .comm_state = RECORD_COMM_INIT, .netns = 5 },
	[CLASS_ABORTED] = { .state = 'S', .comm_state = RECORD_COMM_ABORTED },
	[CLASS_SETTINGS] = { is_set_otherwise, .state = 'S' },
	[CLASS_UNMATCHED] = { lacks_one, .state = 'S' },
	[CLASS_PAIR_SIZE] = { sends_less, .state = 'S' },
	[CLASS_PAIR_PEER] = { sends_elsewhere, .state = 'S' },
	[CLASS_PAIR_DEADLOCK] = { sends_first, .state = 'R' },
	[CLASS_REPLAY] = { launches_less, .state = 'S' },
	[CLASS_CYCLE] = { swaps, .state = 'R', .share = 1 },
	[CLASS_GPU_STUCK] = { stands_ahead, .state = 'R', .share = 1 },
	[CLASS_INSIDE] = { comes_not_out, .state = 'R', .share = 1 },
	[CLASS_GPU_FAULT] = { .process = PROCESS_EXITED,
			      .status = OUTCOME_ERROR,
			      .outcome = OUTCOME_ERROR,
			      .error_code = -EFAULT },
	[CLASS_CORRUPT] = { corrupts, .state = 0 },
	[CLASS_UNSEEN] = { leaves_nothing, .state = 0 },
	[CLASS_OTHER_WAIT] = { stands_elsewhere, .state = 'S' },
	[CLASS_BEHIND] = { lags, .state = 'S' },
	[CLASS_HOST_SILENT] = { does_as_all, .lost = LOST_SILENT },
	[CLASS_PARTITION] = { does_as_all, .lost = LOST_ONE_WAY },
	[CLASS_WATCHER_HELD] = { does_as_all, .lost = LOST_STALLED },
	[CLASS_MONITOR_GONE] = { does_as_all, .lost = LOST_MONITOR },
	[CLASS_LAUNCHER_GONE] = { does_as_all, .lost = LOST_LAUNCHER },
	[CLASS_UNEXPLAINED] = { does_as_all, .state = 'S' },
};

static void do_deed(const struct deed *deed)
{
	struct evidence_rank *r = &evidence.ranks[1];

	play(1, deed->init ? 0 : OP - 1, odd_count, false);
	r->state = deed->state;
	r->cpu_share = deed->share;
	strcpy(r->syscall, deed->syscall ? deed->syscall : "");
	r->netns = deed->netns ? deed->netns : 4;
	r->view.process = (uint32_t)deed->process;
	r->view.status = deed->status;
	r->view.outcome = deed->outcome ? deed->outcome : -1;
	r->view.error_code = deed->error_code;
	r->view.oom_kills = deed->oom_kills;
	r->view.lost = deed->lost;
	r->view.aborted_after = OP - 1;
	if (deed->phase)
		r->view.phase = deed->phase;
	if (deed->phase)
		strcpy(r->view.what, "the other ranks' end");
	if (deed->init || deed->comm_state)
		r->view.comm_state = deed->comm_state;
	r->view.init_nranks = deed->init_nranks ? deed->init_nranks : 3;
	r->view.init_id = deed->init && deed->comm_state == RECORD_COMM_NONE ? 0 : 7;
	if (deed->calls)
		deed->calls(r);
}

/* Three ranks, of which rank 1 did what the class is made by. */
static void deed_set_up(int class)
{
	calls_set_up(3);
	for (int i = 0; i < 3; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		play(i, deeds[class].init ? 0 : OP, odd_count, true);
		v->comm_state = deeds[class].init ? RECORD_COMM_INIT : RECORD_COMM_READY;
		v->init_nranks = 3;
		v->init_id = 7;
		evidence.ranks[i].netns = 4;
	}
	do_deed(&deeds[class]);
}

/* A rank that stands in the framework's call in which the others wait has come, as far as its program goes. */
UNIT_TEST(test_same_line, "in the others' line")
{
	static const struct {
		const char *own, *others, *confidence;
	} lines[] = {
		{ "a.py:24 (exchange) in send", "a.py:24 (exchange) in send", "inconclusive" },
		{ "a.py:24 (exchange) in send", "a.py:25 (exchange) in recv", "proved" },
		{ "a.py:24 (step) in synchronize", "a.py:24 (step) in synchronize", "proved" },
		{ "a.py:24 (step)", "a.py:24 (step)", "proved" },
		{ "", "", "proved" },
	};

	UNIT_ROWS(row, lines) {
		deed_set_up(CLASS_BLOCKED);
		for (int i = 0; i < 3; i++)
			strcpy(evidence.ranks[i].where, i == 1 ? row->own : row->others);
		finish();
		CU_ASSERT_EQUAL(found.class, CLASS_BLOCKED);
		CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence), row->confidence);
	}
}

/* A rank that aborted because it had waited for too long itself is not named for that. */
UNIT_TEST(test_gave_up, "an abort that follows a wait")
{
	deed_set_up(CLASS_ABORTED);
	finish();
	CU_ASSERT(found.class == CLASS_ABORTED && !strcmp(found.ranks, "1"));
	deed_set_up(CLASS_ABORTED);
	strcpy(evidence.ranks[1].said,
	       "DistBackendError: store->get got error: wait timeout after 14000ms");
	finish();
	CU_ASSERT(found.class != CLASS_ABORTED);
}

/* A rank that ends because a download of its own timed out is named all the same. */
UNIT_TEST(test_own_timeout, "a time-out that is not the job's")
{
	deed_set_up(CLASS_EXITED);
	strcpy(evidence.ranks[1].said,
	       "requests.exceptions.ReadTimeout: Read timed out. (read timeout=10)");
	finish();
	CU_ASSERT(found.class == CLASS_EXITED && !strcmp(found.ranks, "1"));
	deed_set_up(CLASS_EXITED);
	strcpy(evidence.ranks[1].said,
	       "torch.distributed.DistStoreError: wait timeout after 2000ms");
	finish();
	CU_ASSERT(found.class == CLASS_EXITED && !strcmp(found.ranks, "-"));
}

/* There is evidence of which each class is what the table makes of it; slow ranks are judged by pace, and by no rule. */
UNIT_TEST(test_reached, "each class is reached")
{
	for (int class = CLASS_OUTCOME + 1; class <= CLASS_UNEXPLAINED; class ++) {
		if (class >= CLASS_SLOW_RANK && class <= CLASS_SLOW_JOB)
			continue;
		deed_set_up(class);
		finish();
		CU_ASSERT_EQUAL((int)found.class, class);
		CU_ASSERT_STRING_EQUAL(found.ranks, class >= CLASS_HOST_SILENT	   ? "-"
						    : class == CLASS_PAIR_DEADLOCK ? "0,1"
										   : "1");
		CU_ASSERT_PTR_NULL(strstr(meaning_of(&found)->cause, "reported it themselves"));
		if ((int)found.class != class)
			printf("  not %s but %s\n", class_name(class, 0),
			       class_name(found.class, found.outcome));
	}
}

enum how { HANGS, AT_INIT, DIES, SKIPS, FAILS, WRONG, ENDS, ASIDE };

/* Settings are suspected where something came of the same calls; a death, and calls that differ, explain it
 * otherwise, and the difference is said beside. */
#define TREE "NCCL_ALGO=Tree\n"
#define LL   "NCCL_PROTO=LL\n"
#define ODD  "settings-mismatch 3 majority NCCL_ALGO"
#define TIE  "settings-mismatch - inconclusive NCCL_ALGO"
static const struct {
	const char *texts[4];
	enum how how;	       /* rank 1 */
	const char *is, *note; /* class, ranks, confidence, field; a line of the evidence */
} settings[] = {
	{ { "", "", "", TREE }, HANGS, ODD, "NCCL_ALGO: rank 3: Tree; ranks 0-2: unset" },
	{ { "", "", "", TREE }, AT_INIT, ODD, "rank 3: Tree" },
	{ { "", "", TREE, TREE }, HANGS, TIE, "ranks 0,1: unset; ranks 2,3: Tree" },
	{ { LL, LL TREE, LL, "" }, HANGS, TIE, "NCCL_PROTO: rank 3: unset; ranks 0-2: LL" },
	{ { LL, LL, LL, TREE }, HANGS, ODD, "NCCL_PROTO: rank 3: unset; ranks 0-2: LL" },
	{ { NULL, NULL, "", TREE }, HANGS, TIE, "rank 2: unset; rank 3: Tree" },
	{ { "", "", "", TREE }, FAILS, ODD, "rank 3: Tree" },
	{ { "", "", "", TREE }, WRONG, ODD, "rank 3: Tree" },
	{ { "", "", "", "NCCL_FOO=1\n" }, HANGS, "unexplained - inconclusive ", "(may matter)" },
	{ { "", "", "", TREE }, DIES, "rank-killed 1 proved call", "rank 3: Tree" },
	{ { "", "", "", TREE }, SKIPS, "skipped-call 1 majority call", "rank 3: Tree" },
	{ { "", "", "", TREE }, ENDS, "ok - proved ", NULL },
	{ { "", "", "", TREE }, ASIDE, "unexplained - inconclusive ", "rank 3: Tree" },
};

/* Four ranks that make the same calls, and what becomes of rank 1. */
static void come_to(enum how how)
{
	struct rank_view *one = &evidence.ranks[1].view;
	bool over = how >= FAILS && how <= ENDS;

	for (int i = 0; i < 4; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		play(i, how == AT_INIT ? 0 : OP, odd_count, !over && how != ASIDE);
		v->comm_state = how == AT_INIT ? RECORD_COMM_INIT : RECORD_COMM_READY;
		v->init_nranks = 4;
		v->init_id = 7;
		v->process = over ? PROCESS_EXITED : PROCESS_ALIVE;
		v->outcome = over ? OUTCOME_OK : -1;
		v->overdue = v->waiting = !over;
	}
	if (how == SKIPS)
		skips(&evidence.ranks[1]);
	if (how == DIES) {
		play(1, OP - 1, odd_count, false);
		one->process = PROCESS_KILLED;
		one->status = 9;
	}
	if (how == FAILS || how == WRONG)
		one->outcome = one->status = how == FAILS ? OUTCOME_ERROR : OUTCOME_WRONG_DATA;
}

UNIT_TEST(test_settings, "settings")
{
	UNIT_ROWS(row, settings) {
		bool said = !row->note;
		char is[512];

		calls_set_up(4);
		come_to(row->how);
		give_settings(row->texts);
		finish();
		snprintf(is, sizeof(is), "%s %s %s %s", class_name(found.class, found.outcome),
			 found.ranks, confidence_name(found.confidence), found.field);
		CU_ASSERT_STRING_EQUAL(is, row->is);
		for (size_t i = 0; i < found.nnotes; i++)
			said |= row->note && strstr(found.notes[i], row->note);
		CU_ASSERT_TRUE(said);
	}
}

/* MPI ends rank 1 at init; what ranks 2 and 3 lost is their supervisors. */
UNIT_TEST(test_supervisors_gone, "ranks that went with their supervisors")
{
	calls_set_up(4);
	come_to(AT_INIT);
	for (int i = 1; i < 4; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		v->process = i == 1 ? PROCESS_EXITED : PROCESS_KILLED;
		v->status = i == 1 ? 1 : SIGKILL;
		v->lost = i == 1 ? LOST_NOT : LOST_MONITOR;
		v->reported = i > 1;
	}
	evidence.ranks[0].view.overdue = 0;
	finish();
	UNIT_ALL(found.class == CLASS_EXITED, !strcmp(found.ranks, "1"));
}

/* Small packets pass between two hosts, and large ones do not: neither is named. */
UNIT_TEST(test_large_packets, "large packets that are lost")
{
	calls_set_up(4);
	come_to(SKIPS);
	for (int i = 2; i < 4; i++) {
		evidence.ranks[i].view.lost = LOST_LARGE;
		snprintf(evidence.ranks[i].view.host, sizeof(evidence.ranks[i].view.host), "there");
	}
	finish();
	UNIT_ALL(found.class == CLASS_PARTITION, found.confidence == CONFIDENCE_MAJORITY,
		 !strcmp(found.hosts, ""), !strcmp(found.ranks, "-"));
}

UNIT_TEST(test_classes, "classes and their names")
{
	for (int i = CLASS_OUTCOME + 1; i < CLASS_COUNT; i++) {
		const char *name = class_name((enum answer_class)i, OUTCOME_HANG);

		CU_ASSERT_TRUE(class_known(name));
		for (int k = CLASS_OUTCOME + 1; k < i; k++)
			CU_ASSERT_STRING_NOT_EQUAL(name,
						   class_name((enum answer_class)k, OUTCOME_HANG));
	}
	CU_ASSERT_STRING_EQUAL(class_name(CLASS_OUTCOME, OUTCOME_SLOW), "slow");
	CU_ASSERT_STRING_EQUAL(class_name(CLASS_COUNT, OUTCOME_SLOW), "slow");
}
