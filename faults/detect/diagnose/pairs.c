/* pairs.c: between which two ranks a send or receive of a finding is. */
#include "diagnose/rule.h"

void name_pair(const struct rule_ctx *ctx, struct finding *f, int rank, int kind, int peer)
{
	int one = rank_number(ctx->evidence, rank), other;

	if (peer < 0 || peer >= ctx->evidence->nranks)
		return;
	other = rank_number(ctx->evidence, peer);
	snprintf(f->pair, sizeof(f->pair), "%d>%d", kind == CALL_SEND ? one : other,
		 kind == CALL_SEND ? other : one);
}

void name_lacking_pair(const struct rule_ctx *ctx, struct finding *f, int rank, uint64_t seq,
		       const struct record *like)
{
	const struct record *theirs;

	for (int i = 0; i < ctx->comm->nranks && !f->pair[0]; i++) {
		const struct record *own = progress_open_pair(ctx->comm, i, &theirs);

		if (own && own->peer == rank && own->kind != like->kind)
			name_pair(ctx, f, i, own->kind, rank);
	}
	if (!f->pair[0])
		name_pair(ctx, f, rank, like->kind,
			  progress_planned_peer(ctx->comm, rank, seq, like->kind));
}
