/* monitor_members.h: the observers of one host: who leads, what the leader sees of its ranks.
 * Internal to the monitor. */
#ifndef HANGAR_MONITOR_MEMBERS_H
#define HANGAR_MONITOR_MEMBERS_H

#include "watch/monitor.h"

/* Take a place: bind or connect, whichever works; the kernel lets exactly one bind, and that is
 * the leader. A member hands over its memory. 0 or a negative errno. */
int members_join(struct monitor *m, int memory_fd);
/* Leader: forget the members, and close the listener. */
void members_release(struct monitor *m);

/* Member: tell the leader how the own rank is. 0 or a negative errno. */
int members_report(struct monitor *m, const struct supervised *child);

/* Leader: refresh all views of this host. Nobody has looked since `paused_from` (clock_ns()). */
void members_look(struct monitor *m, const struct supervised *child, uint64_t paused_from,
		  uint64_t now);

/* A rank of any host as it is seen now: is its end the first death, or the first error? */
void members_note_end(struct monitor *m, const struct rank_view *view, uint64_t now);

/* Of this host and, at the root, of all others that are known: did every rank end by itself? */
bool members_all_done(const struct monitor *m);
/* Of this host: is something wrong; something that no waiting will mend; is somebody overdue? */
bool members_abnormal(const struct monitor *m);
bool members_worse(const struct monitor *m);
bool members_overdue(const struct monitor *m);

/* How many ranks and hosts take part, -1 while it is unknown: as a rank says that does. The leader's own
 * may be a surplus one, which does not know. */
int members_nranks(const struct monitor *m);
int members_nnodes(const struct monitor *m);

/* The views of this host's ranks to `views`, npeers of room; how many they are. */
size_t monitor_local_views(const struct monitor *m, struct rank_view *views);
/* Of all hosts. The caller frees *views; 0 without memory. */
size_t monitor_all_views(const struct monitor *m, struct rank_view **views);

#endif
