/* reports.h: findings that several rules report, and where they are. For rules. */
#pragma once

#include "finding/finding.h"

/* The common part of call `seq`, in words, over the innocent ranks that made it as the
 * reference has it; *n: their number. Ranks that made another call in its place do not count. Sends
 * and receives may differ in partner, amount and direction. */
const char *common_call(const struct rule_ctx *ctx, const struct rank_set *culprits, uint64_t seq,
			size_t *n);

/* Init stands before call 1. `hangs`: others are inside it. */
void place_init(struct finding *finding, bool hangs);

/* Returns true if a culprit lacks init itself, while others are inside it; that is the place. */
bool place_missing_init(const struct rule_ctx *ctx, struct finding *finding);

/* Places the finding where the calls of the culprits themselves end. */
void place_own(const struct rule_ctx *ctx, struct finding *finding);

/* The call that culprits did not make though others did; init, where that is missing. */
void place_missing(const struct rule_ctx *ctx, struct finding *finding);

/* Writes the pair of a send or receive of `rank`, as the verdict has it ("1>2": from 1 to 2). */
void name_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, int kind, int peer);

/* The same of a call `seq` that `rank` left out, as `like` is in its place: by the rank that waits for it. */
void name_lacking_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, uint64_t seq,
		       const struct record *like);

/* unequal.c: a send or receive was left out at the end of a group. Two that met and do not fit are rule_pairs' before. */
bool report_group_end(const struct rule_ctx *ctx, struct finding *finding);
/* A line for each rank that waits for a partner. */
void note_open_pairs(const struct rule_ctx *ctx, struct finding *finding);
/* A line about one such call and what met it. */
void note_open_pair(const struct rule_ctx *ctx, struct finding *finding, int rank,
		    const struct record *own, const struct record *theirs);
/* Places the finding at two calls that have met, of which `odd` is, or may be, the wrong one. */
void place_mismatch(const struct rule_ctx *ctx, struct finding *finding, const struct record *odd,
		    const struct record *other, bool sure);

/* A line for each live rank that is no culprit and did not make the first call that not all made. After finding_conclude. */
void note_missing_too(const struct rule_ctx *ctx, struct finding *finding);
