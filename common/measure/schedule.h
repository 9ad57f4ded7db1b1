/* schedule.h: the fixed run that faults break: known steps, each with a count of its own. A step
 * issues the collective once: one call, or as many as collective_calls() says. */
#ifndef HANGAR_SCHEDULE_H
#define HANGAR_SCHEDULE_H

#include <stdint.h>

#include "measure/run.h"

#define SCHEDULE_WARMUP 5
#define SCHEDULE_TIMED	20
#define SCHEDULE_STEPS	(SCHEDULE_WARMUP + SCHEDULE_TIMED)
/* Step, from 1, at whose first call a fault fires unless its spec says otherwise. */
#define SCHEDULE_FAULT_STEP (SCHEDULE_WARMUP + 3)
#define SCHEDULE_BYTES	    ((size_t)1 << 20) /* of the first step, unless -b says otherwise */

/* Size of step `i` (from 0): every step is smaller than the one before, so that each is
 * recognisable in a flight recorder. 0: `first` is too small for that. */
size_t schedule_bytes(size_t first, int i);

/* Bytes of a pool in which the buffers of all steps, of up to `largest` bytes each, lie beside
 * each other. */
size_t schedule_pool(size_t largest);

/* Bytes of the first step: -b, or SCHEDULE_BYTES. */
size_t schedule_first(const struct options *options);

/* Checks that every step is large enough to give each rank a slice. `traffic` is an irregular
 * collective's, else not looked at. 0, or -EINVAL with a usage error. */
int schedule_check(const struct options *options, const struct collective *collective, int nranks,
		   const struct traffic *traffic, struct error *err);

/* Make the steps, which schedule_check() has found to be large enough: the warm-up ones meet after each, the others follow each other without a word
 * between the ranks but where `meets` has a bit (bit 0: before step 1), on slots of their own; then
 * all of these are checked. Prints the schedule as a remark, one remark per wrong step. 0 or a
 * negative errno with the error set; wrong data are run->outcome. Collective: `meets` is the same
 * on all ranks. */
int schedule_run(struct run *run, uint32_t meets);

#endif
