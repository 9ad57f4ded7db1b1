/* pairs.c: sends and receives between two ranks: who waits for whom. */
#include "base/stats.h"
#include "diagnose/rule.h"
#include "record/verdict.h"

bool call_in_pairs(const struct record *r)
{
	return r && call_is_pair(r->kind);
}

bool waits_in_pairs(const struct rule_ctx *ctx, int rank)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;
	const struct track *t = &ctx->align->tracks[rank];

	return v->completed < v->issued && t->final && call_is_pair(t->last_kind) &&
	       !waits_over(ctx->run, t->final);
}

/* How far a partner is from a rank, going round or in bits. */
static int distance(int n, int from, int to, bool bits)
{
	return bits ? from ^ to : (to - from + n) % n;
}

/* The distance that most ranks have to the partners of their calls `seq`, -1: there is none. */
static int common_distance(const struct rule_ctx *ctx, uint64_t seq, int kind, bool bits)
{
	int n = ctx->align->nranks;
	uint64_t *found = must(malloc(((size_t)n + 1) * sizeof(*found)));
	struct vote vote;
	size_t made = 0;

	for (int i = 0; i < n; i++) {
		const struct record *r = align_record(ctx->align, i, seq);

		if (r && r->kind == kind && r->peer >= 0 && r->peer < n)
			found[made++] = (uint64_t)distance(n, i, r->peer, bits);
	}
	vote = vote_words(found, made);
	free(found);
	return 2 * vote.votes > (size_t)n ? (int)vote.most : -1;
}

int plan_peer(const struct rule_ctx *ctx, int rank, uint64_t seq, int kind)
{
	int n = ctx->align->nranks, round = common_distance(ctx, seq, kind, false);
	int bits = round < 0 ? common_distance(ctx, seq, kind, true) : -1;

	if (round >= 0)
		return (rank + round) % n;
	return bits >= 0 && (rank ^ bits) < n ? rank ^ bits : -1;
}

void name_pair(const struct rule_ctx *ctx, struct finding *f, int rank, int kind, int peer)
{
	int one = rank_number(ctx->evidence, rank), other;

	if (peer < 0 || peer >= ctx->evidence->nranks)
		return;
	other = rank_number(ctx->evidence, peer);
	snprintf(f->pair, sizeof(f->pair), "%d>%d", kind == CALL_SEND ? one : other,
		 kind == CALL_SEND ? other : one);
}

/* Returns true if the rank's number within its communicator is that of the run. Where ranks are
 * split into groups it is not: partners are numbered within theirs. */
static bool numbered_alike(const struct rule_ctx *ctx, int rank)
{
	const struct record_header *h = ctx->evidence->ranks[rank].recorder;
	const struct record_init *init = h ? &h->inits[ctx->align->comm] : NULL;

	return !init || init->state == RECORD_COMM_NONE ||
	       (init->rank == rank && init->nranks == ctx->evidence->nranks);
}

bool knows_all_calls(const struct rule_ctx *ctx, int rank)
{
	const struct track *t =
		rank >= 0 && rank < ctx->align->nranks ? &ctx->align->tracks[rank] : NULL;

	return t && t->known && (!t->final || (t->first == 1 && t->whole)) &&
	       numbered_alike(ctx, rank);
}

/* What the rank waits in, of the team at hand; NULL: it is not known, or nobody waits. */
static const struct waiter *waiter_of(const struct rule_ctx *ctx, int rank)
{
	int number = ctx->waits && knows_all_calls(ctx, rank) ? team_rank(ctx->team, rank) : -1;

	return number >= 0 && ctx->waits->ranks[number].known ? &ctx->waits->ranks[number] : NULL;
}

static bool partner_known(const struct rule_ctx *ctx, const struct wait_call *c)
{
	return c->team == ctx->team && call_in_pairs(c->call) &&
	       knows_all_calls(ctx, c->call->peer) && ctx->waits->ranks[c->partner].known;
}

bool partners_known(const struct rule_ctx *ctx, int rank)
{
	const struct waiter *w = waiter_of(ctx, rank);

	for (size_t i = 0; w && i < w->n; i++)
		if (!partner_known(ctx, &w->calls[i]))
			return false;
	return w != NULL;
}

const struct record *open_pair(const struct rule_ctx *ctx, int rank, const struct record **theirs)
{
	const struct waiter *w = waiter_of(ctx, rank);

	for (size_t i = 0; w && i < w->n && partner_known(ctx, &w->calls[i]); i++) {
		*theirs = w->calls[i].theirs;
		if (!*theirs || w->calls[i].unequal)
			return w->calls[i].call;
	}
	return NULL;
}

bool pairs_point_at(const struct rule_ctx *ctx, int rank, bool extra)
{
	const struct record *theirs, *own;

	if (extra && open_pair(ctx, rank, &theirs))
		return true;
	/* of a run too large for waits nothing is pending */
	for (int i = 0; ctx->waits && ctx->waits->pending > 0 && i < ctx->align->nranks; i++) {
		own = open_pair(ctx, i, &theirs);
		if (own && own->peer == rank)
			return true;
	}
	return false;
}

bool culprits_awaited(const struct rule_ctx *ctx, const struct culprits *culprits)
{
	const struct record *theirs;
	bool certain = true, all = true;

	for (int i = 0; i < ctx->align->nranks; i++) {
		all = all && (!culprits->in[i] || pairs_point_at(ctx, i, false));
		if (waits_in_pairs(ctx, i) && !open_pair(ctx, i, &theirs))
			certain = certain && partners_known(ctx, i);
	}
	return all || !certain;
}

/* Returns true unless the rank waits elsewhere than the other one. */
static bool is_at(const struct rank_view *v, const struct rank_view *other)
{
	return !v->waiting || !other->waiting || strcmp(v->what, other->what) == 0;
}

bool is_awaited(const struct rule_ctx *ctx, int rank)
{
	const struct waits *waits = ctx->waits;
	const struct rank_view *v = rank < 0 ? NULL : &ctx->run->ranks[rank].view;

	if (!v || !waits || !waits->ranks[rank].known || v->completed < v->issued ||
	    v->process != PROCESS_ALIVE || view_finished(v))
		return false;
	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct wait_call *in = waits_in(waits, i);

		for (; in; in = waits_also(waits, in))
			if (waits_for(waits, in, rank) && is_at(v, &ctx->run->ranks[i].view))
				return true;
	}
	return false;
}

void name_lacking_pair(const struct rule_ctx *ctx, struct finding *f, int rank, uint64_t seq,
		       const struct record *like)
{
	const struct record *theirs;

	for (int i = 0; i < ctx->align->nranks && !f->pair[0]; i++) {
		const struct record *own = open_pair(ctx, i, &theirs);

		if (own && own->peer == rank && own->kind != like->kind)
			name_pair(ctx, f, i, own->kind, rank);
	}
	if (!f->pair[0])
		name_pair(ctx, f, rank, like->kind, plan_peer(ctx, rank, seq, like->kind));
}

/* A hash of the rank's collectives on the communicator, in their order. */
static uint64_t hash_collectives(const struct rule_ctx *ctx, int rank)
{
	const struct track *t = &ctx->align->tracks[rank];
	uint64_t hash = 0;

	for (const struct record *r = t->oldest; t->final && r <= t->final; r++)
		if (r->comm == ctx->align->comm && !call_in_pairs(r))
			hash = record_hash(hash, r);
	return hash;
}

bool link_gap(const struct rule_ctx *ctx, const struct link *link, size_t *at)
{
	size_t n = link->sent.n < link->received.n ? link->sent.n : link->received.n;

	*at = 0;
	if (!knows_all_calls(ctx, link->from) || !knows_all_calls(ctx, link->to))
		return false;
	while (*at < n && flow_fits(link->sent.calls[*at], link->received.calls[*at]))
		++*at;
	return *at < n;
}

bool pairs_unmet(const struct rule_ctx *ctx)
{
	uint64_t first = hash_collectives(ctx, 0);
	struct link link = { .rank = 0 };
	struct flows flows;
	bool met = true;
	size_t at;

	for (int i = 0; met && i < ctx->align->nranks; i++)
		met = knows_all_calls(ctx, i) && hash_collectives(ctx, i) == first;
	if (!met || !ctx->in_pairs)
		return !met;
	flows_init(&flows, ctx->evidence, ctx->align->comm);
	while (met && flows_next(&flows, &link))
		met = link.sent.n == link.received.n && !link_gap(ctx, &link, &at);
	flows_release(&flows);
	return !met;
}
