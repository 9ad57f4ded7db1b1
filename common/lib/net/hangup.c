/* hangup.c: shuts a launcher's dead connections. */
#include "net/hangup.h"

#include <dirent.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/proc_stat.h"
#include "net/path.h"

/* Hosts whose connections are shut in any case. */
struct lost {
	struct in6_addr hosts[HANGUP_HOSTS];
	size_t n;
};

#define ROUNDS	40   /* number of checks */
#define ROUND_S 0.25 /* seconds between two checks */
#define LATER                                                                                      \
	8	       /* checks before live connections to lost hosts are shut: an exit code may
			  * be on its way */
#define ENOUGH	    35 /* checks before the launcher counts as dead */
#define RETRANSMITS 3  /* resends of one segment: 1.4 s without an answer on a fast network */

static bool is_launcher(pid_t pid)
{
	static const char names[] = "mpirun mpiexec orterun orted prterun prted prte";
	struct proc_stat stat;

	return pid > 1 && proc_stat_read(&stat, pid, 0) && names_find(names, stat.name) >= 0 &&
	       (stat.state != 'T' || kill(pid, SIGCONT) == 0);
}

bool launcher_is_remote(pid_t launcher)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, launcher, 0) && names_find("orted prted", stat.name) >= 0;
}

static bool is_dead(int fd, const struct lost *lost)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	struct in6_addr peer;

	for (size_t i = 0; i < lost->n && path_peer(fd, &peer); i++)
		if (IN6_ARE_ADDR_EQUAL(&peer, &lost->hosts[i]))
			return true;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       ((info.tcpi_unacked > 0 && info.tcpi_retransmits >= RETRANSMITS) ||
		(info.tcpi_state == TCP_SYN_SENT && info.tcpi_retransmits > 0));
}

/* Shuts the dead connections. Returns false if the launcher's descriptors cannot be taken. */
static bool shut_dead(int pidfd, pid_t launcher, const struct lost *lost)
{
	bool taken = false;
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)launcher);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		int fd = entry->d_name[0] == '.'
				 ? -1
				 : (int)syscall(SYS_pidfd_getfd, pidfd, atoi(entry->d_name), 0);

		if (fd < 0)
			continue;
		taken = true;
		if (is_dead(fd, lost))
			shutdown(fd, SHUT_RDWR);
		close(fd);
	}
	if (dir)
		closedir(dir);
	return taken;
}

/* Returns false if the launcher may only wait for a slow reader of its output. */
static bool output_taken(int pidfd)
{
	bool taken = true;

	for (int out = STDOUT_FILENO; out <= STDERR_FILENO; out++) {
		struct pollfd p = { .fd = (int)syscall(SYS_pidfd_getfd, pidfd, out, 0),
				    .events = POLLOUT };

		poll(&p, 1, 0);
		taken &= p.fd < 0 || p.revents != 0;
		if (p.fd >= 0)
			close(p.fd);
	}
	return taken;
}

/* Returns true if other processes of this program, which the launcher started, have not ended. */
static bool has_processes(pid_t launcher)
{
	char path[64], own[16] = "";
	struct proc_stat stat;
	bool found = false;
	FILE *f;
	int pid;

	prctl(PR_GET_NAME, own);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)launcher, (int)launcher);
	f = fopen(path, "r");
	while (f && !found && fscanf(f, "%d", &pid) == 1)
		found = proc_stat_read(&stat, pid, 0) && stat.state != 'Z' &&
			strcmp(stat.name, own) == 0;
	if (f)
		fclose(f);
	return found;
}

/* `watcher`, a child of the launcher, ends first: its exit code becomes the job's. */
static _Noreturn void hang_up(pid_t launcher, pid_t watcher, const struct lost *lost)
{
	static const struct lost none;
	int pidfd;

	setsid();
	closefrom(0);
	pidfd = (int)syscall(SYS_pidfd_open, launcher, 0);
	for (int i = 0; i < ROUNDS && kill(launcher, 0) == 0; i++) {
		bool waits = getppid() == watcher && i < LATER;

		clock_sleep(ROUND_S);
		if (!waits &&
		    (pidfd < 0 || !shut_dead(pidfd, launcher, i < LATER ? &none : lost)) &&
		    i == ROUNDS / 2 && (lost->n > 0 || !has_processes(launcher)))
			kill(launcher, SIGTERM);
		if (i == ENOUGH && output_taken(pidfd) && (lost->n > 0 || !has_processes(launcher)))
			kill(launcher, SIGKILL);
	}
	_exit(0);
}

void launcher_hang_up(pid_t launcher, const int *links, size_t n)
{
	struct lost lost = { 0 };
	pid_t watcher = getpid();
	sigset_t none;

	if (!is_launcher(launcher))
		return;
	for (size_t i = 0; i < n && lost.n < HANGUP_HOSTS; i++)
		lost.n += path_peer(links[i], &lost.hosts[lost.n]);
	fflush(NULL);
	if (fork() != 0)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	hang_up(launcher, watcher, &lost);
}
