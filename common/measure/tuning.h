/* tuning.h: what the library does with a point's calls: a pass apart from those that are timed. */
#pragma once

#include "report/row.h"
#include "measure/timing.h"

/* After a point's timed and checked calls: one iteration more, while the backend has the library
 * tell what it does (in graph mode that one is captured and launched, too), and one that is only
 * estimated. Fills in the used fields of `row`, per call, and NCCL's estimate. Nothing happens on a
 * backend without these hooks. 0 or a negative errno with the error set. Collective. */
int tuning_probe(struct timing *timing, struct row *row);
