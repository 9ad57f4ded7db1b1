/* spinners.h: processes that want the first processor all the time. A meek one (SCHED_IDLE) beside a
 * greedy one (SCHED_OTHER) is as good as never run. */
#pragma once

#include <sched.h>

#include "base/clock.h"

/* For at most so many seconds; -1 when it cannot be made. */
pid_t spinner(int policy, double seconds);

void spinner_end(pid_t pid);
