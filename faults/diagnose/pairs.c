/* pairs.c: sends and receives between two ranks: who waits for whom. */
#include "diagnose/pairs.h"

#include "base/call_value.h"
#include "options/backend_kind.h"
#include "diagnose/place.h"
#include "diagnose/words.h"

#define PENDING_MAX 64 /* pending calls of a rank that are looked at */

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

bool all_wait_in_pairs(const struct rule_ctx *ctx, const struct culprits *culprits)
{
	for (int i = 0; i < culprits->nranks; i++)
		if (culprits->in[i] && !waits_in_pairs(ctx, i))
			return false;
	return culprits->n > 0;
}

bool ranks_in_pairs(const struct rule_ctx *ctx)
{
	static const struct record send = { .kind = CALL_SEND };
	uint64_t pair = evidence_signature(&send);

	for (int i = 0; i < ctx->align->nranks; i++) {
		const struct track *t = &ctx->align->tracks[i];

		for (uint64_t s = 0; t->final && s <= t->last - t->first; s++)
			if (t->sig[s] == pair)
				return true;
	}
	return false;
}

/* How far a partner is from a rank, going round or in bits. */
static int distance(int n, int from, int to, bool bits)
{
	return bits ? from ^ to : (to - from + n) % n;
}

/* The distance that most ranks have to the partners of their calls `seq`, -1: there is none. */
static int common_distance(const struct rule_ctx *ctx, uint64_t seq, int kind, bool bits)
{
	int n = ctx->align->nranks, common = -1, votes = 0, with = 0;

	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < n; i++) {
			const struct record *r = align_record(ctx->align, i, seq);
			int d;

			if (!r || r->kind != kind || r->peer < 0 || r->peer >= n)
				continue;
			d = distance(n, i, r->peer, bits);
			if (pass == 0 && votes == 0)
				common = d;
			votes += pass ? 0 : d == common ? 1 : -1;
			with += pass && d == common;
		}
	return 2 * with > n ? common : -1;
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

static bool is_pair(const struct rule_ctx *ctx, const struct record *r, enum call_kind kind,
		    int peer)
{
	return r->comm == ctx->align->comm && r->kind == kind && r->peer == peer;
}

/* Counts the calls of this kind that the rank has made with `peer` up to the call `end`. */
static uint64_t ordinal(const struct rule_ctx *ctx, int rank, const struct record *end)
{
	uint64_t n = 0;

	for (const struct record *r = ctx->align->tracks[rank].oldest; r <= end; r++)
		n += is_pair(ctx, r, end->kind, end->peer);
	return n;
}

/* The rank's nth of this kind with `peer`, NULL: it has not made so many. */
static const struct record *find_nth(const struct rule_ctx *ctx, int rank, enum call_kind kind,
				     int peer, uint64_t n)
{
	const struct track *t = &ctx->align->tracks[rank];

	for (const struct record *r = t->oldest; t->final && r <= t->final; r++)
		if (is_pair(ctx, r, kind, peer) && --n == 0)
			return r;
	return NULL;
}

/* Where calls block, those that have returned are over, but for sends and receives of the last group. */
static bool is_over(const struct rule_ctx *ctx, const struct track *t, uint64_t seq, int rank)
{
	const struct record *r = align_record(ctx->align, rank, seq);

	if (r && waits_over(ctx->run, r))
		return true;
	if (!backend_lacks(ctx->run->backend, BACKEND_ASYNC) || seq == t->last)
		return false;
	return !call_in_pairs(r) || t->inside || !call_is_pair(t->last_kind);
}

/* The last of the rank's calls that it is known not to wait for. */
static uint64_t last_over(const struct rule_ctx *ctx, int rank)
{
	const struct track *t = &ctx->align->tracks[rank];
	uint64_t done = calls_completed(ctx, rank);

	for (uint64_t seq = t->last; t->final && seq > done; seq--)
		if (is_over(ctx, t, seq, rank))
			return seq;
	return done;
}

static uint64_t last_looked(const struct track *t, uint64_t done)
{
	return t->last < done + PENDING_MAX ? t->last : done + PENDING_MAX;
}

bool partners_known(const struct rule_ctx *ctx, int rank)
{
	const struct track *t = &ctx->align->tracks[rank];
	uint64_t done = last_over(ctx, rank);

	if (!knows_all_calls(ctx, rank) || t->last > done + PENDING_MAX)
		return false;
	for (uint64_t seq = done + 1; seq <= t->last; seq++) {
		const struct record *r = align_record(ctx->align, rank, seq);

		if (!call_in_pairs(r) || !knows_all_calls(ctx, r->peer))
			return false;
	}
	return true;
}

const struct record *open_pair(const struct rule_ctx *ctx, int rank, const struct record **theirs)
{
	const struct track *t = &ctx->align->tracks[rank];
	uint64_t done;

	if (!knows_all_calls(ctx, rank) || !t->final)
		return NULL;
	done = last_over(ctx, rank);
	for (uint64_t seq = done + 1; seq <= last_looked(t, done); seq++) {
		const struct record *r = align_record(ctx->align, rank, seq);

		if (!call_in_pairs(r) || !knows_all_calls(ctx, r->peer))
			return NULL;
		*theirs = find_nth(ctx, r->peer, r->kind == CALL_SEND ? CALL_RECV : CALL_SEND, rank,
				   ordinal(ctx, rank, r));
		if (!*theirs || (*theirs)->count != r->count || (*theirs)->dtype != r->dtype)
			return r;
	}
	return NULL;
}

bool pairs_explain(const struct rule_ctx *ctx, const struct culprits *culprits)
{
	const struct record *theirs = NULL;
	size_t looked = 0;

	for (int i = 0; i < culprits->nranks && looked < PAIR_RANKS_MAX; i++) {
		looked += culprits->in[i];
		if (culprits->in[i] && !open_pair(ctx, i, &theirs))
			return false;
	}
	return true;
}

bool pairs_point_at(const struct rule_ctx *ctx, int rank, bool extra)
{
	int n = ctx->align->nranks < PAIR_RANKS_MAX ? ctx->align->nranks : PAIR_RANKS_MAX;
	const struct record *theirs = NULL, *own;

	if (extra && open_pair(ctx, rank, &theirs))
		return true;
	for (int i = 0; i < n; i++) {
		own = open_pair(ctx, i, &theirs);
		if (own && own->peer == rank)
			return true;
	}
	return false;
}

bool culprits_awaited(const struct rule_ctx *ctx, const struct culprits *culprits)
{
	int n = ctx->align->nranks < PAIR_RANKS_MAX ? ctx->align->nranks : PAIR_RANKS_MAX;
	bool *awaited = must(calloc((size_t)ctx->align->nranks + 1, sizeof(*awaited)));
	bool certain = n == ctx->align->nranks, all = true;

	for (int i = 0; i < n; i++) {
		const struct record *theirs, *own = open_pair(ctx, i, &theirs);

		if (own)
			awaited[own->peer] = true;
		else if (waits_in_pairs(ctx, i) && !partners_known(ctx, i))
			certain = false;
	}
	for (int i = 0; i < n; i++)
		all = all && (!culprits->in[i] || awaited[i]);
	free(awaited);
	return all || !certain;
}

bool pairs_contradict(const struct rule_ctx *ctx, const struct culprits *culprits,
		      const struct deviation *d, int rank)
{
	bool skipped = d->kind == DEVIATION_SKIPPED;

	if (ctx->outcome != OUTCOME_HANG || (!skipped && d->kind != DEVIATION_EXTRA) ||
	    !call_in_pairs(align_reference(ctx->align, d->high)))
		return false;
	if (d->agreed <= 1)
		return true;
	return skipped ? !culprits_awaited(ctx, culprits)
		       : partners_known(ctx, rank) && !waits_in_pairs(ctx, rank);
}

void name_lacking_pair(const struct rule_ctx *ctx, struct finding *f, int rank, uint64_t seq,
		       const struct record *like)
{
	int n = ctx->align->nranks < PAIR_RANKS_MAX ? ctx->align->nranks : PAIR_RANKS_MAX;
	const struct record *theirs;

	for (int i = 0; i < n && !f->pair[0]; i++) {
		const struct record *own = open_pair(ctx, i, &theirs);

		if (own && own->peer == rank && own->kind != like->kind)
			name_pair(ctx, f, i, own->kind, rank);
	}
	if (!f->pair[0])
		name_pair(ctx, f, rank, like->kind, plan_peer(ctx, rank, seq, like->kind));
}

/* A send and its receive have this in common: between whom, which of theirs, how much. Sums of
 * it are compared, so that every bit has to depend on all of that. */
static uint64_t pair_hash(int from, int to, uint64_t nth, const struct record *r)
{
	struct record ends = { .kind = CALL_SEND, .count = (uint64_t)from << 32 | (uint32_t)to };
	struct record amount = { .kind = CALL_SEND, .dtype = r->dtype, .count = r->count };
	uint64_t hash = record_hash_strict(record_hash_strict(nth, &ends), &amount);

	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	return hash ^ hash >> 32;
}

/* Adds the rank's sends to `sum`, takes its receives from it; `others`: of its collectives, in their
 * order. `made`: two words per rank, all 0 before and after. False: a partner is not known. */
static bool add_pairs(const struct rule_ctx *ctx, int rank, uint64_t *made, uint64_t *sum,
		      uint64_t *others)
{
	const struct track *t = &ctx->align->tracks[rank];
	bool known = true;

	for (const struct record *r = t->oldest; known && t->final && r <= t->final; r++) {
		bool sent = r->kind == CALL_SEND;

		if (r->comm != ctx->align->comm)
			continue;
		known = !call_in_pairs(r) || knows_all_calls(ctx, r->peer);
		if (!call_in_pairs(r))
			*others = record_hash(*others, r);
		else if (known && sent)
			*sum += pair_hash(rank, r->peer, made[2 * r->peer]++, r);
		else if (known)
			*sum -= pair_hash(r->peer, rank, made[2 * r->peer + 1]++, r);
	}
	for (const struct record *r = t->oldest; known && t->final && r <= t->final; r++)
		if (r->comm == ctx->align->comm && call_in_pairs(r))
			made[2 * r->peer] = made[2 * r->peer + 1] = 0;
	return known;
}

bool pairs_unmet(const struct rule_ctx *ctx)
{
	uint64_t *made = must(calloc(2 * (size_t)ctx->align->nranks + 1, sizeof(*made)));
	uint64_t sum = 0, first = 0;
	bool all = true;

	for (int i = 0; all && i < ctx->align->nranks; i++) {
		uint64_t others = 0;

		all = knows_all_calls(ctx, i) && add_pairs(ctx, i, made, &sum, &others) &&
		      (i == 0 || others == first);
		first = others;
	}
	free(made);
	return !all || sum != 0;
}
