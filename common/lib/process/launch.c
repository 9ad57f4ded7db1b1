/* launch.c: launcher detection, and the small parent that runs mpirun on the binary itself. */
#include "process/launch.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/proc_stat.h"
#include "settings/rank_groups.h"
#include "process/launch_parts.h"
#include "process/child.h"

#define ENV_KEY	     "HANGAR_RUN_KEY"
#define ENV_PROGRESS "HANGAR_PROGRESS"
#define LOOK_MS	     500
#define ORPHANED_NS  5000000000u /* time without ranks; mpirun gives processes that it ends 2 s */
#define TERM_NS	     1000000000u /* from SIGTERM to SIGKILL */
#define SAY_NS	     1000000000u /* from the start of a hold to its line */
#define PAUSED_NS    3000000000u /* between two looks: this process did not run either */
#define BEGUN_NONE   (-1) /* a code: mpirun has failed, and none of its processes has begun */
#define FILES	     48 /* open files that mpirun needs, and those for each rank: 24 and 3 were counted */
#define RANK_FILES   4

/* Makes a key from the launcher's variables: the same for all processes of this run alone. The innermost launcher's count: under
 * Slurm mpirun starts its daemons on other nodes in a step of their own, and on its own node none. */
static void make_key(char *key, size_t len)
{
	static const struct {
		const char *name;
		int launcher;
	} from[] = { { "PMIX_NAMESPACE", 0 },
		     { "OMPI_MCA_orte_hnp_uri", 0 },
		     { "PMI_JOBID", 1 },
		     { "SLURM_JOB_ID", 2 },
		     { "SLURM_STEP_ID", 2 } };
	const char *given = getenv(ENV_KEY);
	char all[4096] = "";
	int found = 2;

	for (size_t i = 0; i < LENGTH(from) && from[i].launcher <= found; i++) {
		const char *value = getenv(from[i].name);

		found = value ? from[i].launcher : found;
		text_add(all, sizeof(all), "%s ", value ? value : "-");
	}
	if (given && *given)
		snprintf(key, len, "%s", given);
	else
		snprintf(key, len, "%016lx", rank_groups_value(all));
}

/* Ranks that a script, torchrun or a pod numbers: names of their run, and HANGAR_TOKEN, a secret that they may share. A host's name
 * is none: rank 0's own is another to it ("localhost"). */
static void make_numbered_key(char *key, size_t len)
{
	static const char *const names[] = { "MASTER_PORT",	    "WORLD_SIZE",
					     "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT",
					     "SLURM_JOB_ID",	    "SLURM_STEP_ID",
					     "HANGAR_TOKEN" };
	const char *given = getenv("HANGAR_RENDEZVOUS"), *port = given ? strrchr(given, ':') : NULL;
	char all[4096] = "numbered";

	for (size_t i = 0; i < LENGTH(names); i++)
		text_add(all, sizeof(all), " %s", getenv(names[i]) ?: "-");
	text_add(all, sizeof(all), " %s", port ? port : "-");
	snprintf(key, len, "%016lx", rank_groups_value(all));
}

/* By RANK and WORLD_SIZE, as torchrun, pods and hangar's own start set them. */
static bool detect_numbers(struct launch *launch, bool served)
{
	int size = environment_number(environ, "WORLD_SIZE", 0),
	    rank = environment_number(environ, "RANK", -1);

	/* torchrun is the innermost launcher also where mpirun or srun has started it; a start of one rank by hangar itself is
	 * one, and would be started again else */
	if (size < (launch->own ? 1 : 2) || rank < 0 || (served && !getenv("TORCHELASTIC_RUN_ID")))
		return false;
	launch->launched = launch->numbered = true;
	launch->announced = size;
	launch->rank = rank;
	launch->local = environment_number(environ, "LOCAL_WORLD_SIZE", 0);
	launch->local_rank = environment_number(environ, "LOCAL_RANK", 0);
	if (!getenv(ENV_KEY))
		make_numbered_key(launch->key, sizeof(launch->key));
	return true;
}

/* A Slurm step. */
static int count_tasks(void)
{
	return getenv("SLURM_STEP_ID")
		       ? environment_number(environ, "SLURM_STEP_NUM_TASKS SLURM_NTASKS", 0)
		       : 0;
}

void launch_detect(struct launch *launch)
{
	int tasks = count_tasks();
	bool served;

	memset(launch, 0, sizeof(*launch));
	launch->announced =
		environment_number(environ, "OMPI_COMM_WORLD_SIZE PMI_SIZE MPI_LOCALNRANKS", 0);
	served = launch->announced > 0 || getenv("PMIX_NAMESPACE");
	launch->own = getenv(ENV_KEY) != NULL;
	make_key(launch->key, sizeof(launch->key));
	if (detect_numbers(launch, served))
		return;
	launch->numbered = !served && tasks > 1;
	launch->launched = served || launch->numbered;
	if (launch->launched && launch->announced == 0)
		launch->announced = tasks;
	launch->local = environment_number(environ, "OMPI_COMM_WORLD_LOCAL_SIZE", 0);
	if (launch->numbered && environment_number(environ, "SLURM_STEP_NUM_NODES", 0) == 1)
		launch->local = tasks;
	launch->local_rank = environment_number(environ,
						launch->numbered ? "SLURM_LOCALID"
								 : "OMPI_COMM_WORLD_LOCAL_RANK",
						0);
	if (launch->launched)
		launch->rank =
			environment_number(environ,
					   "OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID",
					   0);
}

/* A setting of Open MPI 4 (OMPI_MCA_orte_) and 5 (PRTE_MCA_prte_), which knows no options of these names. */
static void set_parameter(const char *parameter, const char *value)
{
	static const char *const prefixes[] = { "OMPI_MCA_orte_", "PRTE_MCA_prte_" };
	char name[64];

	for (size_t i = 0; i < LENGTH(prefixes); i++) {
		snprintf(name, sizeof(name), "%s%s", prefixes[i], parameter);
		if (value)
			setenv(name, value, 1);
		else
			unsetenv(name);
	}
}

void launch_begin(const struct launch *launch)
{
	if (!launch->launched || !launch->own)
		return;
	run_folder_note_begun(launch->key);
	set_parameter("execute_quiet", NULL);
}

/* Runs in a child process: counting starts CUDA's threads, and a thread here with signals unblocked
 * would take the SIGCHLD that wait_for() needs. */
int launch_count(int (*devices)(void))
{
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int n = devices();

		_exit(n < 0 ? 0 : n > 255 ? 255 : n);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int launch_cores(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		return CPU_COUNT(&set);
	return (int)sysconf(_SC_NPROCESSORS_ONLN); /* more than a cpu_set_t holds */
}

/* Slurm's variables would make mpirun use the whole allocation; a bare start uses this host. */
void launch_forget_slurm(void)
{
	char name[128];

	for (char **e = environ; *e;) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (strncmp(name, "SLURM_", 6) != 0 || unsetenv(name) < 0)
			e++; /* the next entry moves to this place */
	}
}

/* mpirun's session folder; no closing block about the exit code, nor any other message of its own; exit code 0 of --expect
 * stays 0 after a rank that could not finalise. */
static void set_parameters(const char *tmpdir)
{
	set_parameter("tmpdir_base", tmpdir);
	set_parameter("execute_quiet", "1");
	set_parameter("allowed_exit_without_sync", "1");
	/* 5 prints its closing block about an exit code all the same, unless that counts as no error */
	setenv("PRTE_MCA_state_base_error_non_zero_exit", "0", 1);
}

/* mpirun and its options, then this process' command line. */
static char **make_command(int ranks, char **argv)
{
	static char count[16];
	const char *fixed[] = { "mpirun", "-np", count, "--oversubscribe",
				/* NCCL and the scheduler place threads better than one core */
				"--bind-to", "none",
				geteuid() == 0 ? "--allow-run-as-root" : NULL };
	size_t n = LENGTH(fixed), argc = 0;
	char **command;

	snprintf(count, sizeof(count), "%d", ranks);
	while (argv[argc])
		argc++;
	command = must(calloc(n + argc + 2, sizeof(*command)));
	if (!fixed[n - 1])
		n--;
	memcpy(command, fixed, n * sizeof(*command));
	memcpy(command + n, argv, argc * sizeof(*command));
	return command;
}

/* Open MPI 4.1 can wait for ever when a rank is killed while it connects ("PMIX ERROR:
 * UNREACHABLE"). An mpirun without ranks gets some time, then signals. */
struct orphaned {
	uint64_t since_ns; /* time since no rank is left; 0: ranks remain */
	int signalled;	   /* the last signal sent to it, 0: none */
	bool mute;	   /* it did not run then: the ranks' last lines are with it */
};

/* Returns true if the reader of our output is slow: mpirun may still hold much of it. */
static bool output_waits(void)
{
	struct pollfd out[] = { { .fd = STDOUT_FILENO, .events = POLLOUT },
				{ .fd = STDERR_FILENO, .events = POLLOUT } };

	poll(out, 2, 0);
	return !out[0].revents || !out[1].revents;
}

/* Returns true where it is killed and does not end: a frozen one dies when it is thawed, a traced one when its debugger looks. */
static bool look_after(struct orphaned *b, pid_t pid, const struct run_folder *folder)
{
	uint64_t now = clock_ns();

	if (!run_folder_deserted(folder) || output_waits()) {
		b->since_ns = 0;
		return false;
	}
	if (b->since_ns == 0)
		b->since_ns = now;
	if (!b->signalled && now - b->since_ns > ORPHANED_NS) {
		fprintf(stderr, "hangar: mpirun's ranks are gone and it does not end: ending it\n");
		b->mute = proc_hold_hint(proc_hold_read(pid)) != NULL;
		kill(pid, b->signalled = SIGTERM);
	} else if (b->signalled == SIGTERM && now - b->since_ns > ORPHANED_NS + TERM_NS) {
		kill(pid, b->signalled = SIGKILL);
	}
	return b->signalled == SIGKILL && now - b->since_ns > ORPHANED_NS + 3 * TERM_NS;
}

static void say_held(enum proc_hold hold, pid_t pid, bool started)
{
	printf(started ? "# no supervisor of this run runs: the first (pid %d) %s\n"
		       : "# mpirun (pid %d) %s; it has started no rank yet\n",
	       (int)pid, proc_hold_hint(hold));
	fflush(stdout);
}

double launch_look_for_held(struct held *h, pid_t mpirun, const struct run_folder *folder)
{
	uint64_t now = clock_ns(), before = h->looked_ns;
	pid_t pid = mpirun;
	enum proc_hold hold = run_folder_hold(folder, &pid, 0);
	bool started = hold != HOLD_GONE;

	if (mpirun && !started && !run_folder_deserted(folder))
		hold = proc_hold_read(mpirun);
	h->looked_ns = now;
	if (!proc_hold_hint(hold) || h->since_ns == 0 || now - before > PAUSED_NS) {
		h->since_ns = proc_hold_hint(hold) ? now : 0;
		h->printed = false;
	} else if (!h->printed && now - h->since_ns >= SAY_NS) {
		h->printed = true;
		say_held(hold, pid, started);
	}
	return h->since_ns ? (double)(now - h->since_ns) * 1e-9 : 0;
}

/* Ends a run of which nothing runs; a frozen process may die when it is thawed. Returns the exit code. */
static int end_held(pid_t mpirun, const struct run_folder *folder, int ended_by,
		    const struct launch_guard *guard, double seconds)
{
	bool mute = proc_hold_hint(proc_hold_read(mpirun)) != NULL;
	int code = ended_by ? 128 + ended_by : run_folder_code(folder, -1, mute ? stdout : NULL);
	uint64_t until = clock_ns() + TERM_NS;
	pid_t unused;

	if (code < 0)
		code = guard->lost(guard->arg, LAUNCH_HELD, seconds);
	run_folder_hold(folder, &unused, SIGKILL);
	kill(mpirun, SIGKILL);
	while (waitpid(mpirun, NULL, WNOHANG) == 0 && clock_ns() < until)
		clock_sleep(0.01);
	return code;
}

/* Where mpirun was killed its ranks' supervisors see that, and have nowhere to print it. */
static void await_supervisors(int signal_fd, const struct run_folder *folder, double seconds)
{
	struct pollfd ready = { .fd = signal_fd, .events = POLLIN };
	uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9) + ORPHANED_NS;
	pid_t unused;

	while (run_folder_hold(folder, &unused, 0) != HOLD_GONE && clock_ns() < until)
		if (poll(&ready, 1, LOOK_MS / 10) > 0)
			return;
}

/* A signal by which a user or a scheduler ends a run. */
static bool is_request(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
}

/* The exit code of a run whose mpirun has ended with this status of waitpid(): the one that supervisors noted, if they did.
 * Where mpirun died before that, their last lines are printed here. Open MPI 4.1 may crash in its own end: all lines are out then. */
static int code_of_end(int status, const struct orphaned *orphaned, int signal_fd,
		       const struct run_folder *folder, const struct launch_guard *guard)
{
	bool crashed = WIFSIGNALED(status) && !orphaned->signalled;
	int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	    code = run_folder_code(folder, -1, NULL);
	bool unsaid = orphaned->mute || (crashed && code == -1),
	     in_own_end = crashed && code == RUN_OVER && WTERMSIG(status) != SIGKILL,
	     lost = guard->seconds > 0 && !is_request(exit_code - 128) &&
		    (orphaned->signalled || exit_code > 128);

	if (crashed && code == -1)
		await_supervisors(signal_fd, folder, guard->seconds);
	code = run_folder_code(folder, -1, unsaid ? stdout : NULL);
	if (code >= 0)
		return code;
	if (in_own_end)
		fprintf(stderr, "hangar: mpirun was killed by signal %d after the run had ended\n",
			WTERMSIG(status));
	if (code == RUN_OVER)
		return in_own_end || orphaned->signalled ? OUTCOME_OK : exit_code;
	if (lost && run_folder_joined(folder))
		return guard->lost(guard->arg, crashed ? LAUNCH_MPIRUN : LAUNCH_SUPERVISORS, 0);
	if (lost)
		fprintf(stderr, "hangar: mpirun ended with exit code %d before a rank had joined\n",
			exit_code);
	return lost || (orphaned->signalled && exit_code == 0) ? OUTCOME_INTERNAL : exit_code;
}

/* Returns true for an mpirun that failed to start anything. become_mpirun() says itself that there is no mpirun. */
static bool failed_to_start(int status, const struct run_folder *folder)
{
	return WIFEXITED(status) && WEXITSTATUS(status) != OUTCOME_OK &&
	       WEXITSTATUS(status) != OUTCOME_UNSUPPORTED && !run_folder_begun(folder);
}

/* Forwards signals; *ended_by is the first of them. */
static int wait_for(pid_t pid, int signal_fd, const struct run_folder *folder,
		    const struct launch_guard *guard, int *ended_by)
{
	struct pollfd ready = { .fd = signal_fd, .events = POLLIN };
	struct signalfd_siginfo info;
	struct orphaned orphaned = { 0 };
	struct held held = { 0 };
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (poll(&ready, 1, LOOK_MS) == 0) {
			double seconds = launch_look_for_held(&held, pid, folder);

			if (guard->seconds > 0 && seconds >= guard->seconds)
				return end_held(pid, folder, *ended_by, guard, seconds);
			if (look_after(&orphaned, pid, folder))
				break;
		}
		if (!(ready.revents & POLLIN) ||
		    read(signal_fd, &info, sizeof(info)) != sizeof(info) ||
		    info.ssi_signo == SIGCHLD)
			continue;
		if (*ended_by == 0)
			*ended_by = (int)info.ssi_signo;
		kill(pid, (int)info.ssi_signo);
		kill(pid, SIGCONT);
	}
	if (*ended_by)
		return 128 + *ended_by;
	if (failed_to_start(status, folder))
		return BEGUN_NONE;
	return code_of_end(status, &orphaned, signal_fd, folder, guard);
}

/* mpirun gets its own process group, so a terminal's signals reach only us, once. It does not get
 * the caller's standard input, which it would drain. */
static _Noreturn void become_mpirun(char **command, const sigset_t *mask, pid_t parent,
				    int folder_fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	fcntl(folder_fd, F_SETFD, 0); /* mpirun keeps the lock: the folder outlasts its files */
	setpgid(0, 0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	signal(SIGTSTP, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "hangar: %s: %s (make install-deps installs Open MPI)\n", command[0],
		strerror(errno));
	_exit(OUTCOME_UNSUPPORTED);
}

/* An mpirun that lacks descriptors for its ranks' pipes waits for ever. */
static int make_room_for_files(int ranks, struct error *err)
{
	struct rlimit limit;
	rlim_t need = FILES + RANK_FILES * (rlim_t)ranks, had;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return 0;
	had = limit.rlim_cur;
	limit.rlim_cur = need;
	limit.rlim_max = limit.rlim_max > need ? limit.rlim_max : need;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
		return 0;
	return error_set(err, OUTCOME_UNSUPPORTED, -EMFILE,
			 "%d open files are allowed, and %d ranks need %d: ulimit -n %d", (int)had,
			 ranks, (int)need, (int)need);
}

/* Runs mpirun. Returns the exit code, or BEGUN_NONE. */
static int run_mpirun(char **command, const sigset_t *mask, int signal_fd,
		      const struct run_folder *folder, const struct launch_guard *guard,
		      struct error *err)
{
	pid_t parent = getpid(), pid;
	int ended_by = 0;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		become_mpirun(command, mask, parent, folder->fd);
	if (pid > 0)
		return wait_for(pid, signal_fd, folder, guard, &ended_by);
	error_set(err, OUTCOME_INTERNAL, -errno, "fork: %s", strerror(errno));
	return OUTCOME_INTERNAL;
}

int launch_open_run(struct run_folder *folder, struct error *err)
{
	char key[33];
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)getpid() << 32;
	snprintf(key, sizeof(key), "%016lx", random);
	if (run_folder_open(folder, key, err) < 0)
		return -EIO;
	setenv(ENV_KEY, key, 1);
	launch_forget_slurm();
	return 0;
}

int launch_self(int ranks, char **argv, const struct launch_guard *guard, struct error *err)
{
	struct run_folder folder;
	char **command;
	sigset_t mask;
	int code, signal_fd;

	if (make_room_for_files(ranks, err) < 0 || launch_open_run(&folder, err) < 0)
		return 1;
	setenv(ENV_PROGRESS, !isatty(STDERR_FILENO) ? "0" : isatty(STDOUT_FILENO) ? "2" : "1", 1);
	set_parameters(folder.path);
	command = make_command(ranks, argv);
	fprintf(stderr, "hangar: no launcher, running:");
	for (char **word = command; *word; word++)
		fprintf(stderr, " %s", *word);
	fprintf(stderr, " (its files: %s)\n", folder.path);
	signal(SIGTSTP, SIG_IGN); /* a half-stopped run is a hang, so Ctrl-Z is ignored */
	signal_fd = signals_open(0, &mask);
	code = run_mpirun(command, &mask, signal_fd, &folder, guard, err);
	if (code == BEGUN_NONE) {
		fprintf(stderr,
			"hangar: mpirun has started no rank; once more, with all that it says:\n");
		set_parameter("execute_quiet", "0");
		code = run_mpirun(command, &mask, signal_fd, &folder, guard, err);
	}
	close(signal_fd);
	free(command);
	run_folder_release(&folder);
	return code == BEGUN_NONE ? OUTCOME_INTERNAL : code;
}

enum progress_line launch_progress(void)
{
	const char *place = getenv(ENV_PROGRESS);

	if (place)
		return *place == '2'   ? PROGRESS_AMONG_ROWS
		       : *place == '1' ? PROGRESS_ALONE
				       : PROGRESS_NONE;
	if (!isatty(STDERR_FILENO))
		return PROGRESS_NONE;
	return isatty(STDOUT_FILENO) ? PROGRESS_AMONG_ROWS : PROGRESS_ALONE;
}
