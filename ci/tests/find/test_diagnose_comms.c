/* test_diagnose_comms.c: several communicators, and sends and receives, of a few ranks: which rank
 * waits for which, and the one that is named. */
#include "calls_played.h"

/* Rows leave out what is NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* Calls are told in letters. A digit is an all-reduce on that communicator; behind it: g an all-gather instead, ' on a stream
 * of its own, sN a send to N, rN a receive from N, + or - of another amount, = of that of the call before. * launched in a
 * graph, | what stands before it has completed, ! the last call has not returned (then calls block, else they queue), z asleep
 * in host code, e past the last call, a made outside of a group, x ended by an error, f ended well.
 *
 * p: the rank is of any program. @X called from line X, d its communicator is destroyed, vN an alltoallv that sends N to each and
 * expects 8. wN the rank stands in line N, t PyTorch knows which calls are over, ? nothing is known of it, q its host is silent. */
struct row {
	const char *what;
	const char *teams;   /* of communicators 1, 2...: a letter per rank, . for none */
	const char *before;  /* what all have made, completed */
	const char *calls;   /* of each rank, commas between */
	const char *verdict; /* class, ranks, communicator, call, confidence */
	const char *line;    /* NULL: any */
};

static void set_teams(const char *teams, int nranks)
{
	for (uint32_t comm = 1; *teams; comm++, teams += nranks + (teams[nranks] == ' '))
		for (int i = 0, place; i < nranks; i++) {
			struct evidence_rank *r = &evidence.ranks[i];
			struct record_init *init;

			if (!r->recorder)
				r->recorder = aligned_alloc(64, sizeof(*r->recorder));
			if (comm == 1)
				memset(r->recorder, 0, sizeof(*r->recorder));
			init = &r->recorder->inits[comm];
			place = init->nranks = 0;
			for (int k = 0; k < nranks; k++) {
				init->nranks += teams[k] == teams[i];
				place += k < i && teams[k] == teams[i];
			}
			init->rank = place;
			init->id = (uint64_t)teams[i];
			init->state = teams[i] == '.' ? RECORD_COMM_NONE : RECORD_COMM_READY;
		}
}

/* Amounts are those of the round: of the last collective on the communicator. */
static void add_call(struct evidence_rank *r, uint32_t comm)
{
	uint64_t seq = 1, round = 1;

	for (size_t k = 0; k < r->ncalls; k++) {
		seq += r->calls[k].comm == comm;
		round += r->calls[k].comm == comm && r->calls[k].kind < CALL_SEND;
	}
	r->calls[r->ncalls] = make_call(r->ncalls + 1, step_count(round));
	r->calls[r->ncalls].comm = (uint16_t)comm;
	r->calls[r->ncalls].seq = seq;
	r->view.issued = ++r->ncalls;
}

static void tell_pair(struct record *last, char kind, char peer)
{
	last->kind = kind == 's' ? CALL_SEND : CALL_RECV;
	last->op = OP_NONE;
	last->count -= step_count(1);
	last->peer = peer - '0';
}

static struct record_header *recorder_of(struct evidence_rank *r)
{
	if (!r->recorder) {
		r->recorder = aligned_alloc(64, sizeof(*r->recorder));
		memset(r->recorder, 0, sizeof(*r->recorder));
	}
	return r->recorder;
}

static void tell_line(struct evidence_rank *r, struct record *last, char line)
{
	if (!r->sites) {
		r->nsites = 32;
		r->sites = calloc(r->nsites, sizeof(*r->sites));
		for (int i = 1; i < 32; i++) {
			r->sites[i].hash = 1000ull * (uint64_t)i;
			snprintf(r->sites[i].text, sizeof(r->sites[i].text), "job/a.py:%d (step)",
				 i);
		}
	}
	last->site = (uint16_t)(line - '@');
}

/* Its part of an alltoallv, in all of which each rank expects 8 elements of each. */
static void tell_counts(struct evidence_rank *r, struct record *last, char sent)
{
	struct record_counts *c = &recorder_of(r)->counts[0];

	last->kind = CALL_ALLTOALLV;
	last->op = OP_NONE;
	*c = (struct record_counts){ .seq = last->seq,
				     .comm = last->comm,
				     .n = (uint32_t)evidence.nranks };
	for (uint32_t i = 0; i < c->n; i++) {
		c->send[i] = i == (uint32_t)r->view.rank ? 8 : (uint32_t)(sent - '0');
		c->recv[i] = 8;
	}
}

/* The rank waits in a call of communicator 0 that ranks in init have not come to. */
static void hold_up(struct evidence_rank *r)
{
	r->view.oldest = r->calls[r->ncalls - 1];
	r->view.comms[0].seq = ++r->view.oldest.seq;
	r->view.waiting = r->view.overdue = 1;
}

/* A letter of the second list. Returns how many letters were taken; 0: it is none. */
static int tell_program(struct evidence_rank *r, struct record *last, const char *calls)
{
	if (*calls == '@')
		tell_line(r, last, calls[1]);
	else if (*calls == 'v')
		tell_counts(r, last, calls[1]);
	else if (*calls == 'w')
		snprintf(r->where, sizeof(r->where), "a.py:%c (step)", calls[1]),
			r->view.waiting = 0;
	else if (*calls == 'p')
		recorder_of(r)->preloaded = 1;
	else if (*calls == 'd')
		recorder_of(r)->inits[last->comm].state = RECORD_COMM_ABORTED;
	else if (*calls == 't')
		r->view.device_wait = RECORD_DEVICE_AWAITED, strcpy(evidence.program, "PyTorch");
	else if (*calls == '?')
		r->present = false;
	else if (*calls == 'q')
		r->view.lost = LOST_SILENT, strcpy(r->view.host, "node2");
	else
		return 0;
	return strchr("@vw", *calls) ? 2 : 1;
}

static void tell(struct evidence_rank *r, const char *calls)
{
	int taken;

	for (; *calls && *calls != ','; calls++) {
		struct record *last = r->ncalls ? &r->calls[r->ncalls - 1] : NULL;

		if ((taken = tell_program(r, last, calls)) > 0)
			calls += taken - 1;
		else if (*calls >= '0' && *calls <= '9')
			add_call(r, (uint32_t)(*calls - '0'));
		else if (*calls == '|')
			r->view.completed = r->ncalls;
		else if (*calls == 'z')
			strcpy(r->syscall, "clock_nanosleep"), r->state = 'S';
		else if (*calls == 'e')
			strcpy(r->view.what, "the slowest rank's figures");
		else if (*calls == '!')
			last->state = RECORD_ISSUING;
		else if (*calls == '\'')
			last->stream = 1;
		else if (*calls == 'a')
			last->flags |= RECORD_ALONE;
		else if (*calls == 'g')
			last->kind = CALL_ALL_GATHER;
		else if (*calls == '*')
			last->replays++;
		else if (*calls == 'x')
			r->view.outcome = OUTCOME_ERROR, r->view.error_code = -5,
			r->view.process = PROCESS_EXITED, r->view.status = OUTCOME_ERROR;
		else if (*calls == 'f')
			r->view.outcome = OUTCOME_OK, r->view.process = PROCESS_EXITED,
			r->view.waiting = r->view.overdue = 0;
		else if (*calls == '=')
			last->count = last[-1].count;
		else if (*calls == '+' || *calls == '-')
			last->count += *calls == '+' ? 7 : -7ull;
		else if (*calls != ' ')
			tell_pair(last, calls[0], calls[1]), calls++;
	}
}

static void play_row(const struct row *row)
{
	const char *calls = row->calls;
	int nranks = 1;

	for (const char *c = calls; *c; c++)
		nranks += *c == ',';
	calls_set_up(nranks);
	set_teams(row->teams, nranks);
	for (int i = 0; i < nranks; i++, calls += strcspn(calls, ",") + 1) {
		struct evidence_rank *r = &evidence.ranks[i];

		tell(r, row->before);
		tell(r, "|");
		tell(r, calls);
		if (r->ncalls)
			r->view.last = r->calls[r->ncalls - 1];
		evidence_index(r);
	}
	strcpy(evidence.backend, strchr(row->calls, '!') ? "mpi" : "nccl");
	finish();
}

/* A collective, then pairs of ranks hand over, outside of groups: the lower one sends first. */
#define H0	  "0 0s1 0r1|"
#define H1	  "0 0r0 0s0|"
#define H2	  "0 0s3 0r3|"
#define H3	  "0 0r2 0s2|"
#define TIMES3(h) h h h
/* Steps of three ranks: a collective, an exchange, a smaller collective. */
#define X0	  "0 0s1 0r1 0s2 0r2 0s1 0r1 0s2 0r2 0s1 0r1 0-"
#define X1	  "0 0s0 0r0 0s2 0r2 0s0 0r0 0s2 0r2 0s0 0r0 0-"
#define X2	  "0 0s0 0r0 0s1 0r1 0s0 0r0 0s1 0r1 0s0 0r0 0-"
#define TIMES5(h) h h h h h

/* Calls that are alike, of a line each. */
#define LA   "0=@A"
#define LC   "0=@C"
#define ABC  LA "0=@B" LC
#define ABC8 ABC ABC ABC ABC ABC ABC ABC ABC

static const struct row rows[] = {
	{ "asleep before a call of its half", "aabb", "010101", "10!, 10!, 1!, z",
	  "missing-call 3 comm=1 seq=4 proved", "Communicator 1 is that of ranks 2,3." },
	{ "the same, of a rank that never made one of it", "aabb", "", "10!, 10!, 1!, z",
	  "missing-call 3 comm=1 seq=1 proved" },
	{ "asleep before a call of all", "aabb", "010101", "10!, 10!, 10!, 1|z",
	  "missing-call 3 comm=0 seq=4 proved" },
	{ "one asleep in each half", "aa.. ..bb", "", "0z, 01!, 02!, 0z",
	  "missing-call 0,3 comm=1 seq=1 proved" },
	{ "a call too many, of a half", "aa.. ..bb", "",
	  "010101011=!, 010101010!, 020202020!, 020202020!", "extra-call 0 comm=1 seq=4 majority" },
	{ "the others are no members", ".aa.", "0", "0!, 1!, z, 0!",
	  "missing-call 2 comm=1 seq=1 proved" },
	{ "two communicators in the other order", "aaaa", "010101", "0!, 0!, 1!, 0!",
	  "order-cycle 2 comm=0 seq=4 majority",
	  "Rank 0 waits in AllReduce call 4 of communicator 0 for rank 2, which waits in AllReduce "
	  "call 4 of communicator 1 for rank 0." },
	{ "the same, enqueued", "aaaa", "010101", "01, 01, 10, 01",
	  "order-cycle 2 comm=0 seq=4 majority",
	  "By the order of most rank 2 should have made call 4 of communicator 0 first, and made "
	  "call 4 of communicator 1 first." },
	{ "on streams of their own nothing queues", "aaaa", "010101", "01', 01', 1'0, 01'",
	  "unexplained - comm=0 seq=-1 inconclusive" },
	{ "half of the ranks", "aaaa", "010101", "0!, 0!, 1!, 1!",
	  "order-cycle 2,3 comm=0 seq=4 majority" },
	{ "half of the ranks, and nothing before", "aaaa", "", "0!, 0!, 1!, 1!",
	  "order-cycle - comm=1 seq=1 inconclusive",
	  "As many ranks make the one call first as the other: either order may be the wrong "
	  "one." },
	{ "its half before all: the other half shows the order", "aa.. ..bb", "",
	  "010!, 010!, 020!, 022!", "order-cycle 3 comm=0 seq=2 majority" },
	{ "three communicators of two", "aa. .bb c.c", "", "1313133!, 1212121!, 2323232!",
	  "order-cycle 0 comm=1 seq=4 majority",
	  "Rank 0 waits in AllReduce call 4 of communicator 3 for rank 2, which waits in AllReduce "
	  "call 4 of communicator 2 for rank 1, which waits in AllReduce call 4 of communicator 1 "
	  "for rank 0." },
	{ "a send of less", "", "",
	  TIMES5(H0) "|0, " TIMES5(H1) "|0, " TIMES5(H2) "| 0 0s3-, " TIMES5(H3) "| 0 0r2 0s2",
	  "p2p-size 2 comm=0 seq=17 majority 2>3" },
	{ "two sizes, and nothing before", "", "", "0, 0, 00s3-, 00r20s2",
	  "p2p-size - comm=0 seq=2 inconclusive 2>3" },
	{ "a send to another rank", "", "",
	  TIMES5(H0) H0 "0!, " TIMES5(H1) H1 "0!, " TIMES5(H2) "0 0s0!, " TIMES5(H3) "0 0r2!",
	  "p2p-peer 2 comm=0 seq=17 majority 2>3" },
	{ "a receive left out", "", "",
	  TIMES5(H0) H0 "0!, " TIMES5(H1) H1 "0!, " TIMES5(H2) "0 0s3 0!, " TIMES5(H3) "0 0r2 0s2!",
	  "p2p-unmatched 2 comm=0 seq=18 majority 3>2" },
	{ "a receive too many", "", "",
	  TIMES5(H0) H0 "0!, " TIMES5(H1) H1 "0!, " TIMES5(H2) H2 "0r3!, " TIMES5(H3) H3 "0!",
	  "p2p-unmatched 2 comm=0 seq=18 majority 3>2" },
	{ "both send first", "", "",
	  TIMES5(H0) H0 "0!, " TIMES5(H1) H1 "0!, " TIMES5(H2) "0 0s3!, " TIMES5(H3) "0 0s2!",
	  "p2p-deadlock 3 comm=0 seq=17 majority 3>2",
	  "Rank 2 waits in Send call 17 of communicator 0 for rank 3, which waits in Send call 17 "
	  "of communicator 0 for rank 2." },
	{ "both send first on their streams, none of it in a group", "", "",
	  TIMES5(H0) H0 "0, " TIMES5(H1) H1 "0, " TIMES5(H2) "0 0s3a0r3a, " TIMES5(H3) "0 0s2a0r2a",
	  "p2p-deadlock 3 comm=0 seq=17 majority 3>2" },
	{ "both send first, as ever", "", "", "0s1 0r1|e, 0r0 0s0|e, 0s3!, 0s2!",
	  "p2p-deadlock 2,3 comm=0 seq=1 inconclusive 2>3" },
	{ "a graph launched once less", "", "", "0*0**, 0*0**, 0*0**, 00**",
	  "graph-replay 3 comm=0 seq=1 majority" },
	{ "the last graph not launched, and waited for", "", "", "0*0*, 0*0*, 0*0*, 0*0|e",
	  "graph-replay 3 comm=0 seq=2 majority" },
	{ "another amount in a graph that did not run as often", "", "",
	  "0*0**0*, 0*0**0*, 0*0**0*, 0*0*0-*", "mismatch 3 comm=0 seq=3 majority" },
	{ "left before a send that one made", "", "",
	  "0s1 0r1|e, 0r0 0s0|e, 0s3 0r3 0s3+, 0r2 0s2|e", "mismatch - comm=0 seq=3 inconclusive" },
	{ "half made the last once more", "", "", "0000=, 000|e",
	  "extra-call 0 comm=0 seq=3 inconclusive" },
	{ "the first made twice", "", "", "00=, 0|e, 0|e",
	  "extra-call 0 comm=0 seq=1 inconclusive" },
	{ "the last receive of half made twice", "", "",
	  TIMES5(H0) "0 0s1 0r1 0r1, " TIMES5(H1) "0 0r0 0s0|e",
	  "p2p-unmatched 0 comm=0 seq=18 inconclusive 1>0" },
	{ "most made a receive twice", "", "",
	  "0 0s1 0r3 0r3, 0 0s2 0r0 0r0, 0 0s3 0r1|0, 0 0s0 0r2 0r2",
	  "mismatch - comm=0 seq=4 inconclusive" },
	{ "of less, beside one that has no part in sends", "", "",
	  TIMES5(H0) "0- 0s1 0r1, " TIMES5(H1) "0 0r0 0s0, 000000",
	  "mismatch 0 comm=0 seq=16 majority" },
	{ "both receive first, calls queue", "", "",
	  TIMES5(H0) "0 0r1a 0s1a, " TIMES5(H1) "0 0r0a 0s0a",
	  "p2p-deadlock 0 comm=0 seq=17 majority 1>0" },
	{ "a receive too many before both receive first", "", "", "0|0r1a 0s1a 0r1a, 0|0r0a 0s0a",
	  "p2p-unmatched 0 comm=0 seq=2 inconclusive 1>0" },
	{ "a send too many about a receive", "", "",
	  TIMES5(H0) "0 0s1 0r1 0 0s1 0r1, " TIMES5(H1) "0 0s0 0r0 0s0 0 0r0 0s0 0",
	  "p2p-unmatched 1 comm=0 seq=19 inconclusive 1>0" },
	{ "the first group lacks a send, and ends with an error", "", "", "0s1 0r1, 0r0x",
	  "p2p-unmatched 0,1 comm=0 seq=1 inconclusive 1>0" },
	{ "one made a last send twice", "", "",
	  TIMES5(H0) "0 0s1 0s1 0r1, " TIMES5(H1) "0 0r0 0s0|e, " TIMES5(H2) "0 0s3 0r3|e, " TIMES5(
		  H3) "0 0r2 0s2|e",
	  "p2p-unmatched 0 comm=0 seq=19 inconclusive 1>0" },
	{ "who has ended waits for nobody", "aa", "01", "0s1f, 1",
	  "skipped-or-early-exit 0 comm=1 seq=2 inconclusive" },
	/* each row of the table of rules that no case above needs */
	{ "a line left out", "", "0", ABC8 ABC ABC "!, " ABC8 LA LC ABC "z, " ABC8 ABC ABC "!",
	  "skipped-call 1 comm=0 seq=27 majority" },
	{ "left alone", "aaa", "01", "p1|d, p1|d, p11!", "extra-call 2 comm=1 seq=3 majority" },
	{ "an alltoallv", "", "0", "0v8!, 0v8!, 0v9!, 0v8!",
	  "mismatch 2 comm=0 seq=2 majority 2>0" },
	{ "a silent host", "", "0", "0!, 0!, 0!, |q", "host-silent - comm=-1 seq=-1 inconclusive" },
	{ "in other lines", "", "0", "pw9, pw9, pw7", "other-wait 2 comm=-1 seq=-1 majority" },
	{ "PyTorch's call is over on most", "", "0", "0|0t, 0|0t, 0t",
	  "rank-behind 2 comm=0 seq=2 majority" },
	{ "no dump of it", "", "0", "0t, 0t, ?", "rank-unseen 2 comm=0 seq=2 inconclusive" },
	{ "parts of two are open", "", "0", "p0r2, p0r3, p0s3|z, p0r2|z",
	  "missing-call 2 comm=0 seq=3 inconclusive 2>0" },
	{ "in a circle", "", "0", "p0r1!, p00!, p0!",
	  "p2p-unmatched - comm=0 seq=2 inconclusive 1>0" },
	{ "sends and receives to the next rank but one", "", "",
	  "0s1!, 0r2!, 0s3|e, 0r2|e, 0s6!, 0r4!, 0s7|e, 0r6|e",
	  "unexplained - comm=0 seq=-1 inconclusive", "Rank 0 waits in call 1 (Send count" },
	{ "a send that it always made", "", "",
	  "p" TIMES5("0s1 0r2") "0s1 0r2, p" TIMES5("0s2 0r0") "0r0, p" TIMES5("0s0 0r1") "0s0 0r1",
	  "p2p-unmatched 1 comm=0 seq=11 majority 1>2" },
	{ "a send that all make", "", "",
	  TIMES5("0s1 0r2") "0s1 0r2, " TIMES3("0s2 0r0") "0r0 0s2 0r0 0s2 0r0, " TIMES5(
		  "0s0 0r1") "0s0 0r1",
	  "p2p-unmatched 1 comm=0 seq=7 majority 1>2" },
	{ "it owes a receive its part, and has made more calls", "", "", "p0r2 0, p0r2, p0s0 0s0|z",
	  "missing-call 2 comm=0 seq=3 proved 2>1" },
	{ "all send first, and a rank sleeps until its calls are over", "", "",
	  "p0|0s1a 0r1az, p0|0s0a 0r0a, p0|0s0a 0r0a",
	  "p2p-deadlock - comm=0 seq=2 inconclusive 0>1" },
	{ "an exchange left out is a single call", "", "",
	  "p" TIMES3(X0) "0, p" X1 "0 0-" X1 "0, p" TIMES3(X2) "0",
	  "p2p-unmatched 1 comm=0 seq=14 majority 1>2" },
	{ "a graph that is not launched yet", "", "", "0*0*, 0*0*, 0*0*, 0*|0z",
	  "unexplained - comm=0 seq=-1 inconclusive" },
};

UNIT_TEST(test_rows, "who waits for whom")
{
	UNIT_ROWS(row, rows) {
		char verdict[512];

		play_row(row);
		snprintf(verdict, sizeof(verdict), "%s %s comm=%ld seq=%ld %s%s%s",
			 class_name(found.class, found.outcome), found.ranks, (long)found.comm,
			 (long)found.seq_low, confidence_name(found.confidence),
			 found.pair[0] ? " " : "", found.pair);
		CU_ASSERT_STRING_EQUAL(verdict, row->verdict);
		if (strcmp(verdict, row->verdict) != 0)
			printf("\n  %s: wanted %s, found %s\n", row->what, row->verdict, verdict);
		CU_ASSERT(!row->line || said(row->line));
	}
}

/* Rank i: its letters of communicators 1 to 3. */
static void tell_inits(int i, const char *first, const char *second, const char *third,
		       int announced)
{
	struct evidence_rank *r = &evidence.ranks[i];
	const char *const letters[] = { first, second, third ? third : "...." };

	play(i, 3, step_count, false);
	r->view.comms[0].id = 1;
	r->view.comms[0].seq = 3;
	r->recorder = aligned_alloc(64, sizeof(*r->recorder));
	memset(r->recorder, 0, sizeof(*r->recorder));
	r->recorder->inits[0] =
		(struct record_init){ .state = RECORD_COMM_READY, .id = 1, .rank = i, .nranks = 4 };
	for (int c = 1; c <= 3; c++) {
		bool more = letters[c - 1][i] == '+';
		bool again = letters[c - 1][i] == '!';
		char letter = more || again ? 'A' : letters[c - 1][i];
		bool inside = letter >= 'A' && letter <= 'Z';
		unsigned char wide[COMM_ID_BYTES];
		int32_t n = !inside ? 2 : announced ? announced : RECORD_CHILD(0);

		r->view.waiting = r->view.overdue = inside || r->view.overdue;
		r->view.comms[c].state = inside ? RECORD_COMM_INIT : RECORD_COMM_NONE;
		if (letter == 'h')
			hold_up(r);
		if (!isalpha(letter) || letter == 'h')
			continue;
		r->recorder->inits[c] = (struct record_init){
			.state = inside ? RECORD_COMM_INIT : RECORD_COMM_READY,
			.id = again ? record_again_id(1, 1, wide) : (uint64_t)(letter & 31) + 100,
			.rank = inside && !announced ? RECORD_CHILD(1) : i,
			.nranks = n + more
		};
	}
	strcpy(r->view.what, "communicator init");
	strcpy(r->syscall, "clock_nanosleep");
	r->state = 'S';
}

/* The init of a later communicator: letters are ids, upper case where the rank is inside, . where it is
 * not; of communicator 1, then of 2. `announced`: ranks of the one that some are inside, 0: it is a
 * split of communicator 0. */
UNIT_TEST(test_later_init, "init of a later communicator")
{
	static const struct {
		const char *first, *second;
		int announced;
		const char *finds, *line, *third;
	} inits[] = {
		{ "AAA.", "....", 4, "hang init-missing-rank 3 majority",
		  "3 of 4 ranks are inside a" },
		{ "aabb", "C...", 2, "hang init-missing-rank 1 majority",
		  "1 of 2 ranks are inside a" },
		{ "abab", "..C.", 2, "hang init-missing-rank 0 majority",
		  "1 of 2 ranks are inside a" },
		/* two older ones of two ranks have rank 0: its partner here is not known */
		{ "aabb", "efef", 2, "hang init-missing-rank 1,2,3 inconclusive",
		  "Who the others are is not known: 1 of ranks 1,2,3.", "C..." },
		{ "C...", "....", 2, "hang init-missing-rank 1,2,3 inconclusive",
		  "Who the others are is not known: 1 of ranks 1,2,3." },
		{ "ABA.", "....", 0, "hang init-missing-rank 3 majority",
		  "3 of 4 ranks are inside a" },
		{ "AAAA", "....", 4, "hang * - *", "" }, /* all are there */
		/* made in another order: they wait for each other, unless another rank may come ('h': the ranks in init hold it up) */
		{ "AAAB", "....", 4, "hang init-mismatch 3 majority",
		  "Rank 0 is in the init of one communicator, rank 3 in another's" },
		{ "BBAA", "....", 4, "hang init-mismatch - inconclusive",
		  "Rank 0 is in the init of one communicator, rank 2 in another's" },
		{ "ABCD", "....", 4, "hang init-mismatch - inconclusive",
		  "Rank 0 is in the init of one communicator, rank 1 in another's" },
		{ "AB..", "....", 2, "hang init-missing-rank 2,3 inconclusive",
		  "Who the others are is not known: 1 of ranks 2,3." },
		{ "ABh.", "....", 2, "hang init-missing-rank 3 majority", "1 of 2 ranks" },
		{ "ABhh", "....", 2, "hang init-missing-rank - inconclusive",
		  "Rank 0 is in the init of one communicator, rank 1 in another's" },
		{ "Ahhh", "....", 2, "hang * - *", "" },
		/* '!': with the id of communicator 0 again */
		{ "AAA!", "....", 4, "hang init-mismatch 3 proved",
		  "Rank 3 handed the id of communicator 0 to init again, rank 2 a new one" },
		{ "A!!!", "....", 4, "hang init-mismatch 1,2,3 proved",
		  "Rank 3 handed the id of communicator 0 to init again, rank 0 a new one" },
		{ "!!!!", "....", 4, "hang * - *", "" },
		{ "AB!!", "....", 4, "hang init-mismatch - inconclusive", "" },
		/* and for another number of ranks: '+': of one more */
		{ "AAA+", "....", 4, "hang init-mismatch 3 majority",
		  "Rank 3 called communicator init for 5 ranks, rank 0 for 4." },
		{ "A+hh", "....", 2, "hang init-mismatch - inconclusive",
		  "Rank 1 called communicator init for 3 ranks, rank 0 for 2." },
	};

	UNIT_ROWS(row, inits) {
		calls_set_up(4);
		for (int i = 0; i < 4; i++)
			tell_inits(i, row->first, row->second, row->third, row->announced);
		finish();
		finds(row->finds);
		CU_ASSERT(!row->line[0] || said(row->line));
	}
}
