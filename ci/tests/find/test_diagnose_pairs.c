/* test_diagnose_pairs.c: sends and receives left out or made twice; partners differ by right. */
#include "calls_played.h"

/* A hypercube of four ranks: in each round one part each way, then two; parts get smaller. */
static struct record exchange(uint64_t seq, int rank)
{
	uint64_t step = (seq - 1) / 2, part = 1000 - 10 * (step / 2);
	struct record r = make_call(seq, step % 2 ? 2 * part : part);

	r.kind = seq % 2 ? CALL_SEND : CALL_RECV;
	r.peer = rank ^ (step % 2 ? 2 : 1);
	r.op = -1;
	return r;
}

static int partner_of(int seq, int rank)
{
	return exchange((uint64_t)seq, rank).peer;
}

/* The rank makes the exchange's calls 1..n but `without` (0: none); it waits for `pending`. */
static void play_pairs(int rank, int n, int without, int pending)
{
	struct evidence_rank *r = &evidence.ranks[rank];
	uint64_t k = 0;

	for (int seq = 1; seq <= n; seq++) {
		if (seq == without)
			continue;
		r->calls[k] = exchange((uint64_t)seq, rank);
		r->calls[k].seq = k + 1;
		r->calls[k].ticket = k + 1;
		k++;
	}
	r->ncalls = k;
	r->view.issued = k;
	r->view.completed = k - (uint64_t)pending;
	strcpy(r->view.what, pending ? "a scheduled call" : "the slowest rank's figures");
}

/* Call `without` of twelve left out by rank 0: its partner there, rank 1 or 2, waits. */
UNIT_TEST(test_one_left_out, "one left out, wherever it was")
{
	for (int without = 1; without <= 12; without++) {
		/* from its part of that call on */
		int pending = without % 2 ? 12 - without : 14 - without;
		char line[96];

		calls_set_up(4);
		play_pairs(0, 12, without, 0);
		for (int i = 1; i < 4; i++)
			play_pairs(i, 12, 0, i == partner_of(without, 0) ? pending : 0);
		finish();
		UNIT_ALL(!strcmp(class_name(found.class, found.outcome),
				 without < 12 ? "p2p-unmatched" : "skipped-or-early-exit"),
			 !strcmp(found.ranks, "0"), found.seq_low == without,
			 found.seq_high == without,
			 !strcmp(confidence_name(found.confidence), "majority"));
		snprintf(line, sizeof(line), "Call %d of communicator 0: rank 0 made ", without);
		if (without < 12)
			CU_ASSERT(said(line) &&
				  said("From there on its calls are the others' moved by 1."))
		else
			CU_ASSERT(said(
				"Call 12 is the last that anyone made: whether the rank left out "
				"this one alone or all from it on cannot be told (skipped-call or "
				"early-exit)."));
	}
}

/* Rank 1 waits for what rank 0 left out, and has made fewer calls than that: it is not the one. */
UNIT_TEST(test_partner_behind, "a partner that waits is behind")
{
	calls_set_up(4);
	play_pairs(0, 8, 5, 0);
	play_pairs(1, 6, 0, 2);
	play_pairs(2, 8, 0, 0);
	play_pairs(3, 8, 0, 4);
	evidence.ranks[1].state = 'R';
	evidence.ranks[1].cpu_share = 1;
	expect(OUTCOME_HANG, "p2p-unmatched", "0", 5, 5, 7);
	CU_ASSERT(said(
		"Call 5 of communicator 0: rank 0 made Recv count 990 float from 1, the others "
		"Send count 990 float to 0."));
}

/* Call `twice` is made twice by rank 1, which waits behind it, and has made fewer. */
UNIT_TEST(test_one_too_many, "one too many")
{
	for (int twice = 5; twice <= 6; twice++) {
		struct evidence_rank *r;

		calls_set_up(4);
		for (int i = 0; i < 4; i++)
			play_pairs(i, i == 1 ? 6 : 8, 0, i == 0 ? 0 : 2);
		r = &evidence.ranks[1];
		memmove(&r->calls[twice], &r->calls[twice - 1],
			(size_t)(7 - twice) * sizeof(*r->calls));
		r->ncalls = 7;
		r->view.issued = 7;
		for (uint64_t k = 0; k < 7; k++) {
			r->calls[k].seq = k + 1;
			r->calls[k].ticket = k + 1;
		}
		r->state = 'R';
		r->cpu_share = 1;
		expect(OUTCOME_HANG, "p2p-unmatched majority", "1", twice, twice + 1, 8);
		CU_ASSERT_PTR_NOT_NULL(strstr(found.theirs, twice == 5 ? "Send count 990 float"
								       : "Recv count 990 float"));
	}
}

/* In host code, or at the end of the group that its own send is in: both look like this. */
UNIT_TEST(test_busy_in_pair, "busy within a pair")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++)
		play_pairs(i, i == 2 ? 5 : 6, 0, i == 2 ? 1 : 2);
	evidence.ranks[2].state = 'R';
	evidence.ranks[2].cpu_share = 1;
	expect(OUTCOME_HANG, "host-busy majority", "2", 6, 6, 6);
	CU_ASSERT(said("Sends or receives that it made are pending: it may wait for these."));
}

/* One against one: who has one too few, or too many, no vote decides. */
UNIT_TEST(test_two_ranks, "two ranks")
{
	for (int without = 5; without <= 6; without++) {
		calls_set_up(2);
		play_pairs(0, 12, without, 0);
		play_pairs(1, 12, 0, 4);
		expect(OUTCOME_HANG, "p2p-unmatched inconclusive", "0", without, without, 12);
	}
}

/* Two against two. One too few: what follows says whose plan is whole. Sizes that differ: nothing does. */
UNIT_TEST(test_half, "two against two")
{
	for (int without = 5; without <= 6; without++) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++)
			play_pairs(i, 12, i == 1 || i == 2 ? without : 0, 4);
		expect(OUTCOME_HANG, "p2p-unmatched inconclusive", "1,2", without, without, 12);
	}
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		play_pairs(i, 12, 0, 4);
		evidence.ranks[i].calls[9].count += i == 1 || i == 2 ? 7 : 0;
	}
	evidence.ranks[3].ncalls = evidence.ranks[3].view.issued = 11;
	expect(OUTCOME_HANG, "p2p-size inconclusive", "-", 9, 10, 12);
}

/* Idle between a send and its receive, its send not yet done: no other rank is behind. */
UNIT_TEST(test_idle_in_pair, "idle within a pair")
{
	calls_set_up(4);
	play_pairs(0, 5, 0, 1);
	play_pairs(1, 6, 0, 2);
	play_pairs(2, 6, 0, 2);
	play_pairs(3, 6, 0, 2);
	strcpy(evidence.ranks[0].syscall, "clock_nanosleep");
	expect(OUTCOME_HANG, "missing-call proved", "0", 6, 6, 6);
}

/* A whole step is missing, or more: plans may end sooner by right, so it may be the last call. */
UNIT_TEST(test_steps, "a step, and more than a step")
{
	for (int lacking = 2; lacking <= 10; lacking += 8) {
		int64_t first = 13 - lacking;
		char line[64];

		calls_set_up(4);
		play_pairs(0, 12 - lacking, 0, 0);
		for (int i = 1; i < 4; i++)
			play_pairs(i, 12, 0, i == 2 ? lacking : 0);
		expect(OUTCOME_HANG, "skipped-or-early-exit majority", "0", first, first, first);
		sprintf(line, "Calls %d to 12 are the last that anyone made: whether ", (int)first);
		CU_ASSERT(said(line));
	}
}

/* The oldest calls are no longer known, and those that are, are all moved. */
UNIT_TEST(test_before_the_ring, "left out before what the rings hold")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		play_pairs(i, 12, i == 0 ? 3 : 0, i == 1 ? 4 : 0);
		memmove(r->calls, r->calls + 6, (r->ncalls - 6) * sizeof(*r->calls));
		r->ncalls -= 6;
		r->wrapped = true;
	}
	expect(OUTCOME_HANG, "p2p-unmatched", "0", 1, 7, 12);
}

/* Rank 0 follows another plan by right (the root of a gather receives): the place stays open. */
UNIT_TEST(test_other_plan, "ranks with plans of their own")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++)
		play_pairs(i, i == 0 ? 11 : 12, 0, i == 1 ? 4 : 0);
	for (int k = 0; k < 11; k++)
		evidence.ranks[0].calls[k].kind = CALL_RECV;
	expect(OUTCOME_HANG, "p2p-size inconclusive", "-", 2, 5, 12);
}

/* The same in a run whose ranks are split into groups: partners have numbers within theirs, so that
 * what they made cannot be told. */
UNIT_TEST(test_groups, "busy, in groups")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		struct record_header *header = calloc(1, sizeof(*header));

		play_pairs(i, i == 2 ? 5 : 6, 0, i == 2 ? 1 : 2);
		header->inits[0].state = RECORD_COMM_READY;
		header->inits[0].rank = i / 2;
		header->inits[0].nranks = 2;
		evidence.ranks[i].recorder = header;
	}
	evidence.ranks[2].state = 'R';
	evidence.ranks[2].cpu_share = 1;
	expect(OUTCOME_HANG, "host-busy inconclusive", "2", 6, 6, 6);
}

/* A rank that polls for its own looks busy. Two rounds of a ring in which rank 0 waits for rank
 * 1 and that for rank 2, which waits for one that lacks nothing: no rank is to blame. */
UNIT_TEST(test_each_waits, "each waits for another")
{
	calls_set_up(3);
	for (int i = 0; i < 3; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		for (int k = 0; k < 4; k++) {
			r->calls[k] = make_call((uint64_t)k + 1, 8);
			r->calls[k].kind = k == 3 ? CALL_RECV : CALL_SEND;
			r->calls[k].peer = (i + 1) % 3;
		}
		r->ncalls = (size_t)(i == 0 ? 3 : 4);
		r->view.issued = r->ncalls;
		r->view.completed = 0;
		r->state = 'R';
		r->cpu_share = 1;
	}
	expect(OUTCOME_HANG, "p2p-unmatched inconclusive", "-", 1, 1, 4);
	CU_ASSERT(said(
		"Rank 0 waits in call 1 (Send count 8 float sum to 1), of which rank 1 has not "
		"made its part."));
}

/* One of two ranks sends twice what the other receives once: the second meets a receive of another
 * size. Either may be wrong. Where the next ones fit as they are, no call was left out. */
UNIT_TEST(test_sizes_meet, "sizes that do not fit")
{
	static const uint64_t sent[][4] = { { 100, 100, 90, 80 }, { 100, 90, 90 } };
	static const uint64_t received[][4] = { { 100, 90, 80 }, { 100, 80, 90 } };

	for (int fit = 0; fit < 2; fit++) {
		calls_set_up(2);
		for (int k = 0; k < 4; k++) {
			evidence.ranks[0].calls[k] = make_call((uint64_t)k + 1, sent[fit][k]);
			evidence.ranks[0].calls[k].kind = CALL_SEND;
			evidence.ranks[0].calls[k].peer = 1;
			evidence.ranks[1].calls[k] = make_call((uint64_t)k + 1, received[fit][k]);
			evidence.ranks[1].calls[k].kind = CALL_RECV;
			evidence.ranks[1].calls[k].peer = 0;
		}
		for (int i = 0; i < 2; i++) {
			evidence.ranks[i].ncalls = evidence.ranks[i].view.issued = i || fit ? 3 : 4;
			evidence.ranks[i].view.completed = 1;
		}
		expect(OUTCOME_HANG, fit ? "p2p-size" : "p2p-unmatched", "-", 2, 2, fit ? 2 : 4);
		UNIT_ALL(!strcmp(confidence_name(found.confidence), "inconclusive"),
			 !strcmp(found.pair, "0>1"),
			 fit || said("Rank 1's call 2 (Recv count 90 float sum from 0) meets rank "
				     "0's call 2 (Send count 100 float sum to 1): they do not "
				     "fit."));
	}
}

/* A rank's next call on communicator `comm`, which has a numbering of its own. */
static struct record *next_on(struct evidence_rank *r, uint32_t comm, uint64_t count)
{
	struct record *call = &r->calls[r->ncalls++];
	uint64_t seq = 1;

	for (const struct record *before = r->calls; before < call; before++)
		seq += before->comm == comm;
	*call = make_call(r->ncalls, count);
	call->comm = comm;
	call->seq = seq;
	return call;
}

/* Even ranks send to the next one. Where wrong partners are not looked for any more, amounts are. */
UNIT_TEST(test_many_ranks, "a size that does not fit, among 1,026 ranks")
{
	const int nranks = 1026;

	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		play(i, OP, odd_count, i >= nranks - 2);
		for (int k = 0; k < OP; k++) {
			evidence.ranks[i].calls[k].kind = i % 2 ? CALL_RECV : CALL_SEND;
			evidence.ranks[i].calls[k].peer = i ^ 1;
			evidence.ranks[i].calls[k].op = OP_NONE;
		}
	}
	evidence.ranks[nranks - 1].calls[OP - 1].count++;
	expect(OUTCOME_HANG, "p2p-size inconclusive", "-", OP, OP, OP);
	CU_ASSERT_STRING_EQUAL(found.pair, "1024>1025");
}

/* On communicator 1 ranks 0 and 1 have a plan of their own, 2 and 3 another, by right; on 0 rank 3 left
 * out the last of three collectives and reads something. */
UNIT_TEST(test_split_beside_skipped, "plans by right beside a skipped call")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		for (int k = 0; k < 8; k++) {
			struct record *call = next_on(r, 1, 8);
			bool sends = k < 4 ? k % 2 == 0 : i < 2;

			call->kind = sends ? CALL_SEND : CALL_RECV;
			call->peer = i ^ (k < 4 ? 1 : 2);
			call->op = -1;
		}
		for (int k = 0; k < (i == 3 ? 2 : 3); k++)
			next_on(r, 0, 64);
		r->view.issued = r->ncalls;
		r->view.completed = r->ncalls - (i == 3 ? 0 : 1);
		strcpy(r->view.what, i == 3 ? "the slowest rank's figures" : "a scheduled call");
	}
	strcpy(evidence.ranks[3].syscall, "read");
	expect(OUTCOME_HANG, "skipped-or-early-exit", "3", 3, 3, 3);
	UNIT_ALL(found.comm == 0, !strcmp(confidence_name(found.confidence), "majority"));
}

/* Rank 2 is busy before the receive of the third step, for which rank 3 has made its send. Call 2
 * of rank 3 was torn: its matches are lost, but it did not make less. */
UNIT_TEST(test_torn_partner, "a torn record of a partner")
{
	for (int torn = 0; torn <= 1; torn++) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++)
			play_pairs(i, i == 2 ? 5 : 6, 0, i == 2 ? 1 : 2);
		evidence.ranks[2].state = 'R';
		evidence.ranks[2].cpu_share = 1;
		if (torn) {
			struct evidence_rank *r = &evidence.ranks[3];

			memmove(&r->calls[1], &r->calls[2], 4 * sizeof(*r->calls));
			r->ncalls = 5;
		}
		expect(OUTCOME_HANG, "host-busy", "2", 6, 6, 6);
		CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence),
				       torn ? "inconclusive" : "majority");
		for (size_t k = 0; k < found.nnotes; k++)
			CU_ASSERT_PTR_NULL(strstr(found.notes[k], "has not made its part"));
		CU_ASSERT(said(
			"3 of 4 ranks made call 6 of communicator 0 (Recv count 990 float) and "));
	}
}

/* A line about several ranks leaves out what only one of them has: all but the last rank wait in
 * call 6, each for the next one, and that is busy. */
UNIT_TEST(test_in_common, "what several have in common")
{
	static const struct {
		int nranks;
		uint64_t more; /* of rank 1's amount */
		bool flipped;  /* rank 1 receives where the others send */
		const char *line;
	} table[] = {
		{ 4, 0, false,
		  "3 of 4 ranks made call 6 of communicator 0 (Recv count 990 float) and wait " },
		{ 4, 1, false, "3 of 4 ranks made call 6 of communicator 0 (Recv) and wait " },
		{ 4, 0, true,
		  "3 of 4 ranks made call 6 of communicator 0 (a send or receive) and wait " },
		{ 2, 0, false,
		  "1 of 2 ranks made call 6 of communicator 0 (Recv count 990 float from 1) and "
		  "waits " },
	};

	UNIT_ROWS(row, table) {
		int last = row->nranks - 1;

		calls_set_up(row->nranks);
		for (int k = 0; k <= last; k++) {
			struct record *calls = evidence.ranks[k].calls;

			play_pairs(k, k == last ? 5 : 6, 0, k == last ? 1 : 2);
			calls[4].peer = (k + last) % (last + 1);
			calls[5].peer = k + 1;
			calls[5].count += k == 1 ? row->more : 0;
			calls[4].count += k == 2 ? row->more : 0;
			if (k == 1 && row->flipped) {
				calls[4].peer = k + 1;
				calls[5].peer = k - 1;
			}
			for (int c = 0; c < 6 && k == 1 && row->flipped; c++)
				calls[c].kind = calls[c].kind == CALL_SEND ? CALL_RECV : CALL_SEND;
		}
		evidence.ranks[last].state = 'R';
		evidence.ranks[last].cpu_share = 1;
		finish();
		UNIT_ALL(atoi(found.ranks) == last, said(row->line));
	}
}

/* As in a loop whose number of rounds each of two ranks measured: rank 0 sent three times and receives, rank 1 receives a
 * fourth time. Each waits for the other's send, which it comes to no more; neither number is known to be right. */
UNIT_TEST(test_unlike_rounds, "unlike numbers of rounds")
{
	calls_set_up(2);
	strcpy(evidence.backend, "nccl");
	for (int i = 0; i < 2; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		play(i, 10, step_count, false);
		for (int k = 4; k < 10; k++) {
			r->calls[k].count = 100;
			r->calls[k].kind = i == 0 && k < 7 ? CALL_SEND : CALL_RECV;
			r->calls[k].peer = 1 - i;
		}
		r->ncalls = r->view.issued = i ? 8 : 10;
		r->view.completed = i ? 4 : 7;
		r->view.device_wait = RECORD_DEVICE_AWAITED;
	}
	expect(OUTCOME_HANG, "p2p-unmatched inconclusive", "-", 8, 8, 8);
	CU_ASSERT(said("These ranks wait for each other alone, so no part comes any more: "));
}

/* Rank 1 left a send out of a group, and made the next one alone: rank 0 does not come out of its group, whose calls are all
 * met. The group has a collective before its send and receive, or (`last`) behind them. One of 528 ranks that an atlas named
 * was named for such a group, by NCCL 2.18.3; its evidence was not kept. */
UNIT_TEST(test_inside_group, "inside of a group that a later call met")
{
	for (int last = 0; last < 2; last++) {
		calls_set_up(2);
		strcpy(evidence.backend, "nccl");
		for (int i = 0; i < 2; i++) {
			struct evidence_rank *r = &evidence.ranks[i];
			const char *const made[2][2] = { { "csr", "crs" }, { "src", "rcs" } };

			play(i, 8, step_count, false);
			r->view.completed = 5;
			for (int k = 5; k < 8; k++) {
				char what = made[last][i][k - 5];

				r->calls[k].count = 100;
				if (what == 'c')
					continue;
				r->calls[k].kind = what == 's' ? CALL_SEND : CALL_RECV;
				r->calls[k].peer = 1 - i;
			}
		}
		evidence.ranks[0].calls[7].state = RECORD_CLOSING;
		evidence.ranks[1].calls[7].flags = RECORD_ALONE;
		evidence.ranks[1].view.device_wait = RECORD_DEVICE_AWAITED;
		finish();
		finds(last ? "hang swapped-calls - inconclusive"
			   : "hang stuck-in-call 0 inconclusive");
	}
}

/* A rank that sends to itself, and receives nothing, waits for itself: a circle of one. */
UNIT_TEST(test_to_itself, "to itself")
{
	calls_set_up(2);
	for (int i = 0; i < 2; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->calls[0] = make_call(1, 8);
		r->calls[0].kind = CALL_SEND;
		r->calls[0].peer = i;
		r->calls[0].flags = RECORD_ALONE;
		r->calls[0].state = RECORD_ISSUING;
		r->ncalls = r->view.issued = 1;
		r->view.completed = 0;
	}
	finish();
	finds("hang p2p-deadlock * inconclusive");
}

/* In the end even ranks send first, odd ones receive first, outside of groups over MPI: what has returned is over. Rank
 * 0 computes before the last receive, for which rank 1 is inside its send; the rest is done. */
UNIT_TEST(test_returned_is_over, "what has returned is over")
{
	calls_set_up(4);
	strcpy(evidence.backend, "mpi");
	for (int i = 0; i < 4; i++) {
		struct evidence_rank *r = &evidence.ranks[i];
		uint64_t n = i == 0 ? 23 : 24;

		for (uint64_t k = 0; k < n; k++) {
			r->calls[k] = make_call(k + 1, 100 - k / 2);
			r->calls[k].kind =
				(k + (k % 8 < 6 ? 0 : (uint64_t)i)) % 2 ? CALL_RECV : CALL_SEND;
			r->calls[k].peer = i ^ 1;
			r->calls[k].flags = RECORD_ALONE;
		}
		r->ncalls = r->view.issued = n;
		r->view.completed = i < 2 ? 22 : 24;
		strcpy(r->view.what, i < 2 ? "a scheduled call" : "the end of the schedule");
	}
	evidence.ranks[1].calls[23].state = RECORD_ISSUING;
	evidence.ranks[0].state = 'R';
	evidence.ranks[0].cpu_share = 1;
	expect(OUTCOME_HANG, "host-busy", "0", 24, 24, 24);
}

/* Behind a collective each receives from its neighbour; rank 3, or 1 and 3, from another one. */
UNIT_TEST(test_wrong_partner, "another partner")
{
	for (int two = 0; two < 2; two++) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			struct evidence_rank *r = &evidence.ranks[i];

			for (uint64_t k = 0; k < 9; k++) {
				r->calls[k] = make_call(k + 1, 100 - k);
				if (k % 3 == 0)
					continue;
				r->calls[k].kind = k % 3 == 1 ? CALL_SEND : CALL_RECV;
				r->calls[k].count = 100 - k / 3;
				r->calls[k].peer = i ^ 1;
			}
			if (i == 3 || (two && i == 1))
				r->calls[8].peer = i ^ 2;
			r->ncalls = r->view.issued = 9;
			r->view.completed = i == 3 ? 6 : 8;
		}
		expect(OUTCOME_HANG, "p2p-peer majority", two ? "1,3" : "3", 9, 9, 7);
	}
}

/* The first exchange, to the next in a ring: most, or half of the ranks send to another one. That accounts for
 * all that is open; receives from another one would not (four ranks over sockets: an innocent one was named). */
UNIT_TEST(test_first_partners, "strangers in the first exchange")
{
	static const struct {
		uint8_t to[4];
		const char *ranks;
	} table[] = { { { 2, 3, 3, 1 }, "0,1,3" }, { { 1, 3, 0, 0 }, "1,2" } };

	UNIT_ROWS(row, table) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			struct evidence_rank *r = &evidence.ranks[i];

			for (uint64_t k = 0; k < 2; k++) {
				r->calls[k] = make_call(k + 1, 100);
				r->calls[k].kind = k ? CALL_RECV : CALL_SEND;
				r->calls[k].peer = k ? (i + 3) % 4 : row->to[i];
			}
			r->ncalls = r->view.issued = 2;
			r->view.completed = 0;
		}
		finish();
		CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "p2p-peer");
		CU_ASSERT_STRING_EQUAL(found.ranks, row->ranks);
		CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence), "inconclusive");
	}
}

/* Every rank sends 100 elements to each; rank 3 sends 50 to rank 0, or to all. */
UNIT_TEST(test_amounts, "an alltoallv's amounts")
{
	for (int all = 0; all < 2; all++) {
		static struct record_header headers[4];

		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			struct record_counts *c = &headers[i].counts[OP % RECORD_COUNTS];

			play(i, OP, odd_count, true);
			evidence.ranks[i].calls[OP - 1].kind = CALL_ALLTOALLV;
			*c = (struct record_counts){ .seq = OP, .n = 4 };
			for (int k = 0; k < 4; k++) {
				c->recv[k] = 100;
				c->send[k] = i == 3 && (all ? k < 3 : k == 0) ? 50 : 100;
			}
			evidence.ranks[i].recorder = malloc(sizeof(headers[i]));
			memcpy(evidence.ranks[i].recorder, &headers[i], sizeof(headers[i]));
		}
		expect(OUTCOME_HANG, "mismatch", all ? "3" : "-", OP, OP, OP);
		UNIT_ALL(!strcmp(found.pair, "3>0"), !strcmp(found.field, "count"),
			 !strcmp(confidence_name(found.confidence),
				 all ? "majority" : "inconclusive"));
	}
}
