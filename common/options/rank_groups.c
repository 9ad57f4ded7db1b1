/* rank_groups.c: sorts ranks by value, and the groups that this makes by rank. */
#include "options/rank_groups.h"

#include "base/error.h"
#include "base/rank_list.h"

struct member {
	uint64_t value;
	int rank;
};

struct span {
	int from, n, rank; /* members from..from+n-1; the lowest rank */
};

static int by_value(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	return x->value != y->value ? (x->value > y->value) - (x->value < y->value)
				    : x->rank - y->rank;
}

static int by_rank(const void *a, const void *b)
{
	return ((const struct span *)a)->rank - ((const struct span *)b)->rank;
}

static int take_members(struct member *members, const uint64_t *values, int nranks)
{
	int n = 0;

	for (int i = 0; i < nranks; i++)
		if (values[i])
			members[n++] = (struct member){ values[i], i };
	qsort(members, (size_t)n, sizeof(*members), by_value);
	return n;
}

static int find_spans(struct span *spans, const struct member *members, int n)
{
	int count = 0;

	for (int i = 0; i < n; i++)
		if (i == 0 || members[i].value != members[i - 1].value)
			spans[count++] = (struct span){ i, 1, members[i].rank };
		else
			spans[count - 1].n++;
	qsort(spans, (size_t)count, sizeof(*spans), by_rank);
	return count;
}

/* The span that is longer than any other, -1: there is none. */
static int find_most(const struct span *spans, int count)
{
	int most = -1, n = 0;

	for (int i = 0; i < count; i++) {
		if (spans[i].n >= n)
			most = spans[i].n > n ? i : -1;
		n = spans[i].n > n ? spans[i].n : n;
	}
	return most;
}

static void put_group(struct rank_groups *g, const struct span *span, const struct member *members,
		      bool *in, int nranks)
{
	struct rank_group *group = &g->groups[g->ngroups++];

	memset(in, 0, (size_t)nranks);
	for (int i = 0; i < span->n; i++)
		in[members[span->from + i].rank] = true;
	group->rank = span->rank;
	group->n = span->n;
	rank_list_words(in, nranks, group->words, sizeof(group->words));
}

void rank_groups(struct rank_groups *g, const uint64_t *values, int nranks)
{
	size_t room = (size_t)nranks + 1;
	struct member *members = must(malloc(room * sizeof(*members)));
	struct span *spans = must(malloc(room * sizeof(*spans)));
	bool *in = must(malloc(room));
	int count = find_spans(spans, members, take_members(members, values, nranks)), most;

	memset(g, 0, sizeof(*g));
	most = find_most(spans, count);
	for (int i = 0; i < count; i++) {
		g->more |= i != most && g->ngroups == RANK_GROUPS - 1;
		if (i != most && !g->more)
			put_group(g, &spans[i], members, in, nranks);
	}
	g->most = most >= 0;
	if (most >= 0)
		put_group(g, &spans[most], members, in, nranks);
	free(members);
	free(spans);
	free(in);
}

uint64_t rank_groups_value(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash ? hash : 1;
}
