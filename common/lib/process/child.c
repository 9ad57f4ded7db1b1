/* child.c: descriptors and signals of parents and children. */
#include "process/child.h"

#include <sys/signalfd.h>

void descriptors_close(int keep)
{
	int null;

	for (int fd = 0; fd < keep; fd++)
		close(fd);
	closefrom(keep + 1);
	while ((null = open("/dev/null", O_RDWR)) >= 0 && null < STDERR_FILENO)
		;
	if (null > STDERR_FILENO)
		close(null);
}

void child_detach(void)
{
	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	descriptors_close(-1);
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
