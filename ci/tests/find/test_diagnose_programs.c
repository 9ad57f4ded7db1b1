/* test_diagnose_programs.c: programs whose ranks have plans of their own, each fault at each call:
 * no innocent rank is named, and where all follow one plan the culprit is. */
/* timeout: 400 */
#include "programs_played.h"
#include "rig/unit.h"

/* Rank 0 makes items; each of the others has them from the one before it. */
static void build_pipeline(struct program *p, int i, int k)
{
	if (i > 0) {
		add_step(p, i, STEP_RECV, i - 1, 8 + k);
		add_wait(p, i);
	}
	if (i < p->nranks - 1) {
		add_step(p, i, STEP_SEND, i + 1, 8 + k);
		add_wait(p, i);
	}
}

/* The same, where a rank takes an item while it hands on its own: it waits for both together. */
static void build_grouped_pipeline(struct program *p, int i, int k)
{
	if (i > 0)
		add_step(p, i, STEP_RECV, i - 1, 8 + k);
	if (i < p->nranks - 1)
		add_step(p, i, STEP_SEND, i + 1, 8 + k);
	add_wait(p, i);
}

/* Between rank 0, which does `root`, and each of the others. */
static void add_star(struct program *p, int rank, enum step_kind root, int count)
{
	for (int i = 1; i < p->nranks && rank == 0; i++)
		add_step(p, 0, root, i, count);
	if (rank > 0)
		add_step(p, rank, root == STEP_SEND ? STEP_RECV : STEP_SEND, 0, count);
	add_wait(p, rank);
}

static void build_gather(struct program *p, int i, int k)
{
	add_star(p, i, STEP_RECV, 8 + k);
}

static void build_gather_scatter(struct program *p, int i, int k)
{
	add_star(p, i, STEP_RECV, 8 + k);
	add_star(p, i, STEP_SEND, 8 + k);
}

/* Each two ranks have an amount of their own. */
static void build_alltoall(struct program *p, int i, int k)
{
	for (int to = 0; to < p->nranks; to++) {
		if (to == i)
			continue;
		add_step(p, i, STEP_SEND, to, 1 + 7 * to + 3 * i + k);
		add_step(p, i, STEP_RECV, to, 1 + 7 * i + 3 * to + k);
	}
	add_wait(p, i);
}

/* All sends, then all receives, of one amount. */
static void build_even_alltoall(struct program *p, int i, int k)
{
	for (int step = 0; step < 2; step++)
		for (int peer = 0; peer < p->nranks; peer++)
			if (peer != i)
				add_step(p, i, step ? STEP_RECV : STEP_SEND, peer, 8);
	add_wait(p, i);
}

static void add_ring(struct program *p, int rank, int count)
{
	add_step(p, rank, STEP_SEND, (rank + 1) % p->nranks, count);
	add_step(p, rank, STEP_RECV, (rank + p->nranks - 1) % p->nranks, count);
	add_wait(p, rank);
}

static void add_collective(struct program *p, int rank, int count)
{
	add_step(p, rank, STEP_COLLECTIVE, -1, count);
	add_wait(p, rank);
}

/* Amounts that are alike no two times, nor equally far apart. */
static void build_ring(struct program *p, int i, int k)
{
	add_ring(p, i, 8 + k * k);
}

static void build_even_ring(struct program *p, int i, int k)
{
	add_ring(p, i, 8);
}

static void build_ring_collectives(struct program *p, int i, int k)
{
	add_collective(p, i, 5 + k);
	add_ring(p, i, 8 + k * k);
}

static void build_even_ring_collectives(struct program *p, int i, int k)
{
	add_collective(p, i, 5 + k);
	add_ring(p, i, 8);
}

/* A ring of calls that block: even ranks send first, odd ones receive first. */
static void build_even_odd(struct program *p, int i, int k)
{
	int after = (i + 1) % p->nranks, before = (i + p->nranks - 1) % p->nranks;

	for (int half = 0; half < 2; half++) {
		bool receives = i % 2 != half;

		add_step(p, i, receives ? STEP_RECV : STEP_SEND, receives ? before : after, 8 + k);
		add_wait(p, i);
	}
}

/* An exchange with both neighbours, of which the first and the last rank have one. */
static void build_open_halo(struct program *p, int i, int k)
{
	for (int peer = i - 1; peer <= i + 1; peer += 2) {
		if (peer < 0 || peer == p->nranks)
			continue;
		add_step(p, i, STEP_SEND, peer, 8);
		add_step(p, i, STEP_RECV, peer, 8);
	}
	add_wait(p, i);
}

/* Down a binary tree: from (i - 1) / 2 to 2i + 1 and 2i + 2. */
static void build_tree(struct program *p, int i, int k)
{
	if (i > 0) {
		add_step(p, i, STEP_RECV, (i - 1) / 2, 8 + k);
		add_wait(p, i);
	}
	for (int to = 2 * i + 1; to <= 2 * i + 2 && to < p->nranks; to++)
		add_step(p, i, STEP_SEND, to, 8 + k);
	add_wait(p, i);
}

/* Collectives of all, between which ranks 0 and 1 exchange. */
static void build_pairs_of_some(struct program *p, int i, int k)
{
	add_collective(p, i, 5 + k);
	if (i > 1)
		return;
	add_step(p, i, STEP_SEND, 1 - i, 9 + k);
	add_step(p, i, STEP_RECV, 1 - i, 9 + k);
	add_wait(p, i);
}

struct title {
	const char *name;
	void (*build)(struct program *p, int i, int k); /* what rank i does in round k */
	int rounds;
	/* Where all follow one plan, else 0: at how many calls of a rank, of two that have no vote, the
	 * one that left a call out, or made it twice, can be told; see test_one_plan. */
	int skip_of_two, extra_of_two;
	bool even; /* for even numbers of ranks */
};

/* Rows leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct title titles[] = {
	{ "pipeline, 1 item", build_pipeline, 1 },
	{ "pipeline, 2 items", build_pipeline, 2 },
	{ "pipeline, 3 items", build_pipeline, 3 },
	{ "pipeline, 4 items", build_pipeline, 4 },
	{ "grouped pipeline", build_grouped_pipeline, 3 },
	{ "gather, once", build_gather, 1 },
	{ "gather", build_gather, 4 },
	{ "gather and scatter", build_gather_scatter, 3 },
	{ "uneven alltoall, once", build_alltoall, 1 },
	{ "uneven alltoall", build_alltoall, 2 },
	{ "even alltoall", build_even_alltoall, 2 },
	{ "ring", build_ring, 5, 4, 3 },
	{ "even ring", build_even_ring, 5, 9, 5 },
	{ "ring and collectives", build_ring_collectives, 4, 4, 3 },
	{ "even ring and collectives", build_even_ring_collectives, 4, 4, 3 },
	{ "even and odd", build_even_odd, 4, .even = true },
	{ "open halo", build_open_halo, 3 },
	{ "tree", build_tree, 4 },
	{ "collectives, pairs of some", build_pairs_of_some, 4 },
};

static bool build(struct program *p, const struct title *title, int nranks)
{
	memset(p, 0, sizeof(*p));
	p->nranks = nranks;
	if (title->even && nranks % 2)
		return false;
	for (int k = 0; k < title->rounds; k++)
		for (int i = 0; i < nranks; i++)
			title->build(p, i, k);
	return true;
}

static const char *const fault_names[FAULTS_PLAYED] = {
	[FAULT_BUSY] = "busy", [FAULT_IDLE] = "idle",	[FAULT_BLOCK] = "block",
	[FAULT_SKIP] = "skip", [FAULT_EARLY] = "early", [FAULT_EXTRA] = "extra",
};

/* The results of one program on one number of ranks: the culprit was named (by fault; sure: not as
 * inconclusive; misnamed: among these, as another fault), or no rank was, or others. */
struct score {
	int cases, sure, misnamed, unnamed, wrong, surely_wrong, proved_wrong, right[FAULTS_PLAYED];
};

/* Returns true if this is the fault's class. Calls left out last, or to the end, cannot be told apart. */
static bool is_class_of(enum fault_played fault, const char *class)
{
	static const char *const classes[FAULTS_PLAYED][3] = {
		[FAULT_BUSY] = { "host-busy" },
		[FAULT_IDLE] = { "missing-call" },
		[FAULT_BLOCK] = { "host-blocked" },
		[FAULT_SKIP] = { "skipped-call", "skipped-or-early-exit", "p2p-unmatched" },
		[FAULT_EARLY] = { "early-exit", "skipped-or-early-exit" },
		[FAULT_EXTRA] = { "extra-call", "p2p-unmatched" },
	};

	for (int i = 0; i < 3; i++)
		if (classes[fault][i] && strcmp(class, classes[fault][i]) == 0)
			return true;
	return false;
}

static void print_case(const struct program *p, const char *name, const struct fault_at *t)
{
	printf("\n  %s, %d ranks, %s at call %d of rank %d: named %s, %s, %s\n", name, p->nranks,
	       fault_names[t->fault], t->at, t->rank, found.ranks,
	       class_name(found.class, found.outcome), confidence_name(found.confidence));
}

static void score_case(const struct program *p, const char *name, const struct fault_at *t,
		       struct score *score)
{
	bool sure, right;
	char culprit[8];

	show_played(p, t);
	finish();
	snprintf(culprit, sizeof(culprit), "%d", t->rank);
	sure = strcmp(confidence_name(found.confidence), "inconclusive") != 0;
	right = strcmp(found.ranks, culprit) == 0;
	score->cases++;
	score->proved_wrong += !right && strcmp(confidence_name(found.confidence), "proved") == 0;
	score->right[t->fault] += right;
	score->sure += right && sure;
	if (right && sure && !is_class_of(t->fault, class_name(found.class, found.outcome)) &&
	    ++score->misnamed <= 2 && name[0])
		print_case(p, name, t);
	if (strcmp(found.ranks, "-") == 0)
		score->unnamed++;
	else if (!right && !sure)
		score->wrong++;
	else if (!right && ++score->surely_wrong <= 2 && name[0])
		print_case(p, name, t);
}

/* Each fault at each call of each rank that leaves anyone behind. */
static void score_program(const struct program *p, const char *name, struct score *score)
{
	struct fault_at t;

	memset(score, 0, sizeof(*score));
	for (t.rank = 0; t.rank < p->nranks; t.rank++)
		for (int fault = 0; fault < FAULTS_PLAYED; fault++)
			for (t.at = 0; t.at <= count_calls(p, t.rank); t.at++) {
				t.fault = (enum fault_played)fault;
				if (play_program(p, &t))
					score_case(p, name, &t, score);
			}
}

static void add_score(struct score *sum, const struct score *s)
{
	sum->cases += s->cases;
	sum->sure += s->sure;
	sum->unnamed += s->unnamed;
	sum->wrong += s->wrong;
	for (int fault = 0; fault < FAULTS_PLAYED; fault++)
		sum->right[fault] += s->right[fault];
}

/* Programs have all sizes; where trials are few, up to three ranks. */
static int most_players(void)
{
	return unit_times(PLAYERS_MAX) < PLAYERS_MAX ? 3 : PLAYERS_MAX;
}

/* Every fault at every call ends in a hang; in none is an innocent rank named other than as
 * inconclusive, nor the culprit for what it did not do. */
UNIT_TEST(test_innocent, "no innocent rank is named for certain")
{
	struct score sum = { 0 }, s;
	struct program p;
	int right = 0;

	UNIT_ROWS(row, titles)
		for (int n = 2; n <= most_players(); n++) {
			int calls = 0;

			if (!build(&p, row, n))
				continue;
			for (int i = 0; i < n; i++)
				calls += count_calls(&p, i);
			score_program(&p, row->name, &s);
			UNIT_ALL(s.cases == FAULTS_PLAYED * calls, s.surely_wrong == 0,
				 s.misnamed == 0);
			add_score(&sum, &s);
		}
	for (int fault = 0; fault < FAULTS_PLAYED; fault++)
		right += sum.right[fault];
	printf("\n  %d hangs: the guilty named in %d, %d of them not as inconclusive; no rank in "
	       "%d; "
	       "others, as inconclusive, in %d ... ",
	       sum.cases, right, sum.sure, sum.unnamed, sum.wrong);
}

/* Two programs at random, by turns, of which each rank has parts of its own: a proof is right, and a
 * majority names an innocent rank in one hang of a hundred at most. */
UNIT_TEST(test_mixed, "programs by turns")
{
	int n = LENGTH(titles), cases = 0, sure = 0, wrong = 0;

	srand(1);
	for (int k = 0; k < unit_times(200); k++) {
		const struct title *both[2] = { &titles[rand() % n], &titles[rand() % n] };
		struct program p = { .nranks = 3 + rand() % (PLAYERS_MAX - 2) };
		struct score s;

		if ((both[0]->even || both[1]->even) && p.nranks % 2)
			continue;
		for (int i = 0; i < 4 * p.nranks; i++)
			both[i / p.nranks % 2]->build(&p, i % p.nranks, i / p.nranks / 2);
		score_program(&p, "", &s);
		CU_ASSERT_EQUAL(s.proved_wrong, 0);
		cases += s.cases;
		sure += s.sure;
		wrong += s.surely_wrong;
	}
	printf("\n  %d hangs: the guilty named for certain in %d, an innocent rank by majority in "
	       "%d ... ",
	       cases, sure, wrong);
	CU_ASSERT(wrong * 100 < cases);
}

/* Named right at least so often; says which program is not. */
static void expect_right(const struct title *title, const struct score *s, int nranks, int fault,
			 int least)
{
	CU_ASSERT(s->right[fault] >= least);
	if (s->right[fault] < least)
		printf("\n  %s, %d ranks, %s: %d right, not %d\n", title->name, nranks,
		       fault_names[fault], s->right[fault], least);
}

/* Where all follow one plan three ranks or more have a majority, which tells every fault at every
 * call. One of two is told by its host code, or by its end, too. A
 * call left out or made twice is told of two where four calls were alike before, so that there is
 * a plan, and a call behind it is alike but moved:
 * - the send of a round, whose receive follows. After the receive the rank waits, or the other
 *   does: nothing follows before the sizes do not fit. The ring: rounds 3 to 5; with collectives 2
 *   to 4.
 * - the last receive left out: the rank has ended, a call short. Made twice: it may as well be the
 *   other who is one short.
 * - sizes that are alike always fit, so that both go on to the last round, and the ring's period
 *   tells the call after it has been seen twice and begun anew: calls 6 to 10. Before, one call too
 *   few is still seen in that the rank has ended: 1 to 4; but at call 5 each side has a plan. */
UNIT_TEST(test_one_plan, "the guilty where all follow one plan")
{
	struct program p;
	struct score s;

	UNIT_ROWS(row, titles)
		for (int n = 2; row->skip_of_two && n <= most_players(); n++) {
			const struct title *title = row;

			build(&p, title, n);
			score_program(&p, title->name, &s);
			for (int fault = 0; fault < FAULTS_PLAYED; fault++) {
				int told = count_calls(&p, 0);

				if (n == 2 && fault == FAULT_SKIP)
					told = title->skip_of_two;
				if (n == 2 && fault == FAULT_EXTRA)
					told = title->extra_of_two;
				expect_right(title, &s, n, fault, n * told);
			}
		}
}

/* Neighbouring calls of one amount go to different partners: the last one made twice is told. */
UNIT_TEST(test_last_twice, "the last call of an exchange made twice")
{
	static const struct title title = { "even alltoall", build_even_alltoall, 1 };
	struct program p;

	for (int n = 3; n <= PLAYERS_MAX; n++) {
		struct fault_at t = { .fault = FAULT_EXTRA, .rank = 1 };

		build(&p, &title, n);
		t.at = count_calls(&p, 1) - 1;
		CU_ASSERT_TRUE(play_program(&p, &t));
		show_played(&p, &t);
		finish();
		CU_ASSERT_STRING_EQUAL(found.ranks, "1");
		CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), "p2p-unmatched");
	}
}

static void end_well(const struct program *p, const char *name, enum outcome outcome)
{
	static const struct fault_at none = { .fault = FAULT_NONE };

	CU_ASSERT_FALSE(play_program(p, &none));
	show_ended(p, &none, outcome);
	finish();
	CU_ASSERT_EQUAL(found.outcome, outcome);
	CU_ASSERT_STRING_EQUAL(class_name(found.class, found.outcome), outcome_name(outcome));
	if (found.outcome != outcome ||
	    strcmp(class_name(found.class, found.outcome), outcome_name(outcome)))
		printf("\n  %s, %d ranks, ended with %s: %s, %s, named %s, %s\n", name, p->nranks,
		       outcome_name(outcome), outcome_name(found.outcome),
		       class_name(found.class, found.outcome), found.ranks,
		       confidence_name(found.confidence));
}

/* All came to their end, and all that they called has met: there is nothing to find. */
UNIT_TEST(test_healthy, "healthy runs")
{
	struct program p;

	UNIT_ROWS(row, titles)
		for (int n = 2; n <= PLAYERS_MAX; n++) {
			if (!build(&p, row, n))
				continue;
			end_well(&p, row->name, OUTCOME_OK);
			end_well(&p, row->name, OUTCOME_WRONG_DATA);
		}
}
