/* place.h: where timelines parted, and between which two ranks a send or receive is. Internal to diagnose. */
#pragma once

#include "diagnose/finding.h"
#include "progress/comm.h"

/* The common part of call `seq`, in words, over the innocent ranks that made it as the
 * reference has it; *n: their number. Ranks that made another call in its place do not count. Sends
 * and receives may differ in partner, amount and direction. */
const char *common_call(const struct rule_ctx *ctx, const struct rank_set *culprits, uint64_t seq,
			size_t *n);

/* Init stands before call 1. `hangs`: others are inside it. */
void place_init(struct finding *finding, bool hangs);

/* Returns true if init itself is missing of a culprit, while others are inside it; then that is
 * the place. */
bool place_missing_init(const struct rule_ctx *ctx, struct finding *finding);

/* Places the finding where the calls of the culprits themselves end. */
void place_own(const struct rule_ctx *ctx, struct finding *finding);

/* The call that culprits did not make though others did; init, where that is missing. */
void place_missing(const struct rule_ctx *ctx, struct finding *finding);

/* Writes the pair of a send or receive of `rank`, as the verdict has it ("1>2": from 1 to 2). */
void name_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, int kind, int peer);

/* The same of a call `seq` that `rank` left out, as `like` is in its place: by the rank that waits for it, else by
 * most ranks' partners. */
void name_lacking_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, uint64_t seq,
		       const struct record *like);
