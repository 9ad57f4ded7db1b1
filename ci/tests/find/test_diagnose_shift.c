/* test_diagnose_shift.c: calls that a rank left out, or made once more: where, as far as the others'
 * calls tell, whichever call the ranks then stand in. */
#include "calls_played.h"

/* The harness' own: smaller from call to call, rounded down to the ranks' shares. */
static uint64_t slice_count(uint64_t seq)
{
	return ((1u << 20) - seq * (1u << 14)) / 4 / 7;
}

static uint64_t cycle_count(uint64_t seq)
{
	return 100 + seq % 5;
}

static uint64_t same_count(uint64_t seq)
{
	return 512;
}

/* Leave out (by < 0) or double (by > 0) call `op` of what was played, or swap it with the next. */
static void shift(int rank, int op, int by)
{
	struct evidence_rank *r = &evidence.ranks[rank];
	size_t k = (size_t)op - 1;

	if (by == 0) {
		uint64_t count = r->calls[k].count;

		r->calls[k].count = r->calls[k + 1].count;
		r->calls[k + 1].count = count;
	} else if (by < 0)
		memmove(&r->calls[k], &r->calls[k + 1], (r->ncalls - k - 1) * sizeof(*r->calls));
	else
		memmove(&r->calls[k + 1], &r->calls[k], (r->ncalls - k) * sizeof(*r->calls));
	r->ncalls += (size_t)by;
	r->view.issued = r->view.completed = r->ncalls;
	for (size_t i = 0; i < r->ncalls; i++) {
		r->calls[i].seq = i + 1;
		r->calls[i].ticket = i + 1;
	}
}

/* All made their calls (nccl): the others hang in the last, or the culprit in its extra one. */
static void shift_case(int nranks, uint32_t set, int by)
{
	char names[64];
	int64_t last = by < 0 ? CALLS : CALLS + 1;

	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		play(i, CALLS, odd_count, false);
		if (set & 1u << i)
			shift(i, OP, by);
	}
	name_set(set, names);
	if (by == 0)
		expect(OUTCOME_HANG, "swapped-calls", nranks == 2 ? "-" : names, OP, OP, -1);
	else if (by < 0)
		expect(OUTCOME_HANG, "skipped-call", names, OP, OP, last);
	else
		expect(OUTCOME_HANG, "extra-call", names, OP, OP + 1, last);
	CU_ASSERT_STRING_EQUAL(confidence_name(found.confidence),
			       nranks == 2 ? "inconclusive" : "majority");
	CU_ASSERT_STRING_EQUAL(found.field, by ? "call" : "order");
}

UNIT_TEST(test_shifts, "skipped and extra calls, guilty first, middle, last, two")
{
	uint32_t sets[4];

	for (size_t s = 0; s < 4; s++) {
		size_t n = culprit_sets(job_sizes[s], sets);

		for (size_t i = 0; i < n; i++)
			for (int by = -1; by <= 1; by++)
				shift_case(job_sizes[s], sets[i], by);
	}
}

/* PyTorch aborts a rank that NCCL has told of a lost one (ncclRemoteError): that one is the cause. */
UNIT_TEST(test_aborted_when_told, "aborted when told that another rank is gone")
{
	struct record_header *told =
		aligned_alloc(64, sizeof(*told)); /* evidence_release() frees it */

	all_but(4, 1, OP - 1, OP, odd_count, true);
	evidence.ranks[1].view.process = PROCESS_EXITED;
	evidence.ranks[1].view.outcome = OUTCOME_OK;
	evidence.ranks[3].view.process = PROCESS_KILLED;
	evidence.ranks[3].view.status = SIGABRT;
	evidence.ranks[3].recorder = told;
	memset(told, 0, sizeof(*told));
	told->inits[0].asked = 1 + 6;
	finish();
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "rank-exited");
	CU_ASSERT_STRING_EQUAL(found.ranks, "1");
}

/* MPI's TCP transport aborts a rank, culprit or not, whose call met another's arguments: the call is
 * the cause. A signal from outside, or one that came between calls, is its own. */
UNIT_TEST(test_aborted_in_call, "aborted within a call")
{
	static const struct {
		int process, status;
		bool inside;
		const char *class, *ranks;
		const char *error; /* that it reported before */
	} table[] = {
		{ PROCESS_KILLED, SIGSEGV, false, "extra-call", "1", "truncated" },
		{ PROCESS_KILLED, SIGABRT, true, "extra-call", "1", "" },
		{ PROCESS_KILLED, SIGSEGV, true, "extra-call", "1", "" },
		{ PROCESS_KILLED, SIGABRT, false, "rank-crashed", "3", "" },
		{ PROCESS_KILLED, SIGKILL, true, "rank-killed", "3", "" },
		{ PROCESS_EXITED, 7, true, "rank-exited", "3", "" },
	};

	UNIT_ROWS(row, table) {
		calls_set_up(4);
		for (int r = 0; r < 4; r++)
			play(r, OP + 1, odd_count, r != 3 || row->inside);
		shift(1, OP, 1);
		evidence.ranks[3].view.process = row->process;
		evidence.ranks[3].view.status = row->status;
		strcpy(evidence.ranks[3].view.error, row->error);
		finish();
		CU_ASSERT_EQUAL(found.outcome, OUTCOME_DIED);
		CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), row->class);
		CU_ASSERT_STRING_EQUAL(found.ranks, row->ranks);
	}
}

/* mpi: all stand in call OP, the culprit with the arguments of the next or of the one before. */
UNIT_TEST(test_shift_at_once, "shift seen in one call alone")
{
	uint64_t (*const schedules[])(uint64_t) = { step_count, cycle_count, slice_count };

	for (size_t c = 0; c < 3; c++)
		for (int n = 2; n <= 8; n *= 2)
			for (int culprit = 0; culprit < n; culprit += n - 1) {
				char name[16];

				sprintf(name, "%d", culprit);
				for (int by = -1; by <= 1; by += 2) {
					all_play(n, OP, schedules[c], true);
					evidence.ranks[culprit].calls[OP - 1].count =
						schedules[c](OP - by);
					if (by < 0)
						expect(OUTCOME_HANG, "skipped-call", name, OP, OP,
						       OP);
					else
						expect(OUTCOME_HANG, "extra-call", name, OP - 1, OP,
						       OP);
				}
			}
}

/* nccl: the skipped call let the culprit through, as counts are alike, and it runs ahead. */
UNIT_TEST(test_shift_runs_ahead, "a skipped call that let the guilty rank through")
{
	uint64_t (*const schedules[])(uint64_t) = { step_count, cycle_count, slice_count };

	for (size_t c = 0; c < 3; c++)
		for (int further = 1; further <= 7; further += 2) {
			all_but(4, 1, OP + further + 1, OP, schedules[c], false);
			shift(1, OP, -1);
			expect(OUTCOME_HANG, "skipped-call", "1", OP, OP, OP + 1);
		}
	/* no regularity: the next call is not known */
	all_but(4, 1, OP + 2, OP, odd_count, false);
	shift(1, OP, -1);
	finish();
	finds("* unexplained * inconclusive");
}

static uint64_t twins_count(uint64_t seq)
{
	return seq >= 18 && seq <= 22 ? 777 : odd_count(seq);
}

UNIT_TEST(test_identical_neighbours, "identical neighbours leave an interval")
{
	all_play(4, CALLS, twins_count, false);
	shift(1, OP, -1);
	expect(OUTCOME_HANG, "skipped-call", "1", 18, 22, CALLS);
	all_play(4, CALLS, twins_count, false);
	shift(2, OP, 1);
	expect(OUTCOME_HANG, "mismatch", "-", 18, 23, CALLS + 1); /* or the others left one out */
	/* nothing but identical calls: one too few, and in another place than the others */
	all_but(4, 3, CALLS - 1, CALLS, same_count, true);
	strcpy(evidence.ranks[3].view.what, "the start of a batch");
	expect(OUTCOME_HANG, "skipped-or-early-exit", "3", 1, CALLS, CALLS);
	/* one too many, or the others one too few */
	calls_set_up(4);
	for (int i = 0; i < 4; i++)
		play(i, i == 0 ? CALLS + 1 : CALLS, same_count, i == 0);
	for (int i = 1; i < 4; i++)
		strcpy(evidence.ranks[i].view.what, "the start of a batch");
	expect(OUTCOME_HANG, "mismatch", "-", 1, CALLS + 1, CALLS + 1);
}

/* Three of four ranks are culprits, in calls as the schedule goes on with, or with another count: numbers
 * speak for them, what was made before and after for the fourth, so that no rank is named. One of
 * four that does the same is named. */
UNIT_TEST(test_most_guilty, "three of four are guilty, or one")
{
	static const struct {
		uint64_t (*counts)(uint64_t);
		int calls, by; /* of all; OP left out or made twice, 0: left before it */
		const char *class;
	} table[] = {
		{ odd_count, CALLS, -1, "skipped-call" },
		{ odd_count, CALLS, 1, "extra-call" },
		{ step_count, CALLS, -1, "skipped-call" },
		{ step_count, OP + 1, -1, "skipped-call" }, /* mpi: it stands in call OP */
		{ slice_count, OP + 1, -1, "skipped-call" },
		{ slice_count, CALLS, 1, "extra-call" },
		{ step_count, OP, 0, "skipped-or-early-exit" },
		{ slice_count, CALLS, 0, "early-exit" },
	};

	UNIT_ROWS(row, table)
		for (unsigned wrong = 8; wrong > 0; wrong = wrong == 8 ? 7 : 0) {
			bool most = wrong != 8;

			calls_set_up(4);
			for (int r = 0; r < 4; r++) {
				bool guilty = wrong & 1u << r;
				int stop = guilty && row->by == 0 ? OP - 1 : row->calls;

				play(r, stop, row->counts, !guilty && row->by == 0);
				if (guilty && row->by)
					shift(r, OP, row->by);
				else if (guilty)
					strcpy(evidence.ranks[r].view.what, "the end");
			}
			finish();
			UNIT_ALL(!strcmp(class_name(found.class, found.outcome),
					 most ? "mismatch" : row->class),
				 !strcmp(found.ranks, most ? "-" : "3"),
				 (strcmp(confidence_name(found.confidence), "inconclusive") == 0) ==
					 most,
				 !strcmp(found.field, "call"),
				 found.seq_high == OP + (row->by > 0));
		}
}

static void drop_oldest(int rank, size_t n)
{
	struct evidence_rank *r = &evidence.ranks[rank];

	memmove(r->calls, r->calls + n, (r->ncalls - n) * sizeof(*r->calls));
	r->ncalls -= n;
	r->wrapped = true;
}

UNIT_TEST(test_wrapped, "wrapped rings")
{
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		play(i, CALLS, odd_count, false);
		if (i == 2)
			shift(i, OP, -1);
		drop_oldest(i, (size_t)(5 + i));
	}
	expect(OUTCOME_HANG, "skipped-call", "2", OP, OP, CALLS);
	/* the divergence itself has left the ring */
	calls_set_up(4);
	for (int i = 0; i < 4; i++) {
		play(i, CALLS, odd_count, false);
		if (i == 2)
			shift(i, 5, -1);
		drop_oldest(i, 10);
	}
	expect(OUTCOME_HANG, "skipped-call", "2", 1, 11, CALLS);
	/* so far behind that no call number is in both rings */
	all_but(4, 1, 5, CALLS, odd_count, false);
	for (int i = 0; i < 4; i++)
		if (i != 1)
			drop_oldest(i, 20);
	strcpy(evidence.ranks[1].syscall, "pause");
	expect(OUTCOME_HANG, "missing-call", "1", 6, 6, 6);
}

/* An uneven exchange has one count for all ranks: a call left out is seen by it. */
UNIT_TEST(test_uneven_exchange, "uneven exchanges")
{
	for (int kind = 0; kind <= 1; kind++) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			play(i, CALLS, odd_count, false);
			for (int k = 0; k < CALLS; k++)
				evidence.ranks[i].calls[k].kind = kind ? CALL_SEND : CALL_ALLTOALLV;
			if (i == 2 && !kind)
				shift(i, OP, -1);
			for (int k = 0; kind && k < CALLS; k++)
				evidence.ranks[i].calls[k].count += (uint64_t)i;
		}
		if (kind) /* sends of other sizes are no difference */
			expect(OUTCOME_HANG, "unexplained", "-", -1, -1, -1);
		else
			expect(OUTCOME_HANG, "skipped-call", "2", OP, OP, CALLS);
	}
}

/* Another amount or type, and the rank is let go on while the others stand: what it made next is the
 * schedule's (two H200 over P2P: told as unexplained after 4 s). */
UNIT_TEST(test_field_let_go, "a mismatch that let the guilty rank go on")
{
	for (int nranks = 2; nranks <= 4; nranks += 2)
		for (int narrow = 0; narrow < 2; narrow++) {
			calls_set_up(nranks);
			for (int i = 0; i < nranks; i++)
				play(i, OP, step_count, i < nranks - 1);
			play(nranks - 1, OP + 1, step_count, false);
			if (narrow)
				evidence.ranks[nranks - 1].calls[OP - 1].dtype = DT_HALF;
			else
				evidence.ranks[nranks - 1].calls[OP - 1].count /= 2;
			expect(OUTCOME_HANG, "mismatch", nranks == 2 ? "-" : "3", OP, OP, OP);
			UNIT_ALL(!strcmp(found.field, narrow ? "dtype" : "count"),
				 !strcmp(confidence_name(found.confidence),
					 nranks == 2 ? "inconclusive" : "majority"));
		}
}

/* One call has the wrong amount, and the rank goes on to a call of another kind, while the others stand: the kinds that
 * come by turns say that it left none out. G: the program's own, S, the others by turns; P: sends and receives. */
UNIT_TEST(test_field_by_turns, "a mismatch before a call of another kind")
{
	static const struct {
		const char *
			turns; /* the kinds of all ranks' calls; rank 3 makes all, the others not the last */
		int by; /* rank 3's amount of the call in which the others stand */
		const char *finds;
	} table[] = {
		{ "GaGbGGGPPGcGdGaGb", 1, "error mismatch 3 majority" },
		{ "GPPGPPGPPGPPGPPGP", 1, "error mismatch 3 majority" },
		/* it may be the call that comes there next time */
		{ "GaGbGGGPPGcGdGaGb", -200, "error unexplained 3 inconclusive" },
		/* or a call was left out: the kinds come in no order, or in the next one's */
		{ "GaabbGbGcGaabGaGb", 1, "error unexplained 3 inconclusive" },
		{ "GGaGGbGGcGGdGa", 1, "error unexplained 3 inconclusive" },
	};

	UNIT_ROWS(row, table) {
		size_t n = strlen(row->turns);

		calls_set_up(4);
		for (int i = 0; i < 4; i++) {
			play(i, (int)n - (i < 3), odd_count, true);
			for (size_t k = 0, own = 0; k < evidence.ranks[i].ncalls; k++) {
				struct record *r = &evidence.ranks[i].calls[k];
				char kind = row->turns[k];

				own += kind == 'G';
				r->kind = kind == 'G' ? CALL_ALL_GATHER
					  : kind == 'P'
						  ? CALL_SEND
						  : (uint8_t)(CALL_REDUCE_SCATTER + kind - 'a');
				r->op = OP_NONE;
				r->peer = kind == 'P' ? i ^ 1 : -1;
				r->count = 9000 - 100 * own;
				if (i == 3 && k == n - 2)
					r->count += (uint64_t)row->by;
			}
		}
		evidence.ranks[0].view.process = PROCESS_EXITED;
		evidence.ranks[0].view.outcome = evidence.ranks[0].view.status = OUTCOME_ERROR;
		finish();
		finds(row->finds);
	}
}

static uint64_t layers_count(uint64_t seq)
{
	return (seq - 1) / 8 % 2 ? 512 : 256;
}

/* FSDP2's runs of calls alike, the second of which has another type in one rank; all go on and are through (two H200: as
 * the call stood twice with the others, they were told to have made one too many). */
UNIT_TEST(test_field_in_run, "another type in a run of calls alike")
{
	all_play(4, CALLS, layers_count, false);
	evidence.ranks[1].calls[17].dtype = DT_INT32;
	finish();
	UNIT_ALL(found.class == CLASS_MISMATCH, found.seq_low == 18, !strcmp(found.ranks, "1"),
		 !strcmp(found.field, "dtype"));
}

static uint64_t round_count(uint64_t seq)
{
	return seq % 3 == OP % 3 ? odd_count(seq) : 512;
}

/* Half of the ranks made a call unlike all others of theirs, which the others may have left out; or two of
 * the last round in the other order, as if they had one more (two H100: the innocent one was named). */
UNIT_TEST(test_two_sides, "one against one, in either order or one more")
{
	for (int nranks = 2; nranks <= 4; nranks += 2)
		for (int culprit = 0; culprit < 2; culprit++)
			for (int swapped = 0; swapped < 2; swapped++) {
				calls_set_up(nranks);
				for (int i = 0; i < nranks; i++) {
					play(i, OP + 2, round_count, false);
					if (i % 2 != culprit)
						continue;
					shift(i, OP, !swapped);
					if (!swapped)
						evidence.ranks[i].calls[OP - 1].kind = CALL_REDUCE;
				}
				finish();
				UNIT_ALL(!strcmp(class_name(found.class, found.outcome),
						 swapped ? "swapped-calls" : "mismatch"),
					 !strcmp(found.ranks, "-"),
					 !strcmp(confidence_name(found.confidence), "inconclusive"),
					 found.seq_low == OP);
			}
	/* one more, and no more than the other has made: nothing of what it would be fits */
	calls_set_up(2);
	play(0, OP + 1, same_count, false);
	shift(0, OP, 1);
	evidence.ranks[0].calls[OP - 1].kind = CALL_REDUCE;
	play(1, OP + 4, same_count, false);
	finish();
	finds("* mismatch - *");
}

/* Steps of six buckets and a loss; something else before every third: 7, 7, 8 calls. */
static uint64_t bucket_count(uint64_t seq)
{
	uint64_t at = (seq - 1) % 22;

	return at == 0 ? 5 : (at - 1) % 7 == 6 ? 1 : 4000;
}

/* One of two ranks leaves out the loss of a step with something before it, and goes on to its next buckets: that
 * six came after each other does not say that a seventh would (two H200: the other one was named). */
UNIT_TEST(test_run_ends, "two ranks, a run of calls alike that ends")
{
	for (int culprit = 0; culprit < 2; culprit++) {
		all_but(2, culprit, 46, 43, bucket_count, false);
		shift(culprit, 30, -1);
		expect(OUTCOME_HANG, "skipped-call inconclusive", culprit ? "1" : "0", 30, 30, 44);
	}
}
