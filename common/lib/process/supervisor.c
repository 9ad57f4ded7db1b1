/* supervisor.c: fork, watch and reap one rank. */
#include "process/supervisor.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "process/cgroup.h"
#include "base/clock.h"
#include "base/proc_stat.h"
#include "process/leftovers.h"
#include "process/child.h"

#define MAX_FDS	  512
#define ORPHAN_NS 2000000000ull
#define ENDING_MS 10
#define ENDING_NS 800000000ull /* launchers send SIGKILL a second after SIGTERM */

struct supervisor {
	const struct supervisor_hooks *hooks;
	struct supervised child;
	bool reaped; /* it has been reaped; before that it may have started to exit */
	bool exit_again;
	int signal_fd;
	pid_t launcher;
	uint64_t orphan_ns; /* time when the launcher was first seen gone, 0: it lives */
	sigset_t old_mask;
	int64_t oom_kills; /* count of the rank's cgroup before the start, -1: unknown */
	int ended_by;	   /* signal that ended the supervisor, 0: none */
	uint64_t ended_ns; /* time of the first one */
};

/* Runs in the child. Its own process group lets a launcher's group signal reach only the
 * supervisor, which decides the order of the ends. */
static _Noreturn void become_rank(struct supervisor *s, pid_t parent, int (*rank_main)(void *),
				  void *arg)
{
	close(s->signal_fd);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* another rank's supervisor may read our stacks; fails harmlessly without Yama */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
	exit(rank_main(arg));
}

/* The kernel counts before it kills. */
static uint32_t oom_kills(const struct supervisor *s)
{
	int64_t now = s->oom_kills < 0 ? -1 : cgroup_oom_kills(s->hooks->cgroup);

	return now > s->oom_kills ? (uint32_t)(now - s->oom_kills) : 0;
}

static void observe_end(struct supervisor *s, int status)
{
	s->child.changed = true;
	s->child.running = false;
	s->child.stopped = false;
	s->child.wait_status = status;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		s->child.oom_kills = oom_kills(s);
}

static void observe(struct supervisor *s, int status)
{
	s->reaped = WIFEXITED(status) || WIFSIGNALED(status);
	/* an earlier check may have seen the exit begin, with a status that the kernel hid */
	if (s->reaped && (s->child.running || ((s->child.wait_status ^ status) & ~WCOREFLAG))) {
		observe_end(s, status);
	} else if (!s->reaped) {
		s->child.changed = true;
		s->child.stopped = WIFSTOPPED(status);
	}
}

static void reap(struct supervisor *s)
{
	int status;

	while (!s->reaped &&
	       waitpid(s->child.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == s->child.pid)
		observe(s, status);
	if (s->child.running && exit_seen(s->child.pid, &s->exit_again, &status))
		observe_end(s, status);
}

static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			s->ended_by = (int)info.ssi_signo;
}

/* SIGKILL also works on stopped processes; one in a driver's tear-down may need a while. */
static void end_rank(struct supervisor *s)
{
	struct leftovers leftovers;
	int status;

	if (s->reaped)
		return;
	leftovers_note(&leftovers, s->child.pid);
	kill(-s->child.pid, SIGKILL); /* its group may not exist yet */
	kill(s->child.pid, SIGKILL);
	while (waitpid(s->child.pid, &status, 0) < 0 && errno == EINTR)
		;
	s->reaped = true;
	s->child.running = false;
	leftovers_remove(&leftovers);
}

/* Returns true once a signal ends the run and there is nothing left to do. */
static bool is_ended(struct supervisor *s)
{
	const struct supervisor_hooks *hooks = s->hooks;

	if (!s->ended_by)
		return false;
	if (!s->ended_ns)
		s->ended_ns = clock_ns();
	if (hooks->ending && hooks->ending(hooks->ctx) && clock_ns() - s->ended_ns <= ENDING_NS)
		return false;
	/* no step: the others end as well, and a verdict would blame the launcher's signal on them */
	while (hooks->closing && s->child.running && hooks->closing(hooks->closing_arg) &&
	       clock_ns() - s->ended_ns <= ENDING_NS) {
		poll(NULL, 0, ENDING_MS);
		reap(s);
	}
	return true;
}

static int watch_child(struct supervisor *s)
{
	const struct supervisor_hooks *hooks = s->hooks;
	struct pollfd fds[MAX_FDS];
	int exit_code = 1;

	for (;;) {
		size_t n = hooks->fds(hooks->ctx, fds + 1, MAX_FDS - 1);

		fds[0] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
		poll(fds, n + 1, hooks->interval_ms(hooks->ctx));
		read_signals(s);
		reap(s);
		if (getppid() != s->launcher && s->orphan_ns == 0)
			s->orphan_ns = clock_ns();
		if (s->orphan_ns && clock_ns() - s->orphan_ns > ORPHAN_NS)
			return 1; /* launcher and job are gone: no time for a verdict */
		if (hooks->step(hooks->ctx, &s->child, &exit_code))
			return exit_code;
		if (is_ended(s))
			return 128 + s->ended_by;
		s->child.changed = false;
	}
}

/* Returns false where there is no rank, the parent's knowledge alone. */
static bool begin(struct supervisor *s, struct error *unborn, int (*rank_main)(void *), void *arg)
{
	pid_t parent = getpid();

	fflush(NULL);
	s->child.pid = fork();
	if (s->child.pid == 0)
		become_rank(s, parent, rank_main, arg);
	if (s->child.pid > 0)
		return true;
	error_set(unborn, OUTCOME_INTERNAL, -errno, "fork of the rank: %s%s", strerror(errno),
		  errno == EAGAIN ? " (ulimit -u, pids.max)" : "");
	return false;
}

int supervisor_run(const struct supervisor_hooks *hooks, int (*rank_main)(void *arg), void *arg,
		   struct error *err)
{
	struct supervisor s = { .hooks = hooks, .signal_fd = -1, .launcher = getppid() };
	struct error unborn = { .rank = -1 };
	int rc;

	/* The launcher's death must not stop the clean-up. The rank inherits this, since MPI writes
	 * to closed connections and a rank killed by SIGPIPE would be named the culprit. */
	signal(SIGPIPE, SIG_IGN);
	rc = s.signal_fd = signals_open(SFD_NONBLOCK, &s.old_mask);
	if (rc < 0) {
		error_set(err, OUTCOME_INTERNAL, rc, "signalfd: %s", strerror(-rc));
		return 1;
	}
	s.oom_kills = hooks->cgroup ? cgroup_oom_kills(hooks->cgroup) : -1;
	s.child.running = begin(&s, &unborn, rank_main, arg);
	if (!s.child.running) {
		s.child.unborn = &unborn;
		s.reaped = true;
		observe_end(&s, W_EXITCODE((int)unborn.outcome, 0));
	}
	rc = watch_child(&s);
	end_rank(&s);
	close(s.signal_fd);
	return rc;
}
