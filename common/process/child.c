/* child.c: closing all descriptors but one; blocking signals, to read them. */
#include "process/child.h"

#include <fcntl.h>
#include <sys/signalfd.h>

static void close_from_to(unsigned first, unsigned last)
{
	long end = sysconf(_SC_OPEN_MAX);

	if (first > last || close_range(first, last, 0) == 0)
		return;
	/* Linux before 5.9, as under many a container */
	end = end > 0 && end < 1 << 20 ? end : 1 << 20;
	for (unsigned fd = first; fd <= last && fd < (unsigned)end; fd++)
		close((int)fd);
}

void descriptors_close(int keep)
{
	if (keep > 0)
		close_from_to(0, (unsigned)keep - 1);
	close_from_to(keep < 0 ? 0 : (unsigned)keep + 1, ~0U);
}

void child_detach(void)
{
	int null;

	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	descriptors_close(-1);
	while ((null = open("/dev/null", O_RDWR)) >= 0 && null < STDERR_FILENO)
		;
}

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
