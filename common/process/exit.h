/* exit.h: a process that has started to end, before anybody can wait for it.
 *
 * A process with a GPU gives memory and mappings back before its parent's waitpid returns it:
 * up to half a second on a loaded host. One that crashed writes its core file first, for seconds
 * and minutes. The kernel shows that, and how, it ends as soon as it does (proc_pid_stat(5): flags,
 * exit_code; of a core file being written Linux 6 does, older ones may not). */
#pragma once

#include <sys/types.h>

/* Returns true when the process has started to end; then *wait_status is what waitpid will say of
 * it. A process that ends with status 0 is told from one whose status does not stand yet only by
 * asking again: the caller's `again` must be false at first, is kept by us, and makes that answer
 * one call late. False when the process or /proc is not there. Of another user's process the kernel
 * hides the status: it reads 0, and waitpid knows better. */
bool exit_seen(pid_t pid, bool *again, int *wait_status);
