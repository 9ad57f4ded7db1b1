/* change.h: a call made otherwise than asked for: what the faults of calls that disagree share. */
#pragma once

#include "inject/fault.h"

/* `count` elements as the keys factor= and by= say, at least 1 and at most twice as many, for which the
 * schedule's pools have room; without keys half of them. */
size_t change_count(const struct fault_spec *spec, size_t count);

/* Make the call in the place of the one that was asked for: what a fault's `fire` returns. */
int change_emit(const struct fault_act *act, const struct call *call);
