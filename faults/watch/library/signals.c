/* signals.c: signals that a process of the job sends to another one to end it: the monitor learns of them beforehand. A
 * rank that its launcher ends is no culprit. */
#include <sys/syscall.h>

#include "library/library.h"
#include "net/link.h"
#include "watch/message.h"

static bool ends(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT ||
	       number == SIGABRT || number == SIGKILL;
}

/* Returns true if it has ended, and nothing more ends it: mpirun signals ranks whose end it has seen. A handler may ask: nothing
 * is allocated. */
static bool has_ended(pid_t target)
{
	pid_t pid = target < 0 ? -target : target;
	char text[512] = "", *state;
	int fd;

	if (syscall(SYS_kill, target, 0) < 0 && errno == ESRCH)
		return true;
	snprintf(text, sizeof(text), "/proc/%d/stat", (int)pid);
	fd = open(text, O_RDONLY | O_CLOEXEC);
	memset(text, 0, sizeof(text));
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'Z';
}

/* A signal of a process to itself alone is its own. */
static void announce(pid_t target, int number)
{
	const char *key = ends(number) && target != getpid() ? getenv("HANGAR_RUN") : NULL;
	const struct signal_sent sent = { getpid(), target ? target : -getpgrp() };
	int kept = errno;

	if (key && *key && !has_ended(sent.target))
		link_note(key, MESSAGE_SIGNAL, &sent, sizeof(sent));
	errno = kept;
}

EXPORT int kill(pid_t target, int number)
{
	announce(target, number);
	return (int)syscall(SYS_kill, target, number);
}

EXPORT int killpg(pid_t group, int number)
{
	if (group < 0) {
		errno = EINVAL;
		return -1;
	}
	return kill(-group, number);
}
