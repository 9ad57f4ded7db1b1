/* apart.c: ranks that make the collectives of a communicator and, by right, none of the sends and
 * receives that others make between them. Their calls are counted as the others' are. */
#include "progress/comm_parts.h"

#include "base/call_value.h"

#define LEADERS_MAX 8 /* ranks in pairs whose collectives are compared */

static const struct record *next_collective(const struct progress_comm *a, const struct track *t,
					    const struct record *r)
{
	for (r = r ? r + 1 : t->oldest; r <= t->final; r++)
		if (r->comm == a->comm && r->kind < CALL_SEND)
			return r;
	return NULL;
}

static bool is_whole(const struct track *t)
{
	return t->final && t->known && t->whole && t->first == 1;
}

/* Returns true if a collective of both stands behind sends or receives of the leader's: it went on past them.
 * One that did not may lack them. */
static bool went_past(const struct progress_comm *a, const struct track *t,
		      const struct track *leader)
{
	const struct record *x = next_collective(a, t, NULL);
	const struct record *y = next_collective(a, leader, NULL);

	while (x && y && (y->seq == x->seq || call_signature(x) != call_signature(y))) {
		x = next_collective(a, t, x);
		y = next_collective(a, leader, y);
	}
	return x && y;
}

struct leaders {
	const struct track *tracks[LEADERS_MAX];
	const struct record *at[LEADERS_MAX]; /* one collective of each; NULL: they end before it */
	int n;
	uint64_t last;
};

/* On to the next collective of each. Returns its number where none has another call there, else 0. */
static uint64_t advance(const struct progress_comm *a, struct leaders *l, bool first)
{
	uint64_t seq = 0;
	bool agree = true;

	for (int i = 0; i < l->n; i++) {
		if (first || l->at[i])
			l->at[i] = next_collective(a, l->tracks[i], first ? NULL : l->at[i]);
		if (!l->at[i])
			continue;
		agree &= !seq || l->at[i]->seq == seq;
		seq = l->at[i]->seq;
	}
	for (int i = 0; i < l->n; i++) /* one that ended made something else there */
		agree &= l->at[i] || l->tracks[i]->last < seq;
	return agree ? seq : 0;
}

/* Calls whose place in the others' sequences is no longer known are left out. */
static void number_as(const struct progress_comm *a, struct track *t, struct leaders *l)
{
	uint64_t made = t->last, n = 0, at = 0, next = advance(a, l, true);

	t->own = must(calloc(l->last + 1, sizeof(*t->own)));
	while (n < made && next) {
		at = next;
		t->own[at - 1] = ++n;
		next = advance(a, l, false);
	}
	t->last = n < made || !next ? l->last : next - 1;
	if (n == made && t->inside)
		t->last = at;
	t->plain = false;
	t->sig = NULL;
}

void comm_number_apart(struct progress_comm *a)
{
	struct leaders l = { .n = 0 };

	for (int i = 0; i < a->nranks && l.n < LEADERS_MAX; i++) {
		if (!is_whole(&a->tracks[i]) || !progress_has_pairs(&a->ranks[i], a->comm))
			continue;
		l.tracks[l.n++] = &a->tracks[i];
		l.last = a->tracks[i].last > l.last ? a->tracks[i].last : l.last;
	}
	for (int i = 0; l.n > 0 && i < a->nranks; i++) {
		struct track *t = &a->tracks[i];
		bool past = false;

		if (!is_whole(t) || progress_has_pairs(&a->ranks[i], a->comm))
			continue;
		for (int k = 0; k < l.n && !past; k++)
			past = went_past(a, t, l.tracks[k]);
		if (past)
			number_as(a, t, &l);
	}
}
