/* monitor_deadline.h: how long the leader of a host bears with its ranks. Deadlines are the ranks' own;
 * a busy host makes them longer, and ranks that will never meet at init (monitor_rendezvous.h) make one
 * shorter. Internal to the monitor. */
#ifndef HANGAR_MONITOR_DEADLINE_H
#define HANGAR_MONITOR_DEADLINE_H

#include "watch/monitor.h"

/* The views of this host have just been read: set and clear `overdue` in them. */
void deadline_apply(struct monitor *m, uint64_t now);

/* Did nobody on this host move lately? */
bool deadline_quiet(const struct monitor *m, uint64_t now);

/* May it be that these ranks ("1,3"; "-": nobody is named) do not hold up the others for ever: because a host
 * keeps one of them from running, or one makes a step now and then on another host than those who wait? Until
 * when (clock_ns()) that excuses them; 0: not at all. */
uint64_t deadline_excuse(const struct monitor *m, const char *ranks, uint64_t now);

/* Has a wait on this host gone on ever since `since` (clock_ns()): somebody overdue, though perhaps excused
 * for a moment by a busy host, and nobody moving? */
bool deadline_waits_since(const struct monitor *m, uint64_t since);

#endif
