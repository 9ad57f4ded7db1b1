/* child.h: duties of a parent that forks, and of a child that never calls exec. */
#pragma once

/* Closes every descriptor except `keep` (-1: every one) and makes /dev/null the standard streams.
 * The parent's locks, sockets and pipes would live as long as a child holds them. */
void descriptors_close(int keep);

/* Prepares a child that outlives the run: a session, ignored signals, no descriptor. */
void child_detach(void);

/* Blocks SIGCHLD, SIGTERM, SIGINT and SIGHUP and returns a signalfd for them (`flags`: SFD_NONBLOCK
 * or 0), or a negative errno. The old mask goes to *old, for the child to restore. An ignored
 * SIGCHLD gets its default again: the kernel would reap children before waitpid. */
int signals_open(int flags, sigset_t *old);
