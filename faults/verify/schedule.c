/* schedule.c: a schedule's ranks, groups and calls. */
#include "verify/schedule.h"

void schedule_init(struct schedule *s, int nranks)
{
	*s = (struct schedule){ .nranks = nranks, .ahead = -1, .nsites = 1 };
	s->ranks = must(calloc((size_t)nranks + 1, sizeof(*s->ranks)));
	s->sites = must_room(NULL, 0, sizeof(*s->sites));
	s->sites[0] = NULL;
}

void schedule_release(struct schedule *s)
{
	for (int i = 0; i < s->nranks; i++)
		free(s->ranks[i].steps);
	for (size_t g = 0; g < s->ngroups; g++)
		free(s->groups[g].ranks);
	for (size_t i = 0; i < s->nsites; i++)
		free(s->sites[i]);
	free(s->ranks);
	free(s->groups);
	free(s->sites);
	memset(s, 0, sizeof(*s));
}

size_t schedule_add_group(struct schedule *s, const char *name, int *ranks, int n)
{
	struct schedule_group *g;

	s->groups = must_room(s->groups, (int)s->ngroups, sizeof(*s->groups));
	g = &s->groups[s->ngroups];
	*g = (struct schedule_group){ .ranks = ranks, .n = n };
	snprintf(g->name, sizeof(g->name), "%s", name);
	return s->ngroups++;
}

struct step *schedule_add_step(struct schedule *s, int rank, struct step step)
{
	struct schedule_rank *r = &s->ranks[rank];

	r->steps = must_room(r->steps, (int)r->n, sizeof(*r->steps));
	r->steps[r->n] = step;
	r->known = true;
	return &r->steps[r->n++];
}

uint16_t schedule_site(struct schedule *s, const char *text)
{
	/* those that were added last come again soonest */
	for (size_t i = s->nsites; text[0] && i-- > 1;)
		if (strcmp(s->sites[i], text) == 0)
			return (uint16_t)i;
	if (!text[0] || s->nsites == SCHEDULE_SITES)
		return 0;
	s->sites = must_room(s->sites, (int)s->nsites, sizeof(*s->sites));
	s->sites[s->nsites] = must(strdup(text));
	return (uint16_t)s->nsites++;
}

int schedule_place(const struct schedule_group *g, int rank)
{
	if (rank >= 0 && rank < g->n && g->ranks[rank] == rank)
		return rank; /* as in the group of all ranks */
	for (int i = 0; i < g->n; i++)
		if (g->ranks[i] == rank)
			return i;
	return -1;
}

size_t schedule_calls(const struct schedule *s)
{
	size_t n = 0;

	for (int i = 0; i < s->nranks; i++)
		n += s->ranks[i].n;
	return n;
}

int schedule_unknown(const struct schedule *s)
{
	for (int i = 0; i < s->nranks; i++)
		if (!s->ranks[i].known)
			return i;
	return -1;
}

/* Returns true if the rank would make the peer's calls: collectives of groups that both are members of. */
static bool is_peer(const struct schedule *s, const struct schedule_rank *peer, int rank)
{
	for (size_t i = 0; i < peer->n; i++)
		if (call_is_pair(peer->steps[i].kind) ||
		    schedule_place(&s->groups[peer->steps[i].group], rank) < 0)
			return false;
	return peer->known && peer->n > 0;
}

int schedule_assume(struct schedule *s)
{
	int lack = 0;

	for (int i = 0; i < s->nranks; i++) {
		struct schedule_rank *own = &s->ranks[i];
		int peer = 0;

		if (own->known)
			continue;
		while (peer < s->nranks && !is_peer(s, &s->ranks[peer], i))
			peer++;
		if (peer == s->nranks) {
			lack++;
			continue;
		}
		for (size_t k = 0; k < s->ranks[peer].n; k++)
			schedule_add_step(s, i, s->ranks[peer].steps[k]);
		text_add(s->remarks, sizeof(s->remarks),
			 "%sRank %d's calls are assumed to be those of rank %d.",
			 s->remarks[0] ? " " : "", i, peer);
	}
	return lack;
}
