/* signals.c: block and read signals. */
#include "base/signals.h"

#include <errno.h>
#include <sys/signalfd.h>

int signals_open(int flags, sigset_t *old)
{
	sigset_t mask;
	int fd;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	signal(SIGCHLD, SIG_DFL);
	if (sigprocmask(SIG_BLOCK, &mask, old) < 0)
		return -errno;
	fd = signalfd(-1, &mask, SFD_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}
