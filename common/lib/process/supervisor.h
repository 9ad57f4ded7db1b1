/* supervisor.h: the parent of a rank: starts it, watches it, ends it and cleans up. It forks the
 * rank before MPI and CUDA are used and calls neither. The hooks decide when the rank is ended
 * (faults/watch/watch/monitor.h). */
#pragma once

#include "base/error.h"

struct supervised {
	pid_t pid;
	bool running;	    /* false once it starts to exit; the exit may take long (exit_seen) */
	bool stopped;	    /* by SIGSTOP or a terminal */
	int wait_status;    /* as from waitpid, once !running */
	bool changed;	    /* since the last step */
	uint32_t oom_kills; /* kills by the kernel in hooks->cgroup, after SIGKILL */
	const struct error *
		unborn; /* the reason why no rank could be forked: it counts as exited with that; or NULL */
};

struct supervisor_hooks {
	void *ctx;
	/* Writes descriptors to poll to `fds` and returns their number. */
	size_t (*fds)(void *ctx, struct pollfd *fds, size_t room);
	/* Called when a descriptor is ready, the child changes state or `interval_ms` passes.
	 * Returns true at the end of the run: *exit_code is then this process' exit code, and a
	 * rank that still runs is killed. */
	bool (*step)(void *ctx, const struct supervised *child, int *exit_code);
	int (*interval_ms)(void *ctx);
	/* Called after each step once a signal has told this process to end. Returns true if the run
	 * still needs a few steps; NULL: it never does. */
	bool (*ending)(void *ctx);
	/* Called after that until it returns false, as long: the rank writes. NULL: no. */
	bool (*closing)(void *arg);
	void *closing_arg;
	const char *cgroup; /* folder of the rank's future memory cgroup; NULL: unknown */
};

/* Forks. The child runs rank_main(arg) and exits with its result. The parent watches it and returns this process'
 * exit code. Where the fork fails the run ends by the hooks as well. The rank dies with its parent. SIGTERM, SIGINT, SIGHUP and the launcher's death end the rank: 128 +
 * signal, or 1; a signal after hooks->ending, 0.8 s at most. */
int supervisor_run(const struct supervisor_hooks *hooks, int (*rank_main)(void *arg), void *arg,
		   struct error *err);
