/* run_wait.c: signals on their way to the command, its end, and the monitor's. */
#include "preload/run_wait.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/outcome.h"

#define MONITOR_NS 10000000000ull /* after the command's end, for the last lines */

static volatile sig_atomic_t child, ended, asked;

/* A signal of the terminal went to the command, too. */
static void pass(int number, siginfo_t *info, void *context)
{
	(void)context;
	asked = number != SIGCONT;
	if (info->si_code != SI_KERNEL && !ended)
		kill(child, number);
}

static void pass_signals(void)
{
	static const int passed[] = { SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGUSR1,
				      SIGUSR2, SIGALRM, SIGCONT, SIGXCPU, SIGXFSZ };
	struct sigaction pass_on = { .sa_sigaction = pass, .sa_flags = SA_SIGINFO }, before;

	for (size_t i = 0; i < LENGTH(passed); i++)
		if (sigaction(passed[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(passed[i], &pass_on, NULL);
	/* pkill -USR1 -x hangar_run asks monitors, and would end the command */
	prctl(PR_SET_NAME, "hangar_wait", 0, 0, 0);
}

/* Returns true if the monitor said that a rank was slow. A signal ends the wait. */
static bool await_monitor(int fd)
{
	uint64_t until = clock_ns() + MONITOR_NS;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool slow = false;
	char byte;

	asked = 0;
	while (clock_ns() < until && !asked)
		if (poll(&p, 1, clock_ms_until(until)) == 1) {
			if (read(fd, &byte, 1) != 1)
				break;
			slow = true;
		}
	return slow;
}

static _Noreturn void wait_for(int fd)
{
	int status = 0, code;
	sigset_t all;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	ended = 1;
	code = await_monitor(fd) ? OUTCOME_SLOW_RANK : 0;
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status) ? WEXITSTATUS(status) : code);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	signal(WTERMSIG(status), SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

int run_wait(int *fd)
{
	sigset_t all, before;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	rc = child < 0 ? -errno : 0;
	if (child > 0)
		pass_signals();
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[child > 0]);
	if (child > 0)
		wait_for(ends[0]);
	*fd = ends[1];
	return rc;
}
