/* point.h: measure one point in one placement, from first call to finished row. */
#pragma once

#include "measure/bench.h"
#include "report/row.h"
#include "measure/sampling.h"
#include "measure/sweep.h"

/* A measured point, kept until its row has been printed. */
struct measured {
	struct row row;	      /* complete at rank 0; elsewhere only `report` and `wrong` */
	int64_t wrong_checks; /* ranks whose check failed, summed over the checks of this point;
	                          * all ranks */
	struct plan plan;
	struct timing timing;
	struct sampling sampling;
};

/* Warm up, time until the rule is met, check the last timed call and options->check extra ones. All
 * ranks; returns the same on all: 0, -ENODATA when the size is too small for this many ranks, or a
 * negative errno with the error set. `measured` is to be released in any case. */
int point_measure(struct bench *bench, const struct point *point, bool in_place,
		  struct measured *measured);
void point_release(struct measured *measured);
