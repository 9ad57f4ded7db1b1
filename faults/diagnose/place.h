/* place.h: where ranks stand on the communicator at hand, and where their timelines parted. */
#pragma once

#include "diagnose/rule.h"

/* A rank's number of calls on the communicator that are known to have completed. */
uint64_t calls_completed(const struct rule_ctx *ctx, int rank);

/* Returns true if the rank waits until its device has done what it enqueued: then it is in no host code of
 * its own, whoever was let go before it. */
bool awaits_device(const struct rule_ctx *ctx, int rank);

/* The first call that not all ranks completed, -1 when nobody waits for one. */
int64_t hang_point(const struct rule_ctx *ctx);

/* Writes what all have in common, in words, that are no culprits and made call `seq` as the
 * reference has it; *n: how many they are. Ranks that made another one in its place are not
 * among them. Of sends and receives partner, amount and direction may be each rank's own.
 * Returns buf. */
const char *common_call(const struct rule_ctx *ctx, const struct culprits *culprits, uint64_t seq,
			size_t *n, char *buf, size_t len);

/* Init stands before call 1. `hangs`: others are inside it. */
void place_init(struct finding *finding, bool hangs);

/* Returns true if init itself is missing of a culprit, while others are inside it; then that is
 * the place. */
bool place_missing_init(const struct rule_ctx *ctx, struct finding *finding);

/* A rank's first call, of any communicator, that is not known to be done; NULL: there is none. */
const struct record *first_open(const struct evidence_rank *rank);

/* Where the calls of culprits themselves end, whatever the others did. */
void place_own(const struct rule_ctx *ctx, struct finding *finding);

/* The call that culprits did not make though others did; init, where that is missing. */
void place_missing(const struct rule_ctx *ctx, struct finding *finding);

/* Counts the ranks alive inside init; waits_at_init is true if this is one. */
size_t count_inside_init(const struct rule_ctx *ctx);
bool waits_at_init(const struct rule_ctx *ctx, int rank);
