/* supervisor.h: the parent of a rank: starts it, sees how it ends, ends it, leaves nothing behind.
 *
 * Forks the rank before MPI and CUDA are touched and calls neither itself. What it observes and
 * when it ends the rank is the hooks' business (faults/detect/watch/monitor.h). */
#pragma once

#include <poll.h>
#include <sys/types.h>

#include "base/error.h"

struct supervised {
	pid_t pid;
	bool running;	    /* and has not started to end; how long that takes is another
	                   * matter (exit_seen) */
	bool stopped;	    /* by SIGSTOP or a terminal */
	int wait_status;    /* as of waitpid, once !running */
	bool changed;	    /* since the last step */
	uint32_t oom_kills; /* by the kernel in hooks->cgroup since the start, once it was killed
	                     * by SIGKILL */
};

struct supervisor_hooks {
	void *ctx;
	/* Descriptors to wait for; returns how many were written to `fds`. */
	size_t (*fds)(void *ctx, struct pollfd *fds, size_t room);
	/* Called when a descriptor is ready, the child changed state or `interval_ms` passed.
	 * Returns true when the run is over: then *exit_code is this process' exit code and a
	 * rank that still runs is killed. */
	bool (*step)(void *ctx, const struct supervised *child, int *exit_code);
	int (*interval_ms)(void *ctx);
	const char *cgroup; /* folder of the memory cgroup that the rank will be in; NULL:
	                     * not known */
};

/* Fork; the child runs rank_main(arg) and exits with what it returns; the parent watches.
 * Returns the exit code for this process, in the parent only. The rank dies with its parent.
 * SIGTERM, SIGINT, SIGHUP and the death of the launcher end the rank and give 128 + signal, or
 * 1. */
int supervisor_run(const struct supervisor_hooks *hooks, int (*rank_main)(void *arg), void *arg,
		   struct error *err);
