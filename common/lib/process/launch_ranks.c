/* launch_ranks.c: a bare start without mpirun: a parent, and the ranks as its children. */
#include <sys/prctl.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "process/child.h"
#include "process/launch_parts.h"

#define LOOK_MS	    500
#define PATIENCE_NS 3000000000u /* from the first failure to SIGTERM for the others */
#define TERM_NS	    1000000000u /* and from there to SIGKILL */
#define NOT_STARTED 127

struct children {
	pid_t *pids; /* by rank; 0: ended; owned */
	int n, left;
	int code;	    /* of the first that failed; 0: none has */
	bool killed;	    /* by a signal, and not by this process */
	uint64_t failed_ns; /* when it did */
	int sent;	    /* the last signal to the others; 0: none */
	int ended_by;	    /* the first signal that asked for the end; 0: none */
};

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv(name, text, 1);
}

/* The same program again, as a rank. It ends with its parent, however that ends. */
static _Noreturn void become_child(int rank, int ranks, char **argv, const sigset_t *mask,
				   pid_t parent)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char path[PATH_MAX];
	ssize_t n;

	setpgid(0, 0); /* a terminal's signals reach the parent, once */
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTSTP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	set_number("RANK", rank);
	set_number("LOCAL_RANK", rank);
	set_number("WORLD_SIZE", ranks);
	set_number("LOCAL_WORLD_SIZE", ranks);
	unsetenv("HANGAR_RENDEZVOUS");
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	execv(path, argv);
	execv("/proc/self/exe", argv); /* the file was replaced: that name shows in ps */
	fprintf(stderr, "hangar: cannot start rank %d: %s\n", rank, strerror(errno));
	_exit(NOT_STARTED);
}

static void tell(const struct children *c, int number)
{
	for (int i = 0; i < c->n; i++)
		if (c->pids[i] && kill(c->pids[i], number) == 0)
			kill(c->pids[i], SIGCONT);
}

static void note_end(struct children *c, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

	c->left--;
	if (code == 0 || c->code)
		return;
	c->code = code;
	c->killed = WIFSIGNALED(status);
	c->failed_ns = clock_ns();
}

static void reap(struct children *c)
{
	int status;

	for (int i = 0; i < c->n; i++)
		if (c->pids[i] && waitpid(c->pids[i], &status, WNOHANG) == c->pids[i]) {
			c->pids[i] = 0;
			note_end(c, status);
		}
}

/* Others than the first that failed have time for a verdict. */
static void end_others(struct children *c)
{
	uint64_t since = c->failed_ns ? clock_ns() - c->failed_ns : 0;

	if (c->sent != SIGKILL && since > PATIENCE_NS + TERM_NS)
		tell(c, c->sent = SIGKILL);
	else if (!c->sent && since > PATIENCE_NS)
		tell(c, c->sent = SIGTERM);
}

static void take_signals(struct children *c, int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!c->ended_by)
			c->ended_by = (int)info.ssi_signo;
		tell(c, (int)info.ssi_signo);
	}
}

/* Waits for all. Returns the seconds for which nothing of the run had run where that ends it, or 0. */
static double await_ranks(struct children *c, int signal_fd, const struct run_folder *folder,
			  const struct launch_guard *guard)
{
	struct pollfd ready = { .fd = signal_fd, .events = POLLIN };
	struct held held = { 0 };

	for (reap(c); c->left > 0; reap(c)) {
		double seconds = 0;

		if (poll(&ready, 1, LOOK_MS) > 0)
			take_signals(c, signal_fd);
		else
			seconds = launch_look_for_held(&held, 0, folder);
		if (guard->seconds > 0 && seconds >= guard->seconds)
			return seconds;
		end_others(c);
	}
	return 0;
}

static int exit_code(const struct children *c, double held, const struct run_folder *folder,
		     const struct launch_guard *guard)
{
	int code = run_folder_code(folder, -1, NULL);

	if (c->ended_by)
		return 128 + c->ended_by;
	if (code >= 0)
		return code;
	if (held > 0)
		return guard->lost(guard->arg, LAUNCH_HELD, held);
	if (code != RUN_OVER && c->killed && guard->seconds > 0 && run_folder_joined(folder))
		return guard->lost(guard->arg, LAUNCH_SUPERVISORS, 0);
	return c->code == NOT_STARTED ? OUTCOME_INTERNAL : c->code;
}

/* Returns 0 or a negative errno; children that run then are ended. */
static int start(struct children *c, char **argv, const sigset_t *mask, struct error *err)
{
	pid_t parent = getpid();

	fflush(NULL);
	for (int rank = 0; rank < c->n; rank++) {
		pid_t pid = fork();

		if (pid == 0)
			become_child(rank, c->n, argv, mask, parent);
		if (pid < 0)
			return error_set(err, OUTCOME_INTERNAL, -errno, "fork of rank %d: %s%s",
					 rank, strerror(errno),
					 errno == EAGAIN ? " (ulimit -u, pids.max)" : "");
		c->pids[rank] = pid;
		c->left++;
	}
	return 0;
}

/* A frozen process dies when it is thawed. */
static void end_rest(struct children *c)
{
	uint64_t until = clock_ns() + TERM_NS;

	tell(c, SIGKILL);
	for (reap(c); c->left > 0 && clock_ns() < until; reap(c))
		clock_sleep(0.01);
}

int launch_ranks(int ranks, char **argv, const struct launch_guard *guard, struct error *err)
{
	struct children c = { .pids = must(calloc((size_t)ranks, sizeof(pid_t))), .n = ranks };
	struct run_folder folder;
	sigset_t mask;
	double held = 0;
	int code = 1, signal_fd;

	if (launch_open_run(&folder, err) < 0)
		goto out;
	signal(SIGTSTP, SIG_IGN); /* a half-stopped run is a hang, so Ctrl-Z is ignored */
	signal_fd = signals_open(SFD_NONBLOCK, &mask);
	if (start(&c, argv, &mask, err) == 0)
		held = await_ranks(&c, signal_fd, &folder, guard);
	if (err->code == 0)
		code = exit_code(&c, held, &folder, guard);
	end_rest(&c);
	close(signal_fd);
	run_folder_release(&folder);
out:
	free(c.pids);
	return code;
}
