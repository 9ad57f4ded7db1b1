/* rank_groups.c: groups of ranks with one value, in the order of ranks. */
#include "settings/rank_groups.h"

#include "base/error.h"
#include "base/rank_list.h"
#include "base/stats.h"

static bool has_value(const struct rank_groups *g, const uint64_t *values, uint64_t value)
{
	for (int i = 0; i < g->ngroups; i++)
		if (values[g->groups[i].rank] == value)
			return true;
	return false;
}

static void add_group(struct rank_groups *g, const uint64_t *values, int nranks, int rank)
{
	struct rank_group *group = &g->groups[g->ngroups++];
	bool *in = must(calloc((size_t)nranks, sizeof(*in)));

	group->rank = rank;
	for (int r = 0; r < nranks; r++)
		group->n += in[r] = values[r] == values[rank];
	rank_list_words(in, nranks, group->words, sizeof(group->words));
	free(in);
}

/* The value of more ranks than any other; 0: none. */
static uint64_t most_common(const uint64_t *values, int nranks)
{
	uint64_t *known = must(calloc((size_t)nranks + 1, sizeof(*known)));
	struct vote vote;
	size_t n = 0;

	for (int r = 0; r < nranks; r++)
		if (values[r])
			known[n++] = values[r];
	vote = vote_words(known, n);
	free(known);
	return vote.votes > vote.second ? vote.most : 0;
}

void rank_groups(struct rank_groups *g, const uint64_t *values, int nranks)
{
	uint64_t most = most_common(values, nranks);
	int lowest = -1;

	memset(g, 0, sizeof(*g));
	for (int r = 0; r < nranks; r++) {
		if (most && values[r] == most)
			lowest = lowest < 0 ? r : lowest;
		else if (values[r] && !g->more && !has_value(g, values, values[r])) {
			g->more = g->ngroups == RANK_GROUPS - 1;
			if (!g->more)
				add_group(g, values, nranks, r);
		}
	}
	g->most = most != 0;
	if (most)
		add_group(g, values, nranks, lowest);
}

uint64_t rank_groups_value(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash ? hash : 1;
}
