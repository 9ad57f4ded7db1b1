/* test_bisect.c: bad members of simulated groups are found, in few rounds. */
#include "rig/unit.h"

#include "bench/bisect.h"

static struct bisect bisect;

/* A subset is bad that has a bad member, and (`company`) another one, or both ends of a bad pair. */
struct world {
	int bad[2], nbad, pair[2];
	bool company;
};

static bool has(const struct bisect_group *g, int member)
{
	for (int i = 0; i < g->n; i++)
		if (g->members[i] == member)
			return true;
	return false;
}

static bool is_bad(const struct world *w, const struct bisect_group *g)
{
	bool bad = w->pair[1] > w->pair[0] && has(g, w->pair[0]) && has(g, w->pair[1]);

	for (int i = 0; i < w->nbad; i++)
		bad = bad || (has(g, w->bad[i]) && (!w->company || g->n > 1));
	return bad;
}

static void play(const struct world *w, int n)
{
	bisect_init(&bisect, n);
	while (bisect_next(&bisect)) {
		int seen[BISECT_MOST] = { 0 }, twice = 0;

		for (int i = 0; i < bisect.ngroups; i++) {
			bisect.groups[i].bad = is_bad(w, &bisect.groups[i]);
			for (int k = 0; k < bisect.groups[i].n; k++)
				twice += seen[bisect.groups[i].members[k]]++ > 0;
		}
		CU_ASSERT_EQUAL(twice, 0); /* launches of a round share no host */
	}
}

static int log2_of(int n)
{
	return n > 1 ? 1 + log2_of(n / 2) : 0;
}

/* Counts members that are called bad and are not, or the reverse. */
static int wrong(const struct world *w, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		count += bisect.known_bad[i] !=
			 ((w->nbad > 0 && w->bad[0] == i) || (w->nbad > 1 && w->bad[1] == i));
	return count;
}

UNIT_TEST(test_bad, "every one, and every two of 8, 16 and 64, alone or in company")
{
	static const int sizes[] = { 8, 16, 64 };
	int failed = 0, most = 0;

	for (size_t s = 0; s < 3; s++)
		for (int company = 0; company < 2; company++)
			for (int a = 0; a < sizes[s]; a++)
				for (int b = a; b < sizes[s]; b++) {
					struct world w = {
						{ a, b }, a == b ? 1 : 2, { 0, 0 }, company
					};

					play(&w, sizes[s]);
					failed += wrong(&w, sizes[s]) != 0;
					most = bisect.rounds - log2_of(sizes[s]) > most
						       ? bisect.rounds - log2_of(sizes[s])
						       : most;
				}
	CU_ASSERT_EQUAL(failed, 0);
	CU_ASSERT_EQUAL(most, 0);
}

UNIT_TEST(test_pair, "a bad pair blames no member: the two sides are named")
{
	for (int a = 0; a < 8; a++)
		for (int b = a + 1; b < 8; b++) {
			struct world w = { { 0 }, 0, { a, b }, false };

			play(&w, 8);
			CU_ASSERT_EQUAL(wrong(&w, 8), 0);
			CU_ASSERT(bisect.nsides == 1 || b - a < 3);
		}
}

UNIT_TEST(test_small, "two and three members have no good company: alone, or nothing is said")
{
	for (int n = 1; n < 4; n++)
		for (int company = 0; company < 2; company++)
			for (int a = 0; a < n; a++) {
				struct world w = { { a }, 1, { 0, 0 }, company };

				play(&w, n);
				CU_ASSERT_EQUAL(wrong(&w, n), company ? 1 : 0);
				CU_ASSERT(bisect.rounds <= 1);
			}
}

UNIT_TEST(test_good, "what is bad together once, and never again, names none")
{
	struct world w = { .nbad = 0 };

	play(&w, 16);
	CU_ASSERT_EQUAL(wrong(&w, 16), 0);
	CU_ASSERT_EQUAL(bisect.nsides, 1);
}

int main(void)
{
	return unit_main();
}
