/* schedule.h: the fixed run that faults break: known calls, each with a count of its own. */
#ifndef HANGAR_SCHEDULE_H
#define HANGAR_SCHEDULE_H

#include <stdint.h>

#include "run.h"

#define SCHEDULE_WARMUP 5
#define SCHEDULE_CALLS 20
/* Index of the call, from 1, at which a fault fires unless its spec says otherwise. */
#define SCHEDULE_FAULT_OP (SCHEDULE_WARMUP + 3)
#define SCHEDULE_BYTES ((size_t)1 << 20) /* of the first call, unless -b says otherwise */

/* Size of call `i` (from 0): every call is smaller than the one before, so that each is recognisable in
 * a flight recorder. */
size_t schedule_bytes(size_t first, int i);

/* Bytes of a pool in which the buffers of all calls, of up to `largest` bytes each, lie beside each other. */
size_t schedule_pool(size_t largest);

/* Bytes of the first call: -b, or SCHEDULE_BYTES. */
size_t schedule_first(const struct options *options);

/* Make the calls: the warm-up ones meet after each, the others follow each other without a word between
 * the ranks but where `meets` has a bit (bit 0: before call 1), on slots of their own; then all of these
 * are checked. Prints the schedule as a remark, one remark per wrong call. 0 or a negative errno with
 * the error set; wrong data are run->outcome. Collective: `meets` is the same on all ranks. */
int schedule_run(struct run *run, uint32_t meets);

#endif
