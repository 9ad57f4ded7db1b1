/* test_sites.c: calls that are all alike, a letter a line of code: where the lines of ranks part. */
#include "compare/sites.h"
#include "run/runs_drawn.h"

#define P8 "ABCABCABCABCABCABCABCABC" /* 24 calls */
#define D8 "DEFDEFDEFDEFDEFDEFDEFDEF"

/* clang-format off */
static const struct {
	const char *rows[RANKS]; /* a '.' behind a row: that rank has ended well */
	enum deviation_kind kind;
	int rank, seq, shift, same;
} pictures[] = {
	{ { P8 P8, P8 P8, P8 P8 }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "XABCABC", P8 "ABCABCA", P8 "ABCABC" }, DEVIATION_EXTRA, 0, 25, 1, 1 },
	{ { P8 "XXABCABC", P8 "ABCABCA", P8 "ABCABC" }, DEVIATION_EXTRA, 0, 25, 2, 1 },
	{ { P8 "ABCABC", P8 "ABCABC", P8 "BCABCA" }, DEVIATION_SKIPPED, 2, 25, 1, 1 },
	{ { P8 "ABCABC", P8 "ACABC", P8 "ABCABC" }, DEVIATION_SKIPPED, 1, 26, 1, 1 },
	{ { P8 "ABCABC", P8 "BCABC", P8 "ABCABC", P8 "ABCABC", P8 "BCABC" }, DEVIATION_SKIPPED, 1, 25, 1, 2 },
	/* a line of one rank's own, by right: all go on in step; from the first call on; now and then */
	{ { P8 "XBCABC", P8 "ABCABC", P8 "ABCABC" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { D8 "DEF", P8 "ABC", P8 "ABC" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "XBCABCXBCABC", P8 P8, P8 P8 }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "XBC" P8, P8 "ABC" P8, P8 "ABC" P8 }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* made elsewhere, in another order: they are in step again */
	{ { P8 "XABCABCABC", P8 "ABCYABCABC", P8 "ABCYABCABC" }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* one line alone: an own line in step, or one call too many? the others have ended, or not */
	{ { "AAAAAAAAAXAAAAA", "AAAAAAAAAAAAAA", "AAAAAAAAAAAAAA" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { "AAAAAAAAAXAAAAA", "AAAAAAAAAAAAAA.", "AAAAAAAAAAAAAA." }, DEVIATION_EXTRA, 0, 10, 1, 1 },
	{ { "AAAAAAAAAXAAAA", "AAAAAAAAAAAAAA.", "AAAAAAAAAAAAAA." }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* two lines: left out and too many look alike, but for how many calls were made */
	{ { "ABABABABABABABABABABAB", "ABABABABABABABABABABAB", "ABABABABABABABABABBABA" }, DEVIATION_UNCLEAR, 2, 19, 1, 1 },
	{ { "ABABABABABABABABABABAB", "ABABABABABABABABABABAB", "ABABABABABABABABABBAB" }, DEVIATION_SKIPPED, 2, 19, 1, 1 },
	{ { "ABABABABABABABABABABAB.", "ABABABABABABABABABABAB.", "ABABABABABABABABABBABAB" }, DEVIATION_EXTRA, 2, 19, 1, 1 },
	/* at the beginning, one rank alone: what follows is long enough, or not */
	{ { "ABC" P8, "ABC" P8, "ABCX" P8 }, DEVIATION_EXTRA, 2, 4, 1, 1 },
	{ { "ABCABC", "ABCABC", "ABCXAB" }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* the others stand in the call that one has left out, and that one goes on; not for long enough; by right */
	{ { P8 "A", P8 "A", P8 "BCABCABCABCA" }, DEVIATION_SKIPPED, 2, 25, 1, 1 },
	{ { P8 "A", P8 "A", P8 "BCABC" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "A", P8 "A", P8 "BBCABCABCABC" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "ABC", P8 "ABC", P8 "ABCXXXXXXXXXXXX" }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* the others stand in the call, and made none behind it: the one before was made again, or theirs was left out */
	{ { "ABABABABABABABABABABAB", "ABABABABABABABABABABAB", "ABABABABABABABABABABAAB" }, DEVIATION_UNCLEAR, 2, 22, 1, 1 },
	/* nothing follows; each rank a path of its own; no majority */
	{ { P8 "X", P8 "A", P8 "A" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { "ABCDEFABCFED", "BCDABAFEBCAA", "CCDAABEFAECB" }, DEVIATION_NONE, 0, 0, 0, 0 },
	{ { P8 "XABC", P8 "XABC", P8 "ABCA", P8 "ABCA" }, DEVIATION_NONE, 0, 0, 0, 0 },
	/* of two ranks */
	{ { P8 "ABCABC", P8 "XABCABC" }, DEVIATION_EXTRA, 1, 25, 1, 1 },
	{ { P8 "BCABC", P8 "ABCABC" }, DEVIATION_EXTRA, 1, 25, 1, 1 },
};
/* clang-format on */

static void draw_lines(struct drawn *d, const char *const *rows, struct record_site *sites)
{
	int n = 0;

	memset(d, 0, sizeof(*d));
	for (; n < RANKS && rows[n]; n++) {
		for (const char *at = rows[n]; *at && *at != '.'; at++)
			add_drawn(d, n, 0, CALL_ALL_REDUCE, -1, 1)->site = (uint16_t)(*at - '@');
		d->ranks[n].sites = sites;
		d->ranks[n].nsites = 32;
	}
	end_drawn(d, n, false);
	for (int i = 0; i < n; i++)
		if (strchr(rows[i], '.'))
			d->views[i].process = PROCESS_EXITED;
}

UNIT_TEST(test_pictures, "where lines of code part")
{
	static struct record_site sites[32];
	static struct drawn d;

	for (int i = 1; i < 32; i++)
		sites[i].hash = 1000ull * (uint64_t)i;
	for (size_t k = 0; k < LENGTH(pictures); k++) {
		bool in[RANKS] = { false };
		struct rank_set same = { in, RANKS, 0 };
		struct site_break b;
		bool as_drawn;

		draw_lines(&d, pictures[k].rows, sites);
		b = progress_site_break(&d.comm, &same);
		as_drawn = b.kind == pictures[k].kind && (int)same.n == pictures[k].same &&
			   (b.kind == DEVIATION_NONE ||
			    ((int)b.seq == pictures[k].seq && (int)b.shift == pictures[k].shift &&
			     b.rank == pictures[k].rank));
		CU_ASSERT(as_drawn);
		if (!as_drawn)
			printf("  picture %zu: kind %d rank %d seq %d shift %d agreed %d same "
			       "%zu\n",
			       k, b.kind, b.rank, (int)b.seq, (int)b.shift, (int)b.agreed, same.n);
		release_drawn(&d);
	}
}

/* The newest calls alone are known, the first of them number 101; how often lines were made before them is not what is
 * drawn, but `before`: "A33 B33 C34". */
/* clang-format off */
static const struct {
	const char *rows[RANKS], *before[RANKS];
	enum deviation_kind kind;
	int shift;
	char line; /* ' ': counters do not tell */
	int mine, theirs;
} far[] = {
	/* rank 1 left out an A; an A of the same line would have come next; made an X too many; a B */
	{ { P8, "BCABCABCABCABCABCABCABCA", P8 }, { "A34B33C33", "A34B33C33", "A34B33C33" }, DEVIATION_SKIPPED, 1, 'A', 42, 42 },
	{ { P8, "BCABCABCABCABCABCABCABCA", P8 }, { "A34B33C33", "A35B32C33", "A34B33C33" }, DEVIATION_SKIPPED, 1, 'B', 40, 41 },
	{ { P8, "CABCABCABCABCABCABCABCAB", P8 }, { "A34B33C33", "A34B33C32X1", "A34B33C33" }, DEVIATION_EXTRA, 1, 'X', 1, 0 },
	{ { P8, "CABCABCABCABCABCABCABCAB", P8 }, { "A34B33C33", "A34B34C32", "A34B33C33" }, DEVIATION_EXTRA, 1, 'B', 42, 41 },
	/* two lines: either; others do not agree on how often; the counters say something else */
	{ { "ABABABABABABABAB", "BABABABABABABABA", "ABABABABABABABAB" }, { "A50B50", "A49B51", "A50B50" }, DEVIATION_UNCLEAR, 1, '?', 0, 0 },
	{ { P8, "BCABCABCABCABCABCABCABCA", P8 }, { "A34B33C33", "A34B33C33", "A33B34C33" }, DEVIATION_SKIPPED, 1, ' ', 0, 0 },
	{ { P8, "BCABCABCABCABCABCABCABCA", P8 }, { "A34B33C33", "A14B53C33", "A34B33C33" }, DEVIATION_SKIPPED, 1, ' ', 0, 0 },
};
/* clang-format on */

static void draw_before(struct drawn *d, int rank, const char *text, struct record_site *sites)
{
	int used;

	for (int n; sscanf(text, "%*c%d%n", &n, &used) == 1; text += used)
		sites[*text - '@'].calls += (uint64_t)n;
	for (size_t i = 0; i < d->ranks[rank].ncalls; i++)
		sites[d->calls[rank][i].site].calls++;
	d->ranks[rank].sites = sites;
}

UNIT_TEST(test_far, "what has left the rings, told by counters")
{
	static struct record_site sites[RANKS][32];
	static struct drawn d;

	for (size_t k = 0; k < LENGTH(far); k++) {
		bool in[RANKS] = { false };
		struct rank_set same = { in, RANKS, 0 };
		struct site_break b;
		bool as_drawn;
		char line;

		draw_lines(&d, far[k].rows, sites[0]);
		memset(sites, 0, sizeof(sites));
		for (int r = 0; r < d.progress.nranks; r++) {
			for (int i = 1; i < 32; i++)
				sites[r][i].hash = 1000ull * (uint64_t)i;
			draw_before(&d, r, far[k].before[r], sites[r]);
			for (size_t i = 0; i < d.ranks[r].ncalls; i++) {
				d.calls[r][i].ticket += 100;
				d.calls[r][i].seq = d.calls[r][i].ticket;
			}
		}
		progress_comm_release(&d.comm);
		for (int r = 0; r < d.progress.nranks; r++) {
			call_index_make(&d.index[r], d.calls[r], d.ranks[r].ncalls);
			d.views[r].issued = d.views[r].completed += 100;
		}
		progress_comm_init(&d.comm, &d.progress, &d.comms.list[0], COMPARE_CALLS);
		b = progress_site_break(&d.comm, &same);
		line = b.line ? (char)('@' + b.line->hash / 1000) : ' ';
		as_drawn = b.kind == far[k].kind && b.rank == 1 && b.before && b.seq == 101 &&
			   (far[k].line == '?' ||
			    (line == far[k].line && (int)b.shift == far[k].shift &&
			     (int)b.mine == far[k].mine && (int)b.theirs == far[k].theirs));
		CU_ASSERT(as_drawn);
		if (!as_drawn)
			printf("  picture %zu: kind %d rank %d seq %d shift %d line %c mine %d "
			       "theirs %d\n",
			       k, b.kind, b.rank, (int)b.seq, (int)b.shift, line, (int)b.mine,
			       (int)b.theirs);
		release_drawn(&d);
	}
}

UNIT_TEST(test_unknown, "lines that are not known part from none")
{
	static const char *const rows[RANKS] = { P8 "XABC", P8 "@@@@", P8 "@@@@" };
	static struct record_site sites[32];
	static struct drawn d;
	bool in[RANKS] = { false };
	struct rank_set same = { in, RANKS, 0 };

	draw_lines(&d, rows, sites);
	CU_ASSERT_EQUAL(progress_site_break(&d.comm, &same).kind, DEVIATION_NONE);
	for (int i = 0; i < 3; i++)
		d.ranks[i].nsites = 0;
	CU_ASSERT_EQUAL(progress_site_break(&d.comm, &same).kind, DEVIATION_NONE);
	release_drawn(&d);
}
