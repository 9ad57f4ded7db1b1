/* errand.c: children with a pipe each, a deadline each, and one for all. */
#include "probe/task.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"

#define REAP_NS 50000000ull /* a killed child is waited for so long */

/* One that hangs must not hold the run's folder, sockets and recorder, nor what reads our output. */
static void keep_only(int fd)
{
	int null;

	descriptors_close(fd);
	while ((null = open("/dev/null", O_RDWR)) >= 0 && null < STDERR_FILENO)
		;
	if (null > STDERR_FILENO)
		close(null);
}

static _Noreturn void be_child(const struct errand *errand, int fd, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	keep_only(fd);
	if (getppid() == parent)
		errand->run(fd, errand->arg);
	_exit(0); /* without flushing what the parent has in its streams */
}

static bool begin(struct errand *errand)
{
	pid_t parent = getpid();
	int ends[2];

	errand->text = calloc(1, errand->limit + 1);
	if (!errand->text || pipe2(ends, O_CLOEXEC) < 0)
		return false;
	errand->pid = fork();
	if (errand->pid == 0)
		be_child(errand, ends[1], parent);
	close(ends[1]);
	if (errand->pid < 0) {
		close(ends[0]);
		return false;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	errand->fd = ends[0];
	errand->begun = clock_ns();
	return true;
}

static void finish(struct errand *errand, bool cut)
{
	uint64_t give_up = clock_ns() + REAP_NS;
	int status = 0;
	pid_t got;

	if (cut)
		kill(errand->pid, SIGKILL);
	while ((got = waitpid(errand->pid, &status, WNOHANG)) == 0 && clock_ns() < give_up)
		clock_nap(0.0005);
	if (got == 0 && !cut) { /* has closed its pipe and goes on all the same */
		finish(errand, true);
		return;
	}
	close(errand->fd);
	errand->fd = -1;
	errand->seconds = (double)(clock_ns() - errand->begun) * 1e-9;
	if (cut)
		errand->end = ERRAND_CUT;
	else
		errand->end = got == errand->pid && status == 0 ? ERRAND_DONE : ERRAND_BROKEN;
}

/* What has come so far. */
static void hear(struct errand *errand)
{
	for (;;) {
		size_t room = errand->limit - errand->bytes;
		char spare;
		ssize_t n = read(errand->fd, room ? errand->text + errand->bytes : &spare,
				 room ? room : 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || room == 0) {
			finish(errand, n > 0);
			return;
		}
		errand->bytes += (size_t)n;
	}
}

int errand_begin(struct errand *errand)
{
	errand->end = ERRAND_NEVER;
	errand->text = NULL;
	errand->bytes = 0;
	errand->fd = -1;
	return begin(errand) ? 0 : -EAGAIN;
}

void errand_end(struct errand *errand)
{
	if (errand->pid > 0 && errand->fd >= 0)
		hear(errand);
	if (errand->pid > 0 && errand->fd >= 0)
		finish(errand, true);
}

/* Milliseconds until `deadline`, rounded up; 0 when it has passed. */
static int ms_until(uint64_t deadline)
{
	uint64_t now = clock_ns();

	return deadline > now ? (int)((deadline - now) / 1000000u) + 1 : 0;
}

/* One round over those that are running: their number, 0 when all are over. */
static size_t wait_round(struct errand *errands, size_t n, struct pollfd *fds, uint64_t each,
			 uint64_t deadline)
{
	uint64_t next = deadline;
	size_t running = 0;

	for (size_t i = 0; i < n; i++) {
		fds[i] = (struct pollfd){ .fd = errands[i].fd, .events = POLLIN };
		running += errands[i].fd >= 0;
		if (errands[i].fd >= 0 && errands[i].begun + each < next)
			next = errands[i].begun + each;
	}
	if (running == 0)
		return 0;
	if (poll(fds, n, ms_until(next)) < 0 && errno != EINTR)
		clock_nap(0.001);
	for (size_t i = 0; i < n; i++) {
		struct errand *errand = &errands[i];
		uint64_t now = clock_ns();

		if (errand->fd >= 0 && fds[i].revents)
			hear(errand);
		if (errand->fd >= 0 && (now >= deadline || now >= errand->begun + each))
			finish(errand, true);
	}
	return running;
}

void errands_run(struct errand *errands, size_t n, size_t parallel, double each, double all)
{
	uint64_t deadline = clock_ns() + (uint64_t)(all * 1e9);
	struct pollfd *fds = calloc(n + 1, sizeof(*fds));
	size_t next = 0, running = 0;

	for (size_t i = 0; i < n; i++) {
		errands[i].end = ERRAND_NEVER;
		errands[i].text = NULL;
		errands[i].bytes = 0;
		errands[i].seconds = 0;
		errands[i].fd = -1;
	}
	while (fds) {
		for (; next < n && running < parallel && clock_ns() < deadline; next++)
			running += begin(&errands[next]);
		if (wait_round(errands, next, fds, (uint64_t)(each * 1e9), deadline) == 0)
			break;
		running = 0;
		for (size_t i = 0; i < next; i++)
			running += errands[i].fd >= 0;
	}
	free(fds);
}
