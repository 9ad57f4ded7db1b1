/* rank_groups.c: sorts ranks by value, and the resulting groups by rank. */
#include "settings/rank_groups.h"

#include "base/error.h"
#include "base/rank_list.h"

static int by_value(const void *a, const void *b, void *values)
{
	uint64_t x = ((uint64_t *)values)[*(const int *)a],
		 y = ((uint64_t *)values)[*(const int *)b];

	return x != y ? (x > y) - (x < y) : *(const int *)a - *(const int *)b;
}

/* Counts each value at its lowest rank; 0 at its other ranks. */
static void count_values(const uint64_t *values, int nranks, int *counts)
{
	int *ranks = must(malloc(((size_t)nranks + 1) * sizeof(*ranks))), n = 0, lowest = 0;

	for (int r = 0; r < nranks; r++)
		if (values[r])
			ranks[n++] = r;
	qsort_r(ranks, (size_t)n, sizeof(*ranks), by_value, (void *)(uintptr_t)values);
	for (int i = 0; i < n; i++) {
		lowest = i && values[ranks[i]] == values[ranks[i - 1]] ? lowest : ranks[i];
		counts[lowest]++;
	}
	free(ranks);
}

static void put_group(struct rank_groups *g, const uint64_t *values, int nranks, int rank, int n)
{
	struct rank_group *group = &g->groups[g->ngroups++];
	bool *in = must(calloc((size_t)nranks, sizeof(*in)));

	for (int r = 0; r < nranks; r++)
		in[r] = values[r] == values[rank];
	group->rank = rank;
	group->n = n;
	rank_list_words(in, nranks, group->words, sizeof(group->words));
	free(in);
}

void rank_groups(struct rank_groups *g, const uint64_t *values, int nranks)
{
	int *counts = must(calloc((size_t)nranks + 1, sizeof(*counts))), most = -1, largest = 0;

	memset(g, 0, sizeof(*g));
	count_values(values, nranks, counts);
	for (int r = 0; r < nranks; r++) {
		if (counts[r] >= largest && counts[r] > 0)
			most = counts[r] > largest ? r : -1;
		largest = counts[r] > largest ? counts[r] : largest;
	}
	for (int r = 0; r < nranks; r++) {
		if (counts[r] == 0 || r == most)
			continue;
		g->more |= g->ngroups == RANK_GROUPS - 1;
		if (!g->more)
			put_group(g, values, nranks, r, counts[r]);
	}
	g->most = most >= 0;
	if (most >= 0)
		put_group(g, values, nranks, most, counts[most]);
	free(counts);
}

uint64_t rank_groups_value(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash ? hash : 1;
}
