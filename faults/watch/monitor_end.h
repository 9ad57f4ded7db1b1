/* monitor_end.h: how a run is judged and ended. Internal to the monitor. */
#ifndef HANGAR_MONITOR_END_H
#define HANGAR_MONITOR_END_H

#include "watch/monitor.h"

/* Judge, say it, and end the run everywhere. Whoever was only late may be back by now: then the
 * run goes on; so it does where no cause is found and time is granted (extension.h). `root_lost`:
 * the host of rank 0 is gone. `now`: clock_ns(). */
void monitor_conclude(struct monitor *m, bool root_lost, uint64_t now);

/* Members and other hosts: the run is over, with this exit code. */
void monitor_send_end(struct monitor *m, int32_t code);

#endif
