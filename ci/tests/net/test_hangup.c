/* test_hangup.c: only launchers are touched; their dead connections are shut. */
/* timeout: 375 */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "net/hangup.h"

static int listen_here(struct sockaddr_in *to, int backlog)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(*to);

	*to = (struct sockaddr_in){ .sin_family = AF_INET };
	inet_pton(AF_INET, "127.0.0.1", &to->sin_addr);
	UNIT_ALL(bind(fd, (struct sockaddr *)to, len) == 0, listen(fd, backlog) == 0,
		 getsockname(fd, (struct sockaddr *)to, &len) == 0);
	return fd;
}

/* Waits for an answer of a listener whose kernel does not respond; exits 0 at the end of that. */
static pid_t play_launcher(const char *name)
{
	struct sockaddr_in full;
	pid_t pid;

	listen_here(&full, 0);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_NAME, name);
	if (name[0] != 'm')
		clock_sleep(30);
	for (int i = 0; i < 3; i++)
		connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&full, sizeof(full));
	_exit(0);
}

static bool ends_within(pid_t pid, double seconds)
{
	double until = clock_seconds() + seconds;
	pid_t got = 0;

	while (got == 0 && clock_seconds() < until && (clock_sleep(0.05), true))
		got = waitpid(pid, NULL, WNOHANG);
	if (got == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return got == pid;
}

UNIT_TEST(test_launcher, "a launcher")
{
	pid_t pid = play_launcher("mpirun");

	clock_sleep(0.1);
	launcher_hang_up(pid, NULL, 0);
	CU_ASSERT(ends_within(pid, 8));
}

/* The process that shuts the connection exits first: its exit code is the job's. */
UNIT_TEST(test_first, "a launcher whose child has not ended")
{
	double begin = clock_seconds();
	pid_t pid = play_launcher("mpirun"), watcher = fork();

	if (watcher == 0) {
		clock_sleep(1.2);
		launcher_hang_up(pid, NULL, 0);
		clock_sleep(1);
		_exit(0);
	}
	CU_ASSERT(ends_within(pid, 8));
	CU_ASSERT(clock_seconds() - begin > 2.2);
}

/* A launcher that does nothing more, whatever signals it gets: its output is read, is not, or a child of it lives. */
UNIT_TEST(test_dead, "a launcher that does not end")
{
	enum { READ, FULL, PARENT, CASES };
	pid_t pids[CASES];
	int out[2];

	CU_ASSERT_EQUAL(pipe(out), 0);
	for (int is = 0; is < CASES; is++) {
		bool full = is == FULL;

		pids[is] = fork();
		if (pids[is] == 0) {
			if (is == PARENT && fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				clock_sleep(30);
				_exit(0);
			}
			prctl(PR_SET_NAME, "mpirun");
			signal(SIGTERM, SIG_IGN);
			dup2(full ? out[1] : open("/dev/null", O_WRONLY), STDOUT_FILENO);
			fcntl(out[1], F_SETFL, O_NONBLOCK);
			while (full && write(out[1], "", 1) == 1)
				;
			clock_sleep(30);
			_exit(0);
		}
		clock_sleep(0.1);
		launcher_hang_up(pids[is], NULL, 0);
	}
	CU_ASSERT(ends_within(pids[READ], 11));
	CU_ASSERT(!ends_within(pids[FULL], 0.5));
	CU_ASSERT(!ends_within(pids[PARENT], 0.5));
}

/* A live connection is shut if a link leads to the same host, and only then. */
UNIT_TEST(test_lost_host, "a lost host")
{
	struct sockaddr_in to;
	int listener = listen_here(&to, 4), link = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(to);
	char byte;

	CU_ASSERT_EQUAL(connect(link, (struct sockaddr *)&to, len), 0);
	for (size_t n = 0; n < 2; n++) {
		pid_t pid = fork();

		if (pid == 0) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			prctl(PR_SET_NAME, "mpirun");
			connect(fd, (struct sockaddr *)&to, len);
			_exit(recv(fd, &byte, 1, 0) == 0 ? 0 : 1);
		}
		clock_sleep(0.1);
		launcher_hang_up(pid, &link, n);
		CU_ASSERT_EQUAL(ends_within(pid, 4), n == 1);
	}
	close(link);
	close(listener);
}

UNIT_TEST(test_others, "somebody else")
{
	pid_t pid = play_launcher("slurmstepd");

	clock_sleep(0.1);
	kill(pid, SIGSTOP);
	launcher_hang_up(pid, NULL, 0);
	CU_ASSERT(!ends_within(pid, 1));
}
