/* decide_times.c: the table of decide_times.h as a constant. */
#include "decide/decide_times.h"

#define DECIDE_VALUE(type, name, value) .name = (value),
const struct decide_times decide_times = { DECIDE_TIMES(DECIDE_VALUE) };
