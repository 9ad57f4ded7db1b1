/* pairs_met.c: whether all that was sent and received met its counterpart */
#include <stdlib.h>

#include "base/call_value.h"
#include "diagnose/pairs.h"

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
	uint64_t *made = calloc(2 * (size_t)ctx->align->nranks + 1, sizeof(*made));
	uint64_t sum = 0, first = 0;
	bool all = made != NULL;

	for (int i = 0; all && i < ctx->align->nranks; i++) {
		uint64_t others = 0;

		all = knows_all_calls(ctx, i) && add_pairs(ctx, i, made, &sum, &others) &&
		      (i == 0 || others == first);
		first = others;
	}
	free(made);
	return !all || sum != 0;
}
