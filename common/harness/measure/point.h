/* point.h: measures one point in one placement, from the first call to the row. */
#pragma once

#include "measure/bench.h"
#include "report/row.h"
#include "measure/sampling.h"
#include "measure/sweep.h"

/* A measured point, alive until its row is printed; plan and timing own nothing by then. */
struct measured {
	struct row row;	      /* complete on rank 0; elsewhere only `report` and `wrong` */
	int64_t wrong_checks; /* ranks with a failed check, summed over checks, on all ranks */
	struct plan plan;
	struct timing timing;
	struct sampling sampling;
};

/* Warms up, times until the stop rule is met, checks the last timed call and options->check extra
 * ones. Collective; returns the same on all ranks: 0, -ENODATA for a size too small for the number
 * of ranks, or a negative errno with the error set. `measured` must be released in any case. */
int point_measure(struct bench *bench, const struct point *point, bool in_place,
		  struct measured *measured);
void point_release(struct measured *measured);
