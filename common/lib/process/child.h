/* child.h: what a parent that forks, and a child that never calls exec, take care of. */
#pragma once

#include <signal.h>

/* Close every descriptor but `keep` (-1: every one, standard streams as well): locks, sockets and
 * pipes of the parent live as long as a child has them. */
void descriptors_close(int keep);

/* What outlives a run begins so, in a child: a session of its own, deaf to signals that end runs, no
 * descriptor but /dev/null as standard streams. */
void child_detach(void);

/* Block SIGCHLD, SIGTERM, SIGINT and SIGHUP and return a signalfd for them (`flags`:
 * SFD_NONBLOCK or 0), or a negative errno. The mask before goes to *old, for the child to
 * restore. SIGCHLD is no longer ignored, in case a launcher passed that on: the kernel would
 * reap children behind our back. */
int signals_open(int flags, sigset_t *old);
