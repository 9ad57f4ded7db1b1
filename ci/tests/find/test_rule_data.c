/* test_rule_data.c: whose doing wrong data are; whose device does not come to a call, or broke. */

#include "calls_played.h"

/* "OBSERVER FROM" of element 7 in call 5: a capital observer found it in its own send buffer; from '-' is a
 * reduction. Then what differs: '+' another element, '=' another value, '6' in call 6, or for a
 * reduction the rank whose contribution alone accounts for it. */
static const struct {
	int nranks;
	enum call_kind kind;
	const char *noted, *ranks, *confidence;
} cases[] = {
	/* all see it, and one send buffer shows it: a gather's, a reduction's, a NaN's, two of them */
	{ 4, CALL_ALL_GATHER, "C2 a2 b2 c2 d2", "2", "proved" },
	{ 4, CALL_ALL_REDUCE, "C2 a- b- c- d-", "2", "proved" },
	{ 2, CALL_ALL_REDUCE, "B1 a- b-", "1", "proved" },
	{ 4, CALL_ALL_GATHER, "A0 D3 a0 a3 b0 b3 c0 c3 d0 d3", "0,3", "proved" },
	{ 4, CALL_BROADCAST, "B1", "1", "proved" },
	/* another's receive buffer beside it: more than the send buffer explains */
	{ 4, CALL_ALL_GATHER, "C2 a2 b2 c2 d2 d1", "2,3", "majority" },
	{ 4, CALL_ALL_REDUCE, "C2 a- b- c- d- b-6", "1,2", "majority" },
	{ 4, CALL_ALL_REDUCE, "C2 a- b-= c- d-", "1,2", "majority" },
	{ 4, CALL_REDUCE_SCATTER, "C2 b-", "2", "proved" },
	/* one rank alone: its receive buffer; as many right as wrong, or no other receives: unknown */
	{ 4, CALL_ALL_REDUCE, "d-", "3", "majority" },
	{ 3, CALL_ALL_GATHER, "b0", "1", "majority" },
	{ 4, CALL_ALLTOALL, "b3", "1", "inconclusive" },
	{ 8, CALL_ALL_GATHER, "b2 d2", "1,3", "inconclusive" },
	{ 8, CALL_BROADCAST, "f4 g4 h4", "5,6,7", "inconclusive" },
	{ 8, CALL_ALL_REDUCE, "b-+ d-", "1,3", "majority" },
	{ 2, CALL_ALL_REDUCE, "a-", "0", "inconclusive" },
	{ 4, CALL_ALL_GATHER, "b2 d2", "-", "inconclusive" },
	{ 4, CALL_GATHER, "a2", "0", "inconclusive" },
	{ 4, CALL_REDUCE, "a-", "0", "inconclusive" },
	/* all see it and the send buffers are right: the sender's way out, or the contribution that fits */
	{ 4, CALL_ALL_GATHER, "a2 b2 c2 d2", "2", "majority" },
	{ 4, CALL_ALL_GATHER, "a2 b2 d2", "2", "majority" },
	{ 4, CALL_ALL_REDUCE, "a-1 b-1 c-1 d-1", "1", "majority" },
	{ 4, CALL_ALL_REDUCE, "a- b- c- d-", "-", "inconclusive" },
	/* handed on by a receiver: several have it, the sender's own is right */
	{ 4, CALL_RECV, "a1 c1", "-", "inconclusive" },
	/* they see different values: no rank's contribution */
	{ 4, CALL_ALL_REDUCE, "a- b- c-= d-=", "-", "inconclusive" },
	/* whole buffers of all are wrong: no single rank's doing */
	{ 4, CALL_ALL_GATHER, "a0 a1 a2 b0 b1 b2 c0 c1 c2 d0 d1 d2", "0,1,2", "inconclusive" },
};

static void note(const char *word)
{
	bool sent = word[0] < 'a';
	struct evidence_rank *r = &evidence.ranks[(word[0] | 32) - 'a'];
	char more = word[2];
	struct record_wrong *w = &r->recorder->wrong[r->recorder->wrongs++];

	*w = (struct record_wrong){
		.seq = more == '6' ? 6 : 5,
		.index = more == '+' ? 8 : 7,
		.count = 1,
		.expected = 0x40400000,
		.got = more == '=' ? 0x40400001 : 0x7fc00000,
		.from = word[1] == '-' ? -1 : word[1] - '0',
		.culprit = more >= '0' && more <= '3' ? more - '0' : -1,
		.dtype = DT_FLOAT,
		.sent = sent,
	};
	w->seq_last = w->seq;
}

static void end_all(int nranks, enum call_kind kind)
{
	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		play(i, OP, odd_count, false);
		for (int k = 0; k < OP; k++)
			r->calls[k].kind = (uint8_t)kind;
		r->view.process = PROCESS_EXITED;
		r->view.outcome = r->view.status = OUTCOME_WRONG_DATA;
		r->view.overdue = r->view.waiting = 0;
		r->recorder = aligned_alloc(64, sizeof(*r->recorder));
		memset(r->recorder, 0, sizeof(*r->recorder));
	}
}

UNIT_TEST(test_cases, "whose doing")
{
	UNIT_ROWS(c, cases) {
		end_all(c->nranks, c->kind);
		for (const char *at = c->noted; *at; at += strspn(at, " ")) {
			note(at);
			at += strcspn(at, " ");
		}
		expect(OUTCOME_WRONG_DATA, "corrupt-data", c->ranks, 5, 5, -1);
		UNIT_ALL(found.wrong_seq == 5,
			 !strcmp(confidence_name(found.confidence), c->confidence));
		if (strcmp(confidence_name(found.confidence), c->confidence) != 0)
			printf("  %s: %s\n", c->noted, confidence_name(found.confidence));
		CU_ASSERT(said("Rank") &&
			  strstr(found.notes[0], "is nan (0x7fc00000) (NaN), not 3"));
	}
}

/* A divergence did its damage later: both points are told. */
UNIT_TEST(test_deferred, "damage in a later call")
{
	end_all(4, CALL_ALL_REDUCE);
	note("a-");
	evidence.ranks[1].calls[2].dtype = DT_INT32;
	expect(OUTCOME_WRONG_DATA, "mismatch", "1", 3, 3, -1);
	CU_ASSERT_EQUAL(found.wrong_seq, 5);
}

/* All received what no call of theirs brought, and no send buffer is wrong: all left it out. */
UNIT_TEST(test_uncalled, "calls that no rank made")
{
	for (int odd = 0; odd <= 3; odd++) {
		end_all(4, CALL_ALL_GATHER);
		for (int i = 0; i < 4; i++) {
			struct evidence_rank *r = &evidence.ranks[i];

			note((const char[]){ (char)('a' + i), '0', '\0' });
			r->recorder->wrong[0].seq = r->recorder->wrong[0].seq_last = 0;
		}
		evidence.ranks[1].wrapped = odd == 1;
		evidence.ranks[2].recorder->wrongs = odd != 2;
		evidence.ranks[3].recorder->wrong[0].sent = odd == 3;
		finish();
		CU_ASSERT_EQUAL(found.outcome, OUTCOME_WRONG_DATA);
		CU_ASSERT_EQUAL(found.class == CLASS_SKIPPED_OR_EARLY, odd == 0);
		if (odd == 0) {
			finds("* * - inconclusive");
			CU_ASSERT(said("Nothing diverged: all ranks made the same 20 calls on "));
		}
	}
}

/* Numbers that no check can have noted are passed over; nothing noted is no answer. */
UNIT_TEST(test_unsound, "unsound numbers")
{
	static const struct record_wrong unsound[] = {
		{ .dtype = DT_COUNT },
		{ .from = 4 },
		{ .from = -2 },
		{ .culprit = 4 },
		{ .comm = RECORD_COMMS },
		{ .seq = 7, .seq_last = 6 },
		{ .sent = 2 },
	};

	for (size_t i = 0; i <= LENGTH(unsound); i++) {
		end_all(4, CALL_ALL_REDUCE);
		if (i < LENGTH(unsound)) {
			evidence.ranks[1].recorder->wrongs = i == 0 ? UINT32_MAX : 1;
			for (int k = 0; k < RECORD_WRONGS; k++)
				evidence.ranks[1].recorder->wrong[k] = unsound[i];
		}
		expect(OUTCOME_WRONG_DATA, "wrong-data", "0,1,2,3", -1, -1, -1);
	}
}

/* Ranks whose last call their device: s has started; a has not come to; n has no time of, as of the one before;
 * g repeats as a graph. i: the rank is inside it; q: a, as a preloaded program has it; b: it waits elsewhere; t: is through; e: its device broke. */
static const struct {
	const char *how, *class, *ranks, *confidence; /* NULL: not this class */
} stands[] = {
	{ "ssas", "gpu-stuck", "2", "proved" },
	{ "as", "gpu-stuck", "0", "proved" },
	{ "aaaa", "gpu-stuck", "0,1,2,3", "proved" },
	{ "tssa", "gpu-stuck", "3", "majority" },
	{ "nsas", "gpu-stuck", "2", "majority" },
	{ "isas", "gpu-stuck", "2", "majority" },
	{ "ssss", "unexplained", "-", NULL },
	{ "nnnn", "unexplained", "-", NULL },
	{ "gggg", "unexplained", "-", NULL },
	{ "sgss", "unexplained", "-", NULL },
	{ "sbss", "unexplained", "-", NULL },
	{ "ssis", "stuck-in-call", "2", NULL },
	{ "siis", "stuck-in-call", "1,2", NULL },
	{ "iiii", "unexplained", "-", NULL },
	{ "sess", "gpu-fault", "1", "majority" },
	{ "seess", "gpu-fault", "1,2", "majority" },
	{ "sees", "gpu-fault", "1,2", "inconclusive" },
	{ "ssqs", "gpu-stuck", "2", "proved" },
	{ "nnqs", "gpu-stuck", "2", "majority" },
	{ "nnqn", "gpu-stuck", "2", "inconclusive" },
	{ "qqqq", "unexplained", "-", NULL },
};

static void play_stand(int rank, char how)
{
	struct evidence_rank *r = &evidence.ranks[rank];

	play(rank, OP, odd_count, how == 'i');
	r->times = calloc(OP, sizeof(*r->times));
	for (int k = 0; k < OP - (how == 'n'); k++)
		r->times[k] = (struct call_times){ how == 'q' && k == OP - 1	     ? RECORD_AHEAD
						   : k < OP - 1 || strchr("st", how) ? 5
										     : 0,
						   k < OP - 1 };
	if (how == 'n')
		r->times[OP - 2].start_ns = 0;
	r->calls[OP - 1].replays = how == 'g';
	r->view.completed = how == 't' ? OP : OP - 1;
	r->view.device_wait = how == 'b' ? RECORD_DEVICE_LEFT : RECORD_DEVICE_AWAITED;
	if (how != 'e')
		return;
	r->view.process = PROCESS_EXITED;
	r->view.status = r->view.outcome = OUTCOME_ERROR;
	r->view.error_code = -EFAULT;
}

UNIT_TEST(test_stands, "devices that stand")
{
	UNIT_ROWS(row, stands) {
		int nranks = (int)strlen(row->how);

		calls_set_up(nranks);
		strcpy(evidence.backend, "nccl");
		for (int k = 0; k < nranks; k++)
			play_stand(k, row->how[k]);
		finish();
		CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), row->class);
		CU_ASSERT_STRING_EQUAL(found.ranks, row->ranks);
		if (!row->confidence)
			continue;
		CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence), row->confidence);
		CU_ASSERT_STRING_EQUAL(side_name(found.side), "gpu");
		CU_ASSERT(found.seq_low == OP && found.seq_high == OP && found.hang_seq == OP);
	}
}
