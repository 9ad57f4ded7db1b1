/* test_progress.c: small runs as pictures, and generated ones: which rank waits in which call for which ranks. */
#include "runs_drawn.h"

struct picture {
	const char *rows[RANKS];
	const char *
		waits; /* of each rank, with blanks between: the ranks that its call awaits; "-": in none */
	const char *behind; /* as behind_in */
	int circle;	    /* calls that wait for each other */
	bool closed;	    /* rank 0 and all on which it depends wait */
	bool beyond;	    /* rank 0 waits for one that does not wait for it */
};

/* clang-format off */
static const struct picture pictures[] = {
	/* all came: nothing is awaited, each is let go */
	{ { "A B C*", "A B C*", "A B C*" }, "- - -", "0: ", 0, false, false },
	/* rank 1 has not come to the third call */
	{ { "A B C*", "A B ", "A B C*" }, "1 - 1", "3: 1", 0, false, true },
	/* two have not */
	{ { "A B C*", "A ", "A ", "A B*" }, "1,2,3 - - 1,2", "2: 1,2", 0, false, true },
	/* one waits in an earlier call: it may not have come for that of the third */
	{ { "A B C*", "A B*", "A " }, "1,2 2 -", "2: 2", 0, false, true },
	/* a send without a receive */
	{ { "A >1**", "A " }, "1 -", "2: 1", 0, false, true },
	{ { "A >1**", "A <0**" }, "- -", "0: ", 0, false, false },
	/* both send first, inside of the sends; both receive first */
	{ { ">1**", ">0**" }, "1 0", "0: ", 2, true, false },
	{ { "<1**", "<0**" }, "1 0", "0: ", 2, true, false },
	/* round about */
	{ { "<2**", "<0**", "<1**" }, "2 0 1", "0: ", 3, true, false },
	/* two communicators in two orders */
	{ { "a A a*", "a A A*" }, "1 0", "0: ", 2, true, false },
	/* the same order: rank 1 is on its way */
	{ { "a A a*", "a A " }, "1 -", "0: ", 0, false, true },
	/* behind a circle of others, and behind a rank that is in no call */
	{ { "<1**", "<2**", "<1**" }, "1 2 1", "0: ", 2, true, true },
	{ { "<1**", "<2**", "" }, "1 2 -", "1: 2", 0, false, true },
	/* no rank has made any call */
	{ { "", "" }, "- -", "0: ", 0, false, false },
};
/* clang-format on */

UNIT_TEST(test_pictures, "which rank waits for which, in pictures")
{
	static struct drawn d;

	for (size_t k = 0; k < LENGTH(pictures); k++) {
		const struct picture *p = &pictures[k];
		const struct pending_call *circle[RANKS];
		char waits[128] = "", one[32], behind[64];
		size_t pairs, orders;

		draw(&d, p->rows);
		for (int i = 0; i < d.progress.nranks; i++)
			sprintf(waits + strlen(waits), "%s%s", i ? " " : "",
				awaited_by(&d, i, one));
		pairs = progress_circle(&d.progress, true, circle, RANKS);
		orders = progress_circle(&d.progress, false, circle, RANKS);
		UNIT_ALL(!strcmp(waits, p->waits), !strcmp(behind_in(&d, behind), p->behind),
			 (int)(pairs + orders) == p->circle,
			 progress_closed(&d.progress, 0) == p->closed,
			 progress_waits_beyond(&d.progress, 0) == p->beyond);
		if (strcmp(waits, p->waits) || strcmp(behind, p->behind) ||
		    (int)(pairs + orders) != p->circle)
			printf("  picture %zu: %s / %s / %zu %zu\n", k, waits, behind, pairs,
			       orders);
		release_drawn(&d);
	}
}

/* A send, or a collective, of two ranks before the other one, on one stream, where calls return at once. */
static size_t circle_of(bool both_made)
{
	static struct drawn d;
	const struct pending_call *circle[RANKS];
	size_t n;

	memset(&d, 0, sizeof(d));
	add_drawn(&d, 0, 0, CALL_SEND, 1, 1)->flags = RECORD_ALONE;
	add_drawn(&d, 0, 0, CALL_ALL_REDUCE, -1, 1);
	add_drawn(&d, 1, 0, CALL_ALL_REDUCE, -1, 1);
	if (both_made)
		add_drawn(&d, 1, 0, CALL_RECV, 0, 1)->flags = RECORD_ALONE;
	end_drawn(&d, 2, false);
	progress_release(&d.progress);
	d.views[0].completed = d.views[1].completed = 0;
	progress_play(&d.progress, &d.comms);
	n = progress_circle(&d.progress, false, circle, RANKS);
	release_drawn(&d);
	return n;
}

UNIT_TEST(test_other_order,
	  "a receive behind a collective is an order; one that is not there is none")
{
	UNIT_ALL(circle_of(true) == 2, circle_of(false) == 0);
}

UNIT_TEST(test_view_alone, "a rank of which there is a view and no records may have come anywhere")
{
	static struct drawn d;
	const struct pending_call *in;
	struct awaited call;

	draw(&d, (const char *const[]){ "A B C*", "A B ", "A B C*", NULL });
	progress_release(&d.progress);
	d.ranks[1].ncalls = 0;
	free(d.index[1].sig);
	d.index[1] = (struct call_index){ .sig = NULL };
	progress_comm_release(&d.comm);
	progress_play(&d.progress, &d.comms);
	progress_comm_init(&d.comm, &d.progress, &d.comms.list[0], COMPARE_CALLS);
	in = progress_at(&d.progress, 0);
	call = progress_first_missing(&d.comm);
	UNIT_ALL(d.views[1].issued == 2, !progress_known(&d.progress, 1), !in,
		 progress_waits_for(&d.progress, 0, 1) == PROGRESS_UNKNOWN,
		 progress_waits_for(&d.progress, 1, 0) == PROGRESS_UNKNOWN,
		 !progress_is_awaited(&d.progress, 1), call.n == 0,
		 progress_presence(&(struct awaited){ .records = &d.comm, .n = 3 }, 1) ==
			 PRESENCE_APART,
		 progress_differs(&d.comm, &(struct deviation){ .kind = DEVIATION_NONE },
				  &(struct rank_set){ (bool[RANKS]){ false }, RANKS, 0 },
				  &(struct rank_set){ (bool[RANKS]){ false }, RANKS, 0 }) == -1);
	release_drawn(&d);
}

/* How rank 1 differs from the reference. */
static const struct {
	const char *rows[RANKS];
	enum deviation_kind kind;
	int low, high, shift;
} differences[] = {
	{ { "A C B D E ", "A C B D E ", "A C B D E " }, DEVIATION_NONE, 0, 0, 0 },
	{ { "A C B D E ", "A C D E ", "A C B D E " }, DEVIATION_SKIPPED, 3, 3, 1 },
	{ { "A C C D E ", "A C D E ", "A C C D E " }, DEVIATION_SKIPPED, 2, 3, 1 },
	{ { "A C B D E ", "A C F B D E ", "A C B D E " }, DEVIATION_EXTRA, 3, 3, 1 },
	{ { "A C B D E ", "A C F D E ", "A C B D E " }, DEVIATION_FIELD, 3, 3, 0 },
	{ { "A C B D E ", "A B C D E ", "A C B D E " }, DEVIATION_SWAPPED, 2, 2, 1 },
	/* the others wait in the call, and made none behind it: B was left out, or A made twice; they have ended: made twice */
	{ { "A B A B A B A B*", "A B A B A B A A B*", "A B A B A B A B*" },
	  DEVIATION_UNCLEAR,
	  8,
	  8,
	  1 },
	{ { "A B A B A B A B ", "A B A B A B A A B ", "A B A B A B A B " },
	  DEVIATION_EXTRA,
	  7,
	  8,
	  1 },
};

UNIT_TEST(test_differences, "how one rank's calls differ, in pictures")
{
	static struct drawn d;

	for (size_t k = 0; k < LENGTH(differences); k++) {
		bool same[RANKS] = { false }, other[RANKS] = { false };
		struct rank_set s = { same, 3, 0 }, o = { other, 3, 0 };
		struct deviation first;
		int who;

		draw(&d, differences[k].rows);
		who = progress_differs(&d.comm, &first, &s, &o);
		UNIT_ALL(first.kind == differences[k].kind, (int)first.low == differences[k].low,
			 (int)first.high == differences[k].high, o.n == 0,
			 who == (differences[k].kind ? 1 : -1), s.n == (who >= 0));
		if (differences[k].shift)
			CU_ASSERT_EQUAL((int)first.shift, differences[k].shift);
		if (first.kind != differences[k].kind)
			printf("  %zu: kind %d low %d high %d\n", k, first.kind, (int)first.low,
			       (int)first.high);
		release_drawn(&d);
	}
}

/* A plan of `n` steps for all ranks: collectives, and sends round the ring with their receives. Rank `who` stops
 * before its call `stop` (0: nowhere). Where calls block each rank is in its first call that cannot end. */
static void generate(struct drawn *d, int nranks, int n, int who, int stop, unsigned *seed)
{
	memset(d, 0, sizeof(*d));
	for (int k = 0; k < n; k++) {
		bool ring = rand_r(seed) % 3 == 0;
		uint64_t count = 1 + (uint64_t)rand_r(seed) % 100;

		for (int i = 0; i < nranks; i++) {
			if (i == who && stop && k >= stop - 1)
				continue;
			if (!ring) {
				add_drawn(d, i, 0, CALL_ALL_REDUCE, -1, count);
				continue;
			}
			add_drawn(d, i, 0, CALL_SEND, (i + 1) % nranks, count);
			add_drawn(d, i, 0, CALL_RECV, (i + nranks - 1) % nranks, count);
		}
	}
	end_drawn(d, nranks, false);
}

/* Nothing is known to have completed: the model finds by itself what must have. */
static void forget_completions(struct drawn *d)
{
	for (int i = 0; i < d->progress.nranks; i++)
		d->views[i].completed = 0;
	progress_release(&d->progress);
	progress_play(&d->progress, &d->comms);
}

UNIT_TEST(test_generated, "generated runs: one rank stops, and the others wait for it at last")
{
	static struct drawn d;
	unsigned seed = 7;

	for (int k = 0; k < 400; k++) {
		int nranks = 2 + rand_r(&seed) % 5, n = 4 + rand_r(&seed) % 20;
		int who = rand_r(&seed) % nranks, stop = k % 4 ? 1 + rand_r(&seed) % n : 0;
		bool waits = false;

		generate(&d, nranks, n, who, stop, &seed);
		CU_ASSERT_EQUAL(progress_settled(&d.comm), stop == 0);
		forget_completions(&d);
		for (int i = 0; i < nranks; i++) {
			const struct pending_call *in = progress_at(&d.progress, i);

			/* a circle needs the stopped rank, and that waits in nothing that is not there */
			CU_ASSERT_TRUE(stop || !in);
			CU_ASSERT_FALSE(in && progress_closed(&d.progress, i) && stop == 1);
			waits |= in && pending_waits_for(&d.progress, in, who);
		}
		CU_ASSERT_EQUAL(waits, stop > 0);
		release_drawn(&d);
	}
}

/* An unknown rank is neither missing nor awaited. */
UNIT_TEST(test_unknown, "a rank of which nothing is known may have come anywhere")
{
	static const char *const rows[RANKS] = { "A B C*", "A ", "A B C*" };
	static struct drawn d;
	char buf[64];

	draw(&d, rows);
	d.views[1].issued = 5; /* its newest calls are lost */
	progress_release(&d.progress);
	progress_comm_release(&d.comm);
	progress_play(&d.progress, &d.comms);
	progress_comm_init(&d.comm, &d.progress, &d.comms.list[0], COMPARE_CALLS);
	UNIT_ALL(!strcmp(awaited_by(&d, 0, buf), "-"), !strcmp(behind_in(&d, buf), "0: "),
		 !progress_knows_all(&d.comm, 1), !progress_settled(&d.comm));
	release_drawn(&d);
}
