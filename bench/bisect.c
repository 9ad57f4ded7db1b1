/* bisect.c: halves of bad groups, round by round. */
#include "bisect.h"

static void add_half(struct bisect *b, const struct bisect_group *of, int from, int to)
{
	struct bisect_group *g = &b->groups[b->ngroups++];

	*g = (struct bisect_group){ .suspect = -1 };
	for (int i = from; i < to; i++)
		g->members[g->n++] = of->members[i];
}

/* A member that is known to be good and keeps no other company in this round; -1: none. */
static int company(const struct bisect *b, bool *taken)
{
	for (int i = 0; i < b->n; i++)
		if (b->known_good[i] && !taken[i]) {
			taken[i] = true;
			return i;
		}
	return -1;
}

void bisect_init(struct bisect *b, int n)
{
	memset(b, 0, sizeof(*b));
	b->n = n;
	b->groups[0].suspect = -1;
	b->groups[0].bad = true;
	for (int i = 0; i < n; i++)
		b->groups[0].members[b->groups[0].n++] = i;
	b->ngroups = 1;
}

/* Both halves of a bad group are good: neither has the cause alone. */
static void note_sides(struct bisect *b, const struct bisect_group *first,
		       const struct bisect_group *second)
{
	if (b->nsides == 8)
		return;
	b->sides[b->nsides][0] = *first;
	b->sides[b->nsides++][1] = *second;
}

static void take_good(struct bisect *b, const struct bisect_group *g)
{
	for (int i = 0; i < g->n && !g->bad && g->n > 1; i++)
		b->known_good[g->members[i]] = true;
}

/* Takes the answers. Halves stand in pairs, before the suspects. */
static void judge(struct bisect *b)
{
	for (int i = 0; i < b->ngroups; i++) {
		const struct bisect_group *g = &b->groups[i];

		take_good(b, g);
		if (g->suspect >= 0 && g->bad)
			b->known_bad[g->suspect] = true;
		if (b->rounds == 0 || g->suspect >= 0)
			continue;
		take_good(b, &g[1]);
		if (!g->bad && !g[1].bad)
			note_sides(b, g, &g[1]);
		i++;
	}
}

/* A group of three or fewer: each member with good company, which shows a bad network of it, too. */
static void add_suspects(struct bisect *b, const struct bisect_group *of, bool *taken)
{
	for (int k = 0; k < of->n; k++) {
		struct bisect_group *g = &b->groups[b->ngroups++];
		int friend = company(b, taken);

		*g = (struct bisect_group){ .n = 1, .suspect = of->members[k] };
		g->members[0] = g->suspect;
		if (friend >= 0)
			g->members[g->n++] = friend;
	}
}

bool bisect_next(struct bisect *b)
{
	static struct bisect_group before[2 * BISECT_MOST];
	bool taken[BISECT_MOST] = { false };
	int n = b->ngroups;

	judge(b);
	memcpy(before, b->groups, sizeof(before[0]) * (size_t)n);
	b->ngroups = 0;
	for (int i = 0; i < n; i++)
		if (before[i].bad && before[i].suspect < 0 && before[i].n > 3) {
			add_half(b, &before[i], 0, before[i].n / 2);
			add_half(b, &before[i], before[i].n / 2, before[i].n);
		}
	for (int i = 0; i < n; i++)
		if (before[i].bad && before[i].suspect < 0 && before[i].n <= 3)
			add_suspects(b, &before[i], taken);
	b->rounds += b->ngroups > 0;
	return b->ngroups > 0;
}
