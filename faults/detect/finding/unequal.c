/* unequal.c: findings about a send and a receive that do not fit each other. */
#include "finding/rule.h"
#include "answer/answer.h"

void note_open_pair(const struct rule_ctx *ctx, struct finding *f, int rank,
		    const struct record *own, const struct record *theirs)
{
	int number = rank_number(ctx->evidence, rank);
	int partner = rank_number(ctx->evidence, own->peer);
	const char *one = call_words(ctx->evidence, own);

	if (theirs)
		note(f, "Rank %d's call %lu (%s) meets rank %d's call %lu (%s): they do not fit.",
		     number, own->seq, one, partner, theirs->seq,
		     call_words(ctx->evidence, theirs));
	else
		note(f, "Rank %d waits in call %lu (%s), of which rank %d has not made its part.",
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

void note_open_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	for (int i = 0; i < ctx->comm->nranks && finding_has_room(f); i++) {
		const struct record *theirs, *own = progress_open_pair(ctx->comm, i, &theirs);

		if (own)
			note_open_pair(ctx, f, i, own, theirs);
	}
}

bool report_group_end(const struct rule_ctx *ctx, struct finding *f)
{
	const struct record *own = NULL, *theirs = NULL;
	int rank = -1;

	note_open_pairs(ctx, f);
	while (!own && ++rank < ctx->comm->nranks) {
		own = progress_open_pair(ctx->comm, rank, &theirs);
		if (own && (theirs || !progress_out_of_group(ctx->comm, rank, own)))
			own = NULL;
	}
	if (!own)
		return false;
	rank_set_add(&f->culprits, rank);
	rank_set_add(&f->culprits, own->peer);
	finding_place(f, ctx->comm->comm, own->seq - 1, own->seq,
		      ctx->outcome == OUTCOME_HANG ? progress_hang_point(ctx->comm) : -1);
	finding_differ(f, "call", call_words(ctx->evidence, own), "no call");
	name_pair(ctx, f, rank, own->kind, own->peer);
	finding_conclude(ctx, f, CLASS_UNMATCHED, CONFIDENCE_INCONCLUSIVE);
	return true;
}

bool rule_open_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	const struct record *first = NULL;

	for (int i = 0; i < ctx->comm->nranks; i++) {
		const struct record *theirs = NULL,
				    *own = progress_open_pair(ctx->comm, i, &theirs);
		int rank = members_rank(ctx->members, i);

		if (!own || theirs)
			continue;
		if (!ctx->played || rank < 0 || !progress_closed(ctx->played, rank))
			return false;
		if (!first)
			name_pair(ctx, f, i, own->kind, own->peer);
		first = first ? first : own;
	}
	if (!first)
		return false;
	finding_place(f, ctx->comm->comm, first->seq, first->seq, progress_hang_point(ctx->comm));
	note(f, "These ranks wait for each other alone, so no part comes any more: a send or a "
		"receive is missing, is too many, or stands behind these.");
	finding_conclude(ctx, f, CLASS_UNMATCHED, CONFIDENCE_INCONCLUSIVE);
	return true;
}
