/* monitor_members.h: the observers of one host: who leads, what it sees. Internal to watch. */
#pragma once

#include "watch/monitor.h"

/* Take a place: bind or connect, whichever works; the kernel lets exactly one bind, and that forks
 * the leader. A member hands over its memory. 0 or a negative errno. */
int members_join(struct monitor *m);
/* Leader: closes the connections of members that leave. */
void members_let_go(struct monitor *m);
/* Returns true if a member is still connected. */
bool members_any(const struct monitor *m);
/* The process at the other end of a Unix socket; 0: not known. */
pid_t members_peer_pid(int fd);

/* Leader: forget the members, and close the listener. */
void members_release(struct monitor *m);
/* Its ranks alone: processes that have shown no memory yet stay. */
void members_forget(struct monitor *m);

/* Member: tell the leader how the own rank is. 0 or a negative errno. */
int members_report(struct monitor *m);

/* Leader: receives from its members, and reads all ranks of this host anew. */
void members_look(struct monitor *m, uint64_t now);

/* The scheduler's accounts that decide() wants for m->input. */
void members_account(struct monitor *m);

/* Counts the ranks and hosts that take part, -1 while it is unknown: as a rank says that does.
 * The leader's own may be a surplus one, which does not know. */
void members_job(const struct monitor *m, int *nranks, int *nnodes);

/* The views of this host's ranks, nranks of them; the caller frees. */
struct rank_view *members_views(const struct monitor *m);

/* Leader: how the other supervisors and the launcher are, for decide(); a line of who is held. */
void watchers_look(struct monitor *m, uint64_t now);

/* Member: the leader is `gone`, or may be held. One of the host's members forks another leader then, which
 * says the verdict and ends the run. Returns false if there is no leader any more. */
bool watchers_replace_leader(struct monitor *m, bool gone, uint64_t now);
