/* circle.c: calls that wait for each other in a circle. */

#include "base/call_value.h"
#include "waits/waits.h"

#define DEPTH_MAX 4096

enum mark { MARK_NONE, MARK_ON_WAY, MARK_DONE };

struct search {
	const struct waits *waits;
	bool pairs;
	uint8_t *marks; /* enum mark of each pending call */
	const struct wait_call **way;
	size_t depth, begin; /* calls on the way; the first of the circle */
};

static bool is_pair(const struct wait_call *c)
{
	return call_is_pair(c->call->kind);
}

/* Returns true if what is on the way from `begin` on is a circle of the kind that is looked for. */
static bool fits(const struct search *s)
{
	for (size_t i = s->begin; !s->pairs && i < s->depth; i++)
		if (s->way[i]->team != s->way[s->begin]->team)
			return true;
	return s->pairs;
}

static bool visit(struct search *s, const struct wait_call *c);

/* Goes on to what the rank is in that keeps it from its part of `c`. */
static bool visit_rank(struct search *s, const struct wait_call *c, int rank)
{
	const struct wait_call *next = waits_in(s->waits, rank);

	for (; next; next = waits_also(s->waits, next)) {
		uint8_t mark = s->marks[next - s->waits->arena];

		if ((s->pairs && !is_pair(next)) || !waits_behind(s->waits, c, next))
			continue;
		if (mark == MARK_NONE && visit(s, next))
			return true;
		if (mark != MARK_ON_WAY)
			continue;
		for (s->begin = 0; s->way[s->begin] != next;)
			s->begin++;
		if (fits(s))
			return true;
	}
	return false;
}

static bool visit(struct search *s, const struct wait_call *c)
{
	if (s->depth == DEPTH_MAX)
		return false;
	s->marks[c - s->waits->arena] = MARK_ON_WAY;
	s->way[s->depth++] = c;
	if (is_pair(c) && c->partner >= 0 && visit_rank(s, c, c->partner))
		return true;
	for (int i = c->seen; !is_pair(c) && i < c->team->nranks; i++) {
		int rank = team_rank(c->team, i);

		if (waits_for(s->waits, c, rank) && visit_rank(s, c, rank))
			return true;
	}
	s->depth--;
	s->marks[c - s->waits->arena] = MARK_DONE;
	return false;
}

static bool find(struct search *s)
{
	const struct wait_call *c;

	for (int i = 0; i < s->waits->evidence->nranks; i++)
		for (c = waits_in(s->waits, i); c; c = waits_also(s->waits, c))
			if ((is_pair(c) || !s->pairs) && !s->marks[c - s->waits->arena] &&
			    visit(s, c))
				return true;
	return false;
}

size_t waits_circle(const struct waits *w, bool pairs, const struct wait_call **circle, size_t max)
{
	struct search s = { .waits = w, .pairs = pairs };
	size_t n = 0, lowest = 0;

	s.marks = must(calloc(w->pending + 1, sizeof(*s.marks)));
	s.way = must(calloc(DEPTH_MAX, sizeof(*s.way)));
	if (find(&s) && s.depth - s.begin <= max)
		n = s.depth - s.begin;
	for (size_t i = 0; i < n; i++)
		if (s.way[s.begin + i]->rank < s.way[s.begin + lowest]->rank)
			lowest = i;
	for (size_t i = 0; i < n; i++)
		circle[i] = s.way[s.begin + (lowest + i) % n];
	free(s.marks);
	free(s.way);
	return n;
}

/* Adds those for whom `rank` waits to the list. */
static size_t add_awaited(const struct waits *w, int rank, int *list, size_t n, bool *in)
{
	for (const struct wait_call *c = waits_in(w, rank); c; c = waits_also(w, c))
		for (int i = 0; i < w->evidence->nranks; i++)
			if (!in[i] && waits_for(w, c, i)) {
				in[i] = true;
				list[n++] = i;
			}
	return n;
}

bool waits_closed(const struct waits *w, int rank)
{
	size_t ranks = (size_t)w->evidence->nranks, n = 1;
	int *list = must(malloc((ranks + 1) * sizeof(*list)));
	bool *in = must(calloc(ranks + 1, sizeof(*in)));
	bool closed = true;

	list[0] = rank;
	in[rank] = true;
	for (size_t i = 0; closed && i < n; i++) {
		closed = waits_in(w, list[i]) != NULL;
		n = add_awaited(w, list[i], list, n, in);
	}
	free(list);
	free(in);
	return closed;
}
