/* run_wait.c: signals on their way to the command, its end, and the monitor's. */
#include "preload/run_wait.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/outcome.h"

#define MONITOR_SECONDS 10.0 /* after the command's end, for the last lines */

static const int passed[] = { SIGHUP,  SIGINT,	SIGQUIT, SIGTERM, SIGUSR1,  SIGUSR2,
			      SIGALRM, SIGCONT, SIGXCPU, SIGXFSZ, SIGVTALRM };
#define PASSED (sizeof(passed) / sizeof(passed[0]))

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
	struct sigaction pass_on = { .sa_sigaction = pass, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction before;

	for (size_t i = 0; i < PASSED; i++)
		if (sigaction(passed[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(passed[i], &pass_on, NULL);
	/* pkill -USR1 -x hangar_run asks monitors, and would end the command */
	prctl(PR_SET_NAME, "hangar_wait", 0, 0, 0);
}

/* Returns true if the monitor said that a rank was slow. A signal ends the wait. */
static bool await_monitor(int fd)
{
	uint64_t until = clock_ns() + (uint64_t)(MONITOR_SECONDS * 1e9);
	bool slow = false;

	asked = 0;
	while (clock_ns() < until && !asked) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		char byte;

		if (poll(&p, 1, clock_ms_until(until)) != 1)
			continue;
		if (read(fd, &byte, 1) != 1)
			break;
		slow = true;
	}
	return slow;
}

static _Noreturn void wait_for(int fd)
{
	int status = 0;
	bool slow;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	ended = 1;
	slow = await_monitor(fd);
	if (WIFSIGNALED(status)) {
		sigset_t all;

		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&all);
		sigaddset(&all, WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		raise(WTERMSIG(status));
		_exit(128 + WTERMSIG(status));
	}
	_exit(slow && WEXITSTATUS(status) == 0 ? OUTCOME_SLOW_RANK : WEXITSTATUS(status));
}

int run_wait(int *fd)
{
	sigset_t all, before;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	child = pid;
	if (pid > 0) {
		close(ends[1]);
		pass_signals();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid > 0)
		wait_for(ends[0]);
	close(ends[0]);
	*fd = ends[1];
	return pid < 0 ? -errno : 0;
}
