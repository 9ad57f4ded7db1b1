/* pairs.c: sends and receives between two ranks: which rank waits for which, and which met and do not fit. */
#include "base/stats.h"
#include "run/comm.h"

bool progress_in_pairs(const struct progress_comm *a, int rank)
{
	const struct rank_view *v = a->ranks[rank].view;
	const struct track *t = &a->tracks[rank];

	return v->completed < v->issued && t->final && call_is_pair(t->last_kind) &&
	       !progress_over(a->progress, t->final);
}

/* The distance, going round or in bits, that most ranks have to the partners of their calls `seq`, -1: none. */
static int common_distance(const struct progress_comm *a, uint64_t seq, int kind, bool bits)
{
	int n = a->nranks;
	uint64_t *found = must(malloc(((size_t)n + 1) * sizeof(*found)));
	struct vote vote;
	size_t made = 0;

	for (int i = 0; i < n; i++) {
		const struct record *r = progress_call(a, i, seq);

		if (r && r->kind == kind && r->peer >= 0 && r->peer < n)
			found[made++] = (uint64_t)(bits ? i ^ r->peer : (r->peer - i + n) % n);
	}
	vote = vote_words(found, made);
	free(found);
	return 2 * vote.votes > (size_t)n ? (int)vote.most : -1;
}

int progress_planned_peer(const struct progress_comm *a, int rank, uint64_t seq, int kind)
{
	int n = a->nranks, round = common_distance(a, seq, kind, false);
	int bits = round < 0 ? common_distance(a, seq, kind, true) : -1;

	if (round >= 0)
		return (rank + round) % n;
	return bits >= 0 && (rank ^ bits) < n ? rank ^ bits : -1;
}

bool progress_knows_all(const struct progress_comm *a, int rank)
{
	const struct track *t = rank >= 0 && rank < a->nranks ? &a->tracks[rank] : NULL;
	const struct record_header *h = t ? a->ranks[rank].recorder : NULL;
	const struct record_init *init = h ? &h->inits[a->comm] : NULL;

	/* where ranks are split into groups a rank's number within its communicator is not its place here */
	return t && t->known && (!t->final || (t->first == 1 && t->whole)) &&
	       (!init || init->state == RECORD_COMM_NONE ||
		(init->rank == rank && init->nranks == a->nranks));
}

/* The member's pending calls; NULL: they are not known, or the run was not played. */
static const struct rank_calls *pending_of(const struct progress_comm *a, int rank)
{
	const struct progress *p = a->progress;
	int number = progress_played(p) && progress_knows_all(a, rank)
			     ? members_rank(a->members, rank)
			     : -1;

	return number >= 0 && progress_known(p, number) ? &p->pending[number] : NULL;
}

static bool partner_known(const struct progress_comm *a, const struct pending_call *c)
{
	return c->members == a->members && call_in_pairs(c->call) &&
	       progress_knows_all(a, c->call->peer) && progress_known(a->progress, c->partner);
}

bool progress_partners_known(const struct progress_comm *a, int rank)
{
	const struct rank_calls *w = pending_of(a, rank);

	for (size_t i = 0; w && i < w->n; i++)
		if (!partner_known(a, &w->calls[i]))
			return false;
	return w != NULL;
}

const struct record *progress_open_pair(const struct progress_comm *a, int rank,
					const struct record **theirs)
{
	const struct rank_calls *w = pending_of(a, rank);

	for (size_t i = 0; w && i < w->n && partner_known(a, &w->calls[i]); i++) {
		*theirs = w->calls[i].theirs;
		if (!*theirs || pending_unequal(&w->calls[i]))
			return w->calls[i].call;
	}
	return NULL;
}

bool progress_points_at(const struct progress_comm *a, int rank, bool extra)
{
	const struct record *theirs, *own;

	if (extra && progress_open_pair(a, rank, &theirs))
		return true;
	for (int i = 0; a->progress->npending > 0 && i < a->nranks; i++) {
		own = progress_open_pair(a, i, &theirs);
		if (own && own->peer == rank)
			return true;
	}
	return false;
}

bool progress_all_awaited(const struct progress_comm *a, const struct rank_set *ranks)
{
	const struct record *theirs;
	bool certain = true, all = true;

	for (int i = 0; i < a->nranks; i++) {
		all = all && (!ranks->in[i] || progress_points_at(a, i, false));
		if (progress_in_pairs(a, i) && !progress_open_pair(a, i, &theirs))
			certain = certain && progress_partners_known(a, i);
	}
	return all || !certain;
}

bool progress_mismatch(const struct progress_comm *a, const struct link *link, size_t *at)
{
	size_t n = link->sent.n < link->received.n ? link->sent.n : link->received.n;

	*at = 0;
	if (!progress_knows_all(a, link->from) || !progress_knows_all(a, link->to))
		return false;
	while (*at < n && progress_fits(link->sent.calls[*at], link->received.calls[*at]))
		++*at;
	return *at < n;
}

static uint64_t hash_collectives(const struct progress_comm *a, int rank)
{
	const struct track *t = &a->tracks[rank];
	uint64_t hash = 0;

	for (const struct record *r = t->oldest; t->final && r <= t->final; r++)
		if (r->comm == a->comm && !call_in_pairs(r))
			hash = record_hash(hash, r);
	return hash;
}

bool progress_settled(const struct progress_comm *a)
{
	uint64_t first = hash_collectives(a, 0);
	struct link link = { .rank = 0 };
	struct flows flows;
	bool met = true;
	size_t at;

	for (int i = 0; met && i < a->nranks; i++)
		met = progress_knows_all(a, i) && hash_collectives(a, i) == first;
	if (!met)
		return false;
	flows_init(&flows, a->progress, a->members);
	while (met && flows_next(&flows, &link))
		met = link.sent.n == link.received.n && !progress_mismatch(a, &link, &at);
	flows_release(&flows);
	return met;
}

/* Which alltoallv of the rank's on the communicator call `seq` is: where a rank has no part in sends and
 * receives its calls have other numbers. Where not all are known the number has to do. */
static uint64_t nth_of(const struct progress_comm *a, int rank, uint64_t seq)
{
	const struct progress_rank *r = &a->ranks[rank];
	uint64_t nth = 0;

	if (!progress_knows_all(a, rank))
		return seq;
	for (size_t k = 0; k < r->ncalls; k++)
		nth += r->calls[k].comm == a->comm && r->calls[k].seq <= seq &&
		       r->calls[k].kind == CALL_ALLTOALLV;
	return nth;
}

const struct record_counts *progress_counts(const struct progress_comm *a, int rank, uint64_t nth)
{
	const struct record_header *h = a->ranks[rank].recorder;

	for (int i = 0; h && i < RECORD_COUNTS; i++) {
		const struct record_counts *c = &h->counts[i];

		if (c->seq && c->comm == a->comm && c->n <= RECORD_PEERS &&
		    c->n == (uint32_t)a->nranks && nth_of(a, rank, c->seq) == nth)
			return c;
	}
	return NULL;
}

uint64_t progress_next_counts(const struct progress_comm *a, uint64_t nth)
{
	uint64_t next = 0;

	for (int rank = 0; rank < a->nranks; rank++) {
		const struct record_header *h = a->ranks[rank].recorder;

		for (int i = 0; h && i < RECORD_COUNTS; i++) {
			const struct record_counts *c = &h->counts[i];
			bool here = c->seq && c->comm == a->comm;
			uint64_t one = here ? nth_of(a, rank, c->seq) : 0;

			if (one > nth && (next == 0 || one < next))
				next = one;
		}
	}
	return next;
}

bool progress_out_of_group(const struct progress_comm *a, int rank, const struct record *own)
{
	const struct rank_view *v = a->ranks[own->peer].view;
	const struct record *last = a->tracks[own->peer].final;
	const struct record *met =
		own > a->tracks[rank].oldest && own[-1].comm == own->comm ? own - 1 : NULL;

	return call_in_pairs(last) && call_in_pairs(met) && last->peer == rank &&
	       met->peer == own->peer && last->kind == own->kind && met->kind != own->kind &&
	       progress_fits(last, met) &&
	       !((last->flags | own->flags | met->flags) & ~RECORD_HEADS) &&
	       (last->state == RECORD_CLOSING || view_finished(v)) && v->completed < last->ticket;
}
