/* tuning.h: what the library does with a point's calls: a pass apart from those that are timed. */
#pragma once

#include "report/row.h"
#include "measure/timing.h"

/* After a point's timed calls: one iteration more, while the backend has the library tell what it
 * does, and one that is only estimated. Fills in the used fields of `row`, per call, and NCCL's
 * estimate. With `checked` the last call runs on that slot, which has been prepared. On a backend
 * without these hooks only that is made. 0 or a negative errno with the error set. Collective. */
int tuning_probe(struct timing *timing, const struct checked_slot *checked, struct row *row);
