/* circle.c: calls that wait for each other in a circle, and the order in which ranks made two calls. */

#include "base/call_value.h"
#include "run/progress.h"

#define DEPTH_MAX 4096

enum mark { MARK_NONE, MARK_ON_WAY, MARK_DONE };

struct search {
	const struct progress *progress;
	bool pairs;
	uint8_t *marks; /* enum mark of each pending call */
	const struct pending_call **way;
	size_t depth, begin; /* calls on the way; the first of the circle */
};

static bool is_pair(const struct pending_call *c)
{
	return call_is_pair(c->call->kind);
}

static bool visit(struct search *s, const struct pending_call *c);

/* Returns true if the calls of the circle can be made in an order without it: they are on several communicators, or each half
 * of a send or receive among them is known. */
static bool has_other_order(const struct search *s)
{
	bool pairs = false, made = true;

	for (size_t i = s->begin; i < s->depth; i++) {
		if (s->way[i]->members != s->way[s->begin]->members)
			return true;
		pairs |= is_pair(s->way[i]);
		made &= !is_pair(s->way[i]) || s->way[i]->theirs;
	}
	return pairs && made;
}

/* Goes on to what the rank is in that keeps it from its part of `c`. */
static bool visit_rank(struct search *s, const struct pending_call *c, int rank)
{
	const struct pending_call *next = progress_at(s->progress, rank);

	for (; next; next = progress_also(s->progress, next)) {
		uint8_t mark = s->marks[next - s->progress->arena];

		if ((s->pairs && !is_pair(next)) || !progress_stands_behind(s->progress, c, next))
			continue;
		if (mark == MARK_NONE && visit(s, next))
			return true;
		if (mark != MARK_ON_WAY)
			continue;
		for (s->begin = 0; s->way[s->begin] != next;)
			s->begin++;
		if (s->pairs || has_other_order(s))
			return true;
	}
	return false;
}

static bool visit(struct search *s, const struct pending_call *c)
{
	if (s->depth == DEPTH_MAX)
		return false;
	s->marks[c - s->progress->arena] = MARK_ON_WAY;
	s->way[s->depth++] = c;
	if (is_pair(c) && c->partner >= 0 && visit_rank(s, c, c->partner))
		return true;
	for (int i = 0; !is_pair(c) && i < c->members->nranks; i++) {
		int rank = members_rank(c->members, i);

		if (pending_waits_for(s->progress, c, rank) && visit_rank(s, c, rank))
			return true;
	}
	s->depth--;
	s->marks[c - s->progress->arena] = MARK_DONE;
	return false;
}

static bool find(struct search *s)
{
	const struct pending_call *c;

	for (int i = 0; i < s->progress->nranks; i++)
		for (c = progress_at(s->progress, i); c; c = progress_also(s->progress, c))
			if ((is_pair(c) || !s->pairs) && !s->marks[c - s->progress->arena] &&
			    visit(s, c))
				return true;
	return false;
}

size_t progress_circle(const struct progress *p, bool pairs, const struct pending_call **circle,
		       size_t max)
{
	struct search s = { .progress = p, .pairs = pairs };
	size_t n = 0, lowest = 0;

	s.marks = must(calloc(p->npending + 1, sizeof(*s.marks)));
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

/* Marks the rank and the ranks that it waits for, those that these wait for, and so on; `back`: those that wait for it. */
static void reach(const struct progress *p, int rank, bool back, bool *in)
{
	int *list = must(malloc(((size_t)p->nranks + 1) * sizeof(*list))), n = 1;

	list[0] = rank;
	in[rank] = true;
	for (int i = 0; i < n; i++)
		for (int other = 0; other < p->nranks; other++) {
			int from = back ? other : list[i], to = back ? list[i] : other;

			if (in[other] || progress_waits_for(p, from, to) != PROGRESS_YES)
				continue;
			in[other] = true;
			list[n++] = other;
		}
	free(list);
}

bool progress_closed(const struct progress *p, int rank)
{
	bool *in = must(calloc((size_t)p->nranks + 1, sizeof(*in))), closed = true;

	reach(p, rank, false, in);
	for (int i = 0; i < p->nranks; i++)
		closed = closed && (!in[i] || progress_at(p, i));
	free(in);
	return closed;
}

bool progress_waits_beyond(const struct progress *p, int rank)
{
	bool *ahead = must(calloc((size_t)p->nranks + 1, sizeof(*ahead)));
	bool *behind = must(calloc((size_t)p->nranks + 1, sizeof(*behind))), beyond = false;

	reach(p, rank, false, ahead);
	reach(p, rank, true, behind);
	for (int i = 0; i < p->nranks; i++)
		beyond = beyond || (ahead[i] && !behind[i]);
	free(ahead);
	free(behind);
	return beyond;
}

/* The communicator of `v` that has the place of `rank`'s `comm` among those that each has calls on. -1: they are
 * not in as many. */
static int same_role(const struct progress *p, int rank, uint32_t comm, int v)
{
	const struct rank_calls *one = &p->pending[rank], *other = &p->pending[v];
	int role = 0, n = 0, found = -1;

	for (size_t i = 0; i < one->ncomms; i++) {
		n += one->comms[i].made > 0;
		role += one->comms[i].made > 0 && one->comms[i].members->comm < comm;
	}
	for (size_t i = 0; i < other->ncomms; i++) {
		if (other->comms[i].made == 0)
			continue;
		found = role-- == 0 ? (int)other->comms[i].members->comm : found;
		n--;
	}
	return n == 0 ? found : -1;
}

int progress_order(const struct progress *p, int v, const struct pending_call *first,
		   const struct pending_call *second, int rank, bool alike)
{
	int a = alike ? same_role(p, rank, first->call->comm, v) : (int)first->call->comm;
	int b = alike ? same_role(p, rank, second->call->comm, v) : (int)second->call->comm;
	const struct rank_comm *one, *other;
	const struct record *x, *y;

	if (!progress_known(p, v) || a < 0 || b < 0)
		return 0;
	one = progress_part(p, v, (uint32_t)a);
	other = progress_part(p, v, (uint32_t)b);
	if (!one || !other)
		return 0;
	if (!alike && (one->members != first->members || other->members != second->members))
		return 0;
	if (one->made < first->nth || other->made < second->nth)
		return (one->made >= first->nth) - (other->made >= second->nth);
	x = progress_collective(p, v, (uint32_t)a, first->nth);
	y = progress_collective(p, v, (uint32_t)b, second->nth);
	return !x || !y ? 0 : x->ticket < y->ticket ? 1 : -1;
}
