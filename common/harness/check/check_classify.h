/* check_classify.h: finds the kind of a failure. */
#pragma once

#include "check/check_plan.h"
#include "check/check.h"

/* Number of elements that are examined, and the largest shift that is tested. */
#define CHECK_WINDOW 256
#define CHECK_REACH  64

/* `got` holds elements [at, at + n) of the receive buffer, all in `segment`; n is 1..CHECK_WINDOW
 * and element `at` is wrong. Sets kind, culprit, shift, expected and got of the report. */
void check_classify(const struct check_data *data, const struct segment *segment, uint64_t base,
		    uint64_t at, size_t n, const void *got, struct check_report *report);

uint64_t check_expected_at(const struct check_plan *p, const struct segment *segment,
			   uint64_t index);

/* Returns the reduction at `index` with `culprit`'s contribution counted `times` times. */
uint64_t check_reduced_with(const struct check_plan *p, uint64_t index, uint32_t culprit,
			    uint32_t times);

/* Returns the reduction at `index` with one flipped bit in `culprit`'s contribution. */
uint64_t check_reduced_flipped(const struct check_plan *p, uint64_t index, uint32_t culprit,
			       uint32_t bit);
