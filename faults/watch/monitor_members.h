/* monitor_members.h: the observers of one host: who leads, what the leader sees of its ranks.
 * Internal to the monitor. */
#pragma once

#include "watch/monitor.h"

/* Take a place: bind or connect, whichever works; the kernel lets exactly one bind, and that is
 * the leader. A member hands over its memory. 0 or a negative errno. */
int members_join(struct monitor *m, int memory_fd);
/* Leader: forget the members, and close the listener. */
void members_release(struct monitor *m);

/* Member: tell the leader how the own rank is. 0 or a negative errno. */
int members_report(struct monitor *m, const struct supervised *child);

/* Leader: receives from its members, and reads all ranks of this host anew. */
void members_look(struct monitor *m, const struct supervised *child, uint64_t now);

/* The scheduler's accounts that decide() wants for m->input. */
void members_account(struct monitor *m);

/* Counts the ranks and hosts that take part, -1 while it is unknown: as a rank says that does.
 * The leader's own may be a surplus one, which does not know. */
void members_job(const struct monitor *m, int *nranks, int *nnodes);

/* The views of this host's ranks to `views`, nranks of room; how many they are. */
size_t members_views(const struct monitor *m, struct rank_view *views);
