/* watcher.c: the monitor of a job that nothing but NCCL's plugin setting has brought here: each
 * process of the job finds the same name for it, and the first one on a host starts it. */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/parse.h"
#include "base/proc_stat.h"
#include "library/library.h"

#define ANCESTORS 16
#define STACK	  65536

/* ---- the name ---- */

/* Returns true if the process was started as a rank, or as the shell or tool that starts one. */
static bool is_rank(pid_t pid)
{
	static const char *const names[] = { "RANK=", "OMPI_COMM_WORLD_RANK=", "PMI_RANK=",
					     "SLURM_PROCID=", NULL };
	char path[64], *line = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f && !found && getdelim(&line, &room, '\0', f) > 0)
		for (int i = 0; names[i] && !found; i++)
			found = strncmp(line, names[i], strlen(names[i])) == 0;
	if (f)
		fclose(f);
	free(line);
	return found;
}

/* The nearest ancestor that is no rank: torchrun, mpirun's daemon, slurmstepd, a shell. 0: of
 * another namespace. */
static pid_t find_launcher(void)
{
	pid_t pid = getppid();
	struct proc_stat stat;

	for (int i = 0; i < ANCESTORS && pid > 1 && is_rank(pid); i++)
		pid = proc_stat_read(&stat, pid, 0) ? stat.parent : 0;
	return pid;
}

void watcher_key(char *key, size_t len)
{
	static const char *const names[] = { "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
					     "SLURM_JOB_ID", "SLURM_STEP_ID" };
	struct stat space = { 0 };
	struct proc_stat launcher = { 0 };
	pid_t pid = find_launcher();
	char text[1024];
	int n;

	if (stat("/proc/self/ns/pid", &space) < 0)
		space.st_ino = 0;
	proc_stat_read(&launcher, pid, 0);
	n = snprintf(text, sizeof(text), "%d %lu %lu", (int)pid, launcher.started,
		     (unsigned long)space.st_ino);
	for (size_t i = 0; i < LENGTH(names) && n < (int)sizeof(text); i++) {
		const char *value = getenv(names[i]);

		n += snprintf(text + n, sizeof(text) - (size_t)n, " %.100s", value ? value : "-");
	}
	snprintf(key, len, "%016llx", (unsigned long long)record_hash_id(text, strlen(text)));
}

/* ---- its start ---- */

struct start {
	char *path;
	char **argv, **environment;
};

/* Runs in the memory of the process that starts it, until exec: system calls alone. The program
 * finds no descriptor, no signal and no place on processors of the job's. */
static int become_monitor(void *arg)
{
	const struct start *start = arg;
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	int null = open("/dev/null", O_RDWR);
	cpu_set_t all;
	sigset_t none;

	for (int number = 1; number < 65; number++)
		sigaction(number, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0) < 0)
		for (int fd = STDERR_FILENO + 1; fd < 65536; fd++)
			close(fd);
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	setpriority(PRIO_PROCESS, 0, 0);
	execve(start->path, start->argv, start->environment);
	_exit(127);
}

/* The environment without what loads this library into the monitor. Its end is NULL; to be
 * freed. */
static char **plain_environment(void)
{
	size_t n = 0, kept = 0;
	char **list;

	while (environ[n])
		n++;
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0 &&
		    strncmp(environ[i], "NCCL_", 5) != 0 &&
		    strncmp(environ[i], "HANGAR_RUN=", 11) != 0)
			list[kept++] = environ[i];
	return list;
}

/* A process with no exit signal: the job's own wait() does not find it. */
static int run(const struct start *start)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigset_t all, kept;
	int status = 0, rc;
	pid_t pid;

	if (stack == MAP_FAILED)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &kept);
	pid = clone(become_monitor, stack + STACK, CLONE_VM | CLONE_VFORK, (void *)start);
	rc = pid < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	munmap(stack, STACK);
	while (pid > 0 && waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (rc < 0 || !WIFEXITED(status))
		return rc < 0 ? rc : -ENOENT;
	return WEXITSTATUS(status) == 0 ? 0 : WEXITSTATUS(status) == 127 ? -ENOENT : -ECANCELED;
}

int watcher_start(const char *key)
{
	char path[PATH_MAX + 16], *slash;
	char watch[] = "--watch", *argv[] = { path, watch, (char *)key, NULL };
	char **environment = plain_environment();
	struct start start = { path, argv, environment };
	Dl_info own;
	int rc;

	if (!environment || !dladdr(say, &own)) {
		free(environment);
		return -ENOMEM;
	}
	snprintf(path, sizeof(path), "%s", own.dli_fname);
	slash = strrchr(path, '/');
	snprintf(slash ? slash + 1 : path, 16, "hangar_run");
	rc = run(&start);
	free(environment);
	return rc;
}
