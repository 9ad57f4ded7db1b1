/* plans.h: what rules ask of ranks that have calls of their own, and the driver of all rules. Internal to find. */
#pragma once

#include "finding/rule.h"

/* Returns true if a rank that lives is in no call, and another waits for its part in one: all else follows. */
bool any_absent(const struct rule_ctx *ctx);

/* Returns true if the rank may have come to its end, and so may another one for which no rank waits. */
bool others_ended(const struct rule_ctx *ctx, int rank);

/* diagnose.c: the driver. Asks the rows of a table in order until one that is no remark says yes. */
void rules_walk(const struct rule *table, size_t n, const struct evidence *evidence,
		struct answer *diagnosis);
