/* rule_pairs.c: the rule about sends and receives that do not fit each other; what is said of those
 * that wait. */
#include <inttypes.h>
#include <stdio.h>

#include "diagnose/pairs.h"
#include "diagnose/place.h"
#include "diagnose/rules.h"
#include "diagnose/words.h"

static void note_open(const struct rule_ctx *ctx, struct finding *f, int rank,
		      const struct record *own, const struct record *theirs)
{
	int number = rank_number(ctx->evidence, rank);
	int partner = rank_number(ctx->evidence, own->peer);
	char one[160], other[160];

	call_words(ctx->evidence, own, one, sizeof(one));
	if (theirs)
		finding_note(f,
			     "Rank %d's call %" PRIu64 " (%s) meets rank %d's call %" PRIu64
			     " (%s): they do not fit.",
			     number, own->seq, one, partner, theirs->seq,
			     call_words(ctx->evidence, theirs, other, sizeof(other)));
	else
		finding_note(f,
			     "Rank %d waits in call %" PRIu64 " (%s), of which rank %d has not "
			     "made its part.",
			     number, own->seq, one, partner);
}

/* Places the finding where two that do not fit have met: either may be the one that is wrong. */
static void place_unequal(const struct rule_ctx *ctx, struct finding *f, const struct record *own,
			  const struct record *theirs)
{
	f->comm = ctx->align->comm;
	f->hang_seq = hang_point(ctx);
	f->seq_low = (int64_t)(own->seq < theirs->seq ? own->seq : theirs->seq);
	f->seq_high = (int64_t)(own->seq < theirs->seq ? theirs->seq : own->seq);
	snprintf(f->field, sizeof(f->field), own->count != theirs->count ? "count" : "dtype");
	call_words(ctx->evidence, theirs, f->theirs, sizeof(f->theirs));
	call_words(ctx->evidence, own, f->majority, sizeof(f->majority));
}

bool rule_unequal(const struct rule_ctx *ctx, struct finding *f)
{
	int n = ctx->align->nranks < PAIR_RANKS_MAX ? ctx->align->nranks : PAIR_RANKS_MAX;
	bool unequal = false;

	for (int i = 0; i < n && finding_has_room(f); i++) {
		const struct record *theirs = NULL, *own = open_pair(ctx, i, &theirs);

		if (!own)
			continue;
		note_open(ctx, f, i, own, theirs);
		if (theirs && !unequal)
			place_unequal(ctx, f, own, theirs);
		unequal = unequal || theirs;
	}
	if (unequal)
		finding_conclude(ctx, f, CLASS_MISMATCH, "inconclusive");
	return unequal;
}

bool remark_open_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	if (ctx->outcome == OUTCOME_HANG && !missing_explained(ctx, f))
		return false;
	clear_culprits(&f->culprits);
	rule_unequal(ctx, f);
	return f->nnotes > 0;
}
