/* monitor_rendezvous.h: who waits at communicator init for others that will never come. Init itself may take
 * a library long, and its deadline is long; that all come, and alike, takes no time. A host by itself
 * sees all its ranks. Of several, a leader whose ranks wait says so, the root calls the roll, and again
 * until all have come, alike or not, or have had the time to. Internal to the monitor. */
#ifndef HANGAR_MONITOR_RENDEZVOUS_H
#define HANGAR_MONITOR_RENDEZVOUS_H

#include "watch/monitor.h"

/* Every leader, when the views of its host have just been read: sets `overdue` in those of ranks that
 * are known to wait in vain. */
void rendezvous_look(struct monitor *m, uint64_t now);

/* Root, while nothing is wrong yet: call the roll when it is due, and tell all what it said. */
void rendezvous_lead(struct monitor *m, uint64_t now);

/* Leader elsewhere: say once that ranks here wait; and what the root wants (MESSAGE_CENSUS, _MET). */
void rendezvous_follow(struct monitor *m);
void rendezvous_handle_message(struct monitor *m, const struct link_message *message);

/* The diagnoser saw no cause in how they meet. Returns whether somebody was called overdue for that; then
 * nobody is again, on any host. */
bool rendezvous_dismiss(struct monitor *m);

#endif
