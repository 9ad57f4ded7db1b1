/* run_hook.c: the user's command for a verdict, a child of a child of the monitor. */
#include "preload/run_hook.h"

#include <sys/syscall.h>

#include "base/clock.h"

#define HOOK_SECONDS 30

static int running[2] = { -1, -1 }; /* a pipe that closes when no command runs */

/* Ends a command that takes too long, and says how one failed. */
static _Noreturn void look_after(const char *command, pid_t pid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool late = poll(&p, 1, HOOK_SECONDS * 1000) == 0;
	int status = 0;

	kill(-pid, SIGKILL); /* children that it left, too */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (late)
		dprintf(STDERR_FILENO, "# on-verdict: %.200s: ended after %d s\n", command,
			HOOK_SECONDS);
	else if (WIFSIGNALED(status))
		dprintf(STDERR_FILENO, "# on-verdict: %.200s: died of signal %d\n", command,
			WTERMSIG(status));
	else if (WEXITSTATUS(status))
		dprintf(STDERR_FILENO, "# on-verdict: %.200s: exit code %d\n", command,
			WEXITSTATUS(status));
	_exit(0);
}

static _Noreturn void run(const char *command)
{
	pid_t pid;

	dup2(running[1], 3);
	closefrom(4);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		closefrom(3);
		signal(SIGPIPE, SIG_DFL);
		signal(SIGUSR1, SIG_DFL);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	if (pid > 0) {
		setpgid(pid, pid); /* whichever of both is first */
		look_after(command, pid);
	}
	dprintf(STDERR_FILENO, "# on-verdict: %.200s: %s\n", command, strerror(errno));
	_exit(0);
}

void run_hook_start(const char *command, const struct answer *v, const char *hosts)
{
	if (running[0] < 0 && pipe2(running, O_CLOEXEC) < 0)
		return;
	setenv("HANGAR_OUTCOME", outcome_name(v->outcome), 1);
	setenv("HANGAR_CLASS", class_name(v->class, v->outcome), 1);
	setenv("HANGAR_RANKS", v->ranks, 1);
	setenv("HANGAR_HOSTS", hosts, 1);
	setenv("HANGAR_CONFIDENCE", confidence_name(v->confidence), 1);
	setenv("HANGAR_EVIDENCE", v->evidence, 1);
	if (v->job[0])
		setenv("HANGAR_JOB", v->job, 1);
	fflush(stdout);
	if (fork() == 0)
		run(command);
}

void run_hook_finish(void)
{
	struct pollfd p = { .fd = running[0] };

	close(running[1]);
	if (running[0] >= 0)
		poll(&p, 1, (HOOK_SECONDS + 1) * 1000);
}
