/* run_signals.c: a process that shares the command's process group, and so the signals that come to all of it: Ctrl-C,
 * a time limit, the end of a job. The monitor has a session of its own. */
#include "preload/run_signals.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>

#define OVER 'o' /* the command has ended; without it the end of this process was SIGKILL's */

/* The signals that end jobs, but for those that the command was started to ignore. */
static void choose(sigset_t *set)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
	struct sigaction now;

	sigemptyset(set);
	for (size_t i = 0; i < LENGTH(numbers); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(set, numbers[i]);
}

static _Noreturn void listen_to(int command_fd, int to)
{
	struct signalfd_siginfo info;
	struct pollfd fds[3] = { { .events = POLLIN },
				 { .fd = command_fd, .events = POLLIN },
				 { .fd = to } };
	char word = OVER;
	sigset_t set, all;

	prctl(PR_SET_NAME, "hangar_signals", 0, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	choose(&set);
	fds[0].fd = signalfd(-1, &set, SFD_CLOEXEC);
	for (int fd = 0; fd < 1024; fd++) /* another process may wait for the end of a pipe */
		if (fd != fds[0].fd && fd != command_fd && fd != to)
			close(fd);
	while (poll(fds, 3, -1) >= 0 && !fds[1].revents && !fds[2].revents)
		if (read(fds[0].fd, &info, sizeof(info)) != sizeof(info) ||
		    write(to, &info.ssi_signo, 1) != 1)
			break;
	_exit(write(to, &word, 1) != 1);
}

int run_signals_start(int command_fd)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	pid = fork();
	if (pid == 0)
		listen_to(command_fd, ends[1]);
	close(ends[1]);
	if (pid < 0)
		close(ends[0]);
	return pid < 0 ? -1 : ends[0];
}

bool run_signals_came(int *fd)
{
	bool came = false;
	char word;
	ssize_t n = 0;

	while (*fd >= 0 && (n = read(*fd, &word, 1)) == 1 && word != OVER)
		came = true;
	if (*fd < 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return came;
	close(*fd);
	*fd = -1;
	return came || n == 0;
}
