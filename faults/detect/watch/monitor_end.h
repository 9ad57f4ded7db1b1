/* monitor_end.h: printing a verdict, ending a run. Internal to watch. */
#pragma once

#include "watch/monitor.h"

/* DIAGNOSE or END: has the diagnoser look, for DIAGNOSE; then prints the verdict, has the
 * evidence saved and ends the run everywhere. Returns what is to be done instead, if the answer
 * gives the run more time, else END. */
struct decision monitor_conclude(struct monitor *m, const struct decision *decision);

/* Members and other hosts: the run is over, with this exit code. */
void monitor_send_end(struct monitor *m, int32_t code);
