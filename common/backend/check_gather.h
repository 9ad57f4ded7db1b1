/* check_gather.h: what the ranks' checks of one call come to together. */
#pragma once

#include "check/check.h"
#include "backend/job.h"

struct check_sum {
	long long elements; /* wrong ones, over all ranks */
	long long ranks;    /* that found any */
};

/* In: this rank's report. Out, on all ranks: the report of the first rank that found something,
 * with its rank in the job, and the sums. 0 or a negative errno with the error set. Collective. */
int check_gather(struct job *job, struct check_report *report, struct check_sum *sum);
