/* row_pair.h: the out-of-place and the in-place row of one point, held until both are there. A line
 * of nccl-tests' table and a result of its JSON show the two side by side. */
#pragma once

#include "report/row.h"

enum { PAIR_OUT, PAIR_IN, PAIR_SIDES };

/* Zeroed is empty. The rows' strings are borrowed and must stay (they are names from const tables);
 * their detail arrays are copied. */
struct row_pair {
	bool has[PAIR_SIDES];
	struct row rows[PAIR_SIDES];
};

/* Returns true when nothing is held. */
bool row_pair_empty(const struct row_pair *pair);

/* Returns true when `row` may stand beside what is held: it is empty, or `row` is the missing
 * in-place twin of the same point. */
bool row_pair_takes(const struct row_pair *pair, const struct row *row);

/* Hold a copy of a row that row_pair_takes(). */
void row_pair_put(struct row_pair *pair, const struct row *row);

/* Forget what is held and free it. */
void row_pair_clear(struct row_pair *pair);

/* Any row of the pair that holds what both share: size, count, type, operator, root. The pair is
 * not empty. */
const struct row *row_pair_any(const struct row_pair *pair);

/* Returns true when this column is one of those that name the point, the same in both
 * placements. */
bool row_pair_shared(const struct column *column);
