/* signals.h: the signals that end a run, and the end of a child, as a descriptor to read. */
#pragma once

#include <signal.h>

/* Block SIGCHLD, SIGTERM, SIGINT and SIGHUP and return a signalfd for them (`flags`:
 * SFD_NONBLOCK or 0), or a negative errno. The mask before goes to *old, for the child to
 * restore. SIGCHLD is no longer ignored, in case a launcher passed that on: the kernel would
 * reap children behind our back. */
int signals_open(int flags, sigset_t *old);
