/* confidence.c: what makes a finding less certain than what its rule saw. */
#include "finding/confidence.h"

#include "finding/rule.h"

enum confidence confidence_of(enum confidence seen, unsigned reasons)
{
#define REASON_MOST(name, most) [name] = CONFIDENCE_##most,
	static const enum confidence most[REASON_COUNT] = { REASONS(REASON_MOST) };

	for (int i = 0; i < REASON_COUNT; i++)
		if (reasons >> i & 1 && most[i] < seen)
			seen = most[i];
	return seen;
}

/* One made a send or receive where others are in a collective, and little was alike before: some
 * ranks may have no part in those by right. Where ranks hang that do not all follow one plan it takes more. */
static bool has_own_plan(const struct rule_ctx *ctx, const struct deviation *first, int rank)
{
	const struct progress_comm *a = ctx->comm;

	if (a->collectives)
		return false;
	if (ctx->in_pairs && ctx->outcome == OUTCOME_HANG && !ctx->plan->followed &&
	    first->agreed < PLAN_LONG)
		return true;
	return first->agreed < PLAN_MIN &&
	       call_in_pairs(progress_call(a, rank, first->high)) !=
		       call_in_pairs(progress_reference(a, first->high));
}

/* Returns true if the rank made a send or receive behind call `at`: it meets what others made for the one that it left out. */
static bool goes_on_in_pairs(const struct progress_comm *a, int rank, uint64_t at)
{
	for (uint64_t s = at + 1; s <= a->tracks[rank].last; s++)
		if (call_in_pairs(progress_call(a, rank, s)))
			return true;
	return false;
}

/* A send or receive too few leaves others waiting for it, one too many the rank itself. Returns true if it is the
 * other way round for this deviation, in a hang, or if one call is all that it has in common with others. */
static bool pairs_oppose(const struct rule_ctx *ctx, const struct rank_set *culprits,
			 const struct deviation *d, int rank)
{
	bool skipped = d->kind == DEVIATION_SKIPPED;

	if (ctx->outcome != OUTCOME_HANG || (!skipped && d->kind != DEVIATION_EXTRA) ||
	    !call_in_pairs(progress_reference(ctx->comm, d->high)))
		return false;
	if (d->agreed <= 1)
		return true;
	return skipped ? !progress_all_awaited(ctx->comm, culprits) &&
				 (d->shift == 1 || !goes_on_in_pairs(ctx->comm, rank, d->high))
		       : progress_partners_known(ctx->comm, rank) &&
				 !progress_in_pairs(ctx->comm, rank);
}

unsigned reasons_of_deviation(const struct rule_ctx *ctx, const struct rank_set *culprits,
			      const struct deviation *first, int rank, bool tied)
{
	bool field = first->kind == DEVIATION_FIELD;

	return reason_if(tied, REASON_NO_MAJORITY) |
	       reason_if(field && progress_made_by_few(ctx->comm, first->high), REASON_FEW_MADE) |
	       reason_if(first->kind == DEVIATION_UNCLEAR &&
				 (tied || !ctx->comm->any_program ||
				  progress_made_by_few(ctx->comm, first->high)),
			 REASON_UNCLEAR) |
	       reason_if(has_own_plan(ctx, first, rank), REASON_OWN_PLANS) |
	       reason_if(pairs_oppose(ctx, culprits, first, rank), REASON_PAIRS_OPPOSE);
}

/* Numbers of calls say little where each rank follows a plan of its own, or no rank waits for what is missing. */
unsigned reasons_of_missing(const struct rule_ctx *ctx, const struct rank_set *behind, uint64_t seq)
{
	bool pairs = call_in_pairs(progress_reference(ctx->comm, seq)), awaited = true;

	if (!ctx->in_pairs || ctx->plan->followed || ctx->comm->collectives)
		return reason_if(pairs && !progress_all_awaited(ctx->comm, behind),
				 REASON_NOT_AWAITED);
	for (int i = 0; i < ctx->comm->nranks && !pairs && awaited && ctx->played; i++)
		awaited = !behind->in[i] ||
			  progress_is_awaited(ctx->progress, members_rank(ctx->members, i));
	return reason_if(pairs, REASON_OWN_PLANS) | reason_if(!awaited, REASON_NOT_AWAITED);
}

unsigned reasons_of_place(const struct rule_ctx *ctx, const struct rank_set *culprits)
{
	const struct evidence *e = ctx->evidence;

	for (int i = 0; i < e->nranks; i++)
		for (int k = 0; k < e->nranks && culprits->in[i]; k++)
			if (!culprits->in[k] && evidence_communicates(&e->ranks[i]) &&
			    strcmp(e->ranks[i].where, e->ranks[k].where) == 0)
				return 1u << REASON_SAME_LINE;
	return 0;
}

/* Absent ranks may be culprits too, or instead; that others are well says nothing of them. */
unsigned reasons_of_run(const struct evidence *e, size_t absent, bool well)
{
	bool few = absent * 2 < (size_t)e->nranks && !well, torn = false;

	for (int i = 0; i < e->nranks && !torn; i++) /* newest calls of some rank are lost */
		torn = e->ranks[i].present &&
		       (e->ranks[i].index.last_ticket < e->ranks[i].view.issued ||
			e->ranks[i].emptied);
	if (absent == 0 && !e->uncounted && !torn)
		return 0;
	return 1u << (few ? REASON_SOME_UNKNOWN : REASON_MOST_UNKNOWN);
}
