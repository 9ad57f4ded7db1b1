/* unequal.c: findings about a send and a receive that do not fit each other. */
#include "diagnose/rule.h"
#include "record/verdict.h"

void note_open_pair(const struct rule_ctx *ctx, struct finding *f, int rank,
		    const struct record *own, const struct record *theirs)
{
	int number = rank_number(ctx->evidence, rank);
	int partner = rank_number(ctx->evidence, own->peer);
	const char *one = call_words(ctx->evidence, own);

	if (theirs)
		note(f,
		     "Rank %d's call %" PRIu64 " (%s) meets rank %d's call %" PRIu64
		     " (%s): they do not fit.",
		     number, own->seq, one, partner, theirs->seq,
		     call_words(ctx->evidence, theirs));
	else
		note(f,
		     "Rank %d waits in call %" PRIu64
		     " (%s), of which rank %d has not made its part.",
		     number, own->seq, one, partner);
}

void place_mismatch(const struct rule_ctx *ctx, struct finding *f, const struct record *odd,
		    const struct record *other, bool sure)
{
	const uint64_t low = !sure && other->seq < odd->seq ? other->seq : odd->seq;
	const uint64_t high = !sure && other->seq > odd->seq ? other->seq : odd->seq;

	finding_place(f, ctx->comm->comm, low, high,
		      ctx->outcome == OUTCOME_HANG ? progress_hang_point(ctx->comm) : -1);
	finding_differ(f, odd->count != other->count ? "count" : "dtype",
		       call_words(ctx->evidence, odd), call_words(ctx->evidence, other));
	name_pair(ctx, f, odd->kind == CALL_SEND ? other->peer : odd->peer, CALL_SEND,
		  odd->kind == CALL_SEND ? odd->peer : other->peer);
}

const struct record *note_open_pairs(const struct rule_ctx *ctx, struct finding *f,
				     const struct record **met)
{
	const struct record *first = NULL;

	for (int i = 0; i < ctx->comm->nranks && finding_has_room(f); i++) {
		const struct record *theirs = NULL,
				    *own = progress_open_pair(ctx->comm, i, &theirs);

		if (!own)
			continue;
		note_open_pair(ctx, f, i, own, theirs);
		if (theirs && !first)
			*met = theirs;
		first = first || !theirs ? first : own;
	}
	return first;
}

/* Returns true if the partner came to the end of a group with, as its last call, the other half of the one before `own`, and comes
 * no further: it left its part of `own` out, or that is one too many. */
static bool is_out_of_group(const struct rule_ctx *ctx, int rank, const struct record *own)
{
	const struct rank_view *v = &ctx->evidence->ranks[own->peer].view;
	const struct record *last = ctx->comm->tracks[own->peer].final;
	const struct record *met =
		own > ctx->comm->tracks[rank].oldest && own[-1].comm == own->comm ? own - 1 : NULL;

	return call_in_pairs(last) && call_in_pairs(met) && last->peer == rank &&
	       met->peer == own->peer && last->kind == own->kind && met->kind != own->kind &&
	       progress_fits(last, met) && !(last->flags | own->flags | met->flags) &&
	       (last->state == RECORD_CLOSING || view_finished(v)) && v->completed < last->ticket;
}

bool report_unequal(const struct rule_ctx *ctx, struct finding *f)
{
	const struct record *met = NULL, *own = note_open_pairs(ctx, f, &met);

	for (int i = 0; !own && i < ctx->comm->nranks; i++) {
		own = progress_open_pair(ctx->comm, i, &met);
		if (!own || met || !is_out_of_group(ctx, i, own)) {
			own = NULL;
			continue;
		}
		rank_set_add(&f->culprits, i);
		rank_set_add(&f->culprits, own->peer);
	}
	if (!own)
		return false;
	place_mismatch(ctx, f, met ? met : own, own, false);
	if (!met) {
		f->d.seq_low--;
		finding_differ(f, "call", call_words(ctx->evidence, own), "no call");
		name_pair(ctx, f, ctx->comm->tracks[own->peer].final->peer, own->kind, own->peer);
	}
	finding_conclude(ctx, f, met ? CLASS_PAIR_SIZE : CLASS_UNMATCHED, CONFIDENCE_INCONCLUSIVE);
	return true;
}
