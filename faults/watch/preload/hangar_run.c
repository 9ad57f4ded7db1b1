/* hangar_run.c: start any NCCL program with libhangar.so and a monitor beside it. This process
 * becomes the program: exit code, signals and output are the program's own. */
#include <dlfcn.h>
#include <libgen.h>

#include "base/arguments.h"
#include "base/file.h"
#include "profiler/nccl_profiler.h"
#include "base/parse.h"
#include "preload/fault_spec.h"
#include "preload/run_apart.h"
#include "preload/run_monitor.h"
#include "preload/run_status.h"
#include "preload/run_wait.h"
#include "process/launch.h"

#define PLUGIN_PATH 254 /* characters of a plugin's path that NCCL takes */

struct arguments {
	struct run_settings run;
	bool wait, preflight;
	int command;	   /* where it begins in argv, 0: nowhere */
	bool status, json; /* asks how runs are, and starts none */
	const char *which; /* run, NULL: all */
	const char *
		watch; /* a rank has started this: watch the run with this name, NULL: no rank has */
	bool plugin; /* load the library as NCCL's plugin, and not with the program; without a command: print its path */
};

static void take_on_hang(struct argp_state *state, void *into, const struct argument *row,
			 char *text)
{
	int word = names_find("report abort kill", text); /* as enum on_hang has them */

	if (word < 0)
		argument_refuse(state, "--on-hang=%s: report, abort or kill", text);
	((struct arguments *)into)->run.on_hang = (enum on_hang)word;
}

/* Checks at the start that evidence can be written to that folder, which need not exist yet. It
 * makes a trial folder, since access() is wrong for root in /proc. 0 or a negative errno. */
static int try_folder(const char *out)
{
	char path[PATH_MAX + 32], there[PATH_MAX];
	int rc = file_ancestor(out, there);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%s/.hangar-XXXXXX", there);
	return mkdtemp(path) && rmdir(path) == 0 ? 0 : -errno;
}

static void take_out(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	int rc = *text ? try_folder(text) : 0;

	if (rc < 0)
		argument_refuse(state, "--out=%s: %s", text, strerror(-rc));
	((struct arguments *)into)->run.out = text;
}

/* A file of the meter, into whose folder it must be possible to write. */
static void take_file(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	char copy[PATH_MAX],
		*folder = strlen(text) < sizeof(copy) ? dirname(strcpy(copy, text)) : NULL;
	struct stat st;
	int rc = !folder || !*text ? -EINVAL : 0;

	if (rc == 0 && stat(text, &st) == 0 && !S_ISREG(st.st_mode))
		rc = S_ISDIR(st.st_mode) ? -EISDIR : access(text, W_OK) ? -errno : 0;
	else if (rc == 0)
		rc = access(folder, F_OK) ? -errno : try_folder(folder);
	if (rc < 0)
		argument_refuse(state, "--%s=%s: %s", row->name, text, strerror(-rc));
	*(const char **)((char *)into + row->at) = text;
}

static void take_topo(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	struct error err = { 0 };
	struct meter_model *model = meter_model_open(text, &err);

	(void)row;
	if (!model)
		argument_refuse(state, "--topo=%s: %s", text, err.text);
	((struct arguments *)into)->run.meter.model = model;
}

static void take_fault(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	struct fault_spec spec;
	const char *wrong = fault_spec_parse(&spec, text);

	if (wrong)
		argument_refuse(state, "--fault=%s: %s (there are: %s)", text, wrong,
				fault_spec_names());
	((struct arguments *)into)->run.fault = text;
}

static void take_meeting_point(struct argp_state *state, void *into, const struct argument *row,
			       char *text)
{
	int port = strrchr(text, ':') ? atoi(strrchr(text, ':') + 1) : 0;

	if (port < 1 || port > 65535 || text[0] == ':')
		argument_refuse(state, "--rendezvous=%s: a host and a port, HOST:PORT", text);
	((struct arguments *)into)->run.meeting_point = text;
}

/* The run whose status is asked for, or the command, to which all that follows belongs. */
static void take_word(struct argp_state *state, void *into, char *text)
{
	struct arguments *a = into;

	if (a->status && a->which)
		argument_refuse(state, "--status takes one process or folder");
	if (a->status) {
		a->which = text;
		return;
	}
	a->command = state->next - 1;
	state->next = state->argc;
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *a = into;

	if (a->json && !a->status)
		argument_refuse(state, "--json goes with --status");
	if (!a->command && !a->status && !a->watch && !a->plugin)
		argument_refuse(state, "which command?");
	if (a->watch && a->command)
		argument_refuse(state, "HANGAR_OPTIONS: options alone, and no command");
	if (a->plugin && a->run.fault)
		argument_refuse(
			state,
			"--plugin: a plugin changes no call: --fault needs the preloaded library");
}

#define OF(kind, field) ARGUMENT(kind, struct arguments, field)
static const struct argument rows[] = {
	{ "on-hang", 0, "WHAT", ARGUMENT_OWN, .take = take_on_hang },
	{ "timeout", 0, "SECONDS", OF(REAL, run.timeout), .min = 1, .most = 1e6 },
	{ "on-verdict", 0, "COMMAND", OF(TEXT, run.on_verdict) },
	{ "out", 0, "DIR", ARGUMENT_OWN, .take = take_out },
	{ "fault", 0, "NAME:RANK@CALL[,comm=NAME][,size=N][,order=K][,kind=K][,value=V]",
	  ARGUMENT_OWN, .take = take_fault },
	{ "preflight", 0, NULL, OF(FLAG, preflight) },
	{ "rendezvous", 0, "HOST:PORT", ARGUMENT_OWN, .take = take_meeting_point },
	{ "slow-percent", 0, "PERCENT", OF(REAL, run.slow_percent), .min = 0.1, .most = 1000 },
	{ "wait", 0, NULL, OF(FLAG, wait) },
	{ "slow-seconds", 0, "SECONDS", OF(REAL, run.slow_seconds), .min = 0, .most = 1e6 },
	{ "fail-slow", 0, NULL, OF(FLAG, run.fail_slow) },
	{ "every", 0, "SECONDS", OF(REAL, run.meter.every), .min = 0.1, .most = 1e6 },
	{ "metrics", 0, "FILE", OF(OWN, run.meter.metrics), .take = take_file },
	{ "csv", 0, "FILE", OF(OWN, run.meter.csv), .take = take_file },
	{ "topo", 0, "SPEC|FILE.xml", ARGUMENT_OWN, .take = take_topo },
	{ "trace", 0, "FILE", OF(OWN, run.meter.trace), .take = take_file },
	{ "plugin", 0, NULL, OF(FLAG, plugin) },
	{ "status", 0, NULL, OF(FLAG, status) },
	{ "json", 0, NULL, OF(FLAG, json) },
	{ "quiet", 'q', NULL, OF(FLAG, run.quiet) },
	{ "watch", 0, "RUN", OF(TEXT, watch), .flags = OPTION_HIDDEN },
};

static const struct argument_table table = {
	.program = "hangar_run",
	.values = "[--] COMMAND [ARGUMENT...]\n--status [PID|DIR]\n--plugin",
	.rows = rows,
	.n = LENGTH(rows),
	.word = take_word,
	.check = check,
};

/* libhangar.so stands beside this program, and before whatever is preloaded already; or it is NCCL's plugin. */
static void set_library(bool plugin)
{
	char path[4096], value[2 * 4096];
	const char *others = getenv("LD_PRELOAD");

	if (!file_beside(path, sizeof(path), "libhangar.so"))
		return;
	if (access(path, R_OK) < 0) {
		fprintf(stderr, "hangar_run: %s is not there: nothing is recorded\n", path);
		return;
	}
	if (plugin) {
		setenv("NCCL_PROFILER_PLUGIN", path, 1);
		return;
	}
	snprintf(value, sizeof(value), "%s%s%s", path, others && *others ? ":" : "",
		 others ? others : "");
	setenv("LD_PRELOAD", value, 1);
	nccl_profiler_offer();
}

/* Prints the path for NCCL_PROFILER_PLUGIN, which was loaded as NCCL does. */
static int print_plugin(void)
{
	const char *why = "it has no ncclProfiler_v6";
	char path[4096];
	void *library;

	if (!file_beside(path, sizeof(path), "libhangar.so"))
		return OUTCOME_UNSUPPORTED;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		why = dlerror();
	else if (dlsym(library, "ncclProfiler_v6"))
		why = strlen(path) > PLUGIN_PATH ? "NCCL takes a path of 254 characters" : NULL;
	if (why) {
		fprintf(stderr, "hangar_run: --plugin: %s: %s\n", path, why);
		return OUTCOME_UNSUPPORTED;
	}
	puts(path);
	return 0;
}

/* With --out NCCL's own log stands in that folder: its rings belong to the evidence. The user's own settings stay. */
static void set_log(const char *out)
{
	char folder[PATH_MAX], file[PATH_MAX + 32];

	if (!out || getenv("NCCL_DEBUG") || getenv("NCCL_DEBUG_FILE") ||
	    getenv("NCCL_DEBUG_SUBSYS") || file_folders(out) < 0 || !realpath(out, folder))
		return;
	snprintf(file, sizeof(file), "%s/nccl-%%h-%%p.log", folder);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_DEBUG_SUBSYS", "INIT,GRAPH", 1);
	setenv("NCCL_DEBUG_FILE", file, 1);
}

/* The library obeys what names this run alone, and no environment that was left over. */
static void arm(const struct arguments *a)
{
	char value[512];

	unsetenv("HANGAR_FAULT");
	if (!a->run.fault)
		return;
	snprintf(value, sizeof(value), "%s %s", a->run.key, a->run.fault);
	setenv("HANGAR_FAULT", value, 1);
	fprintf(stderr, "hangar_run: armed: %s\n", a->run.fault);
}

/* Its lines go to standard error: standard output is the command's. */
static void look_before(const struct launch *launch)
{
	char path[4096];
	int status = 0;
	pid_t pid;

	if (!file_beside(path, sizeof(path), "preflight")) {
		fprintf(stderr, "hangar_run: --preflight: no program preflight beside this one\n");
		exit(OUTCOME_UNSUPPORTED);
	}
	pid = fork();
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(path, "preflight", "--no-calls", NULL);
		fprintf(stderr, "hangar_run: %s: %s\n", path, strerror(errno));
		_exit(OUTCOME_UNSUPPORTED);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid <= 0 || !WIFEXITED(status) ||
	    (WEXITSTATUS(status) != OUTCOME_ERROR && WEXITSTATUS(status) != OUTCOME_HANG &&
	     WEXITSTATUS(status) != OUTCOME_UNSUPPORTED)) {
		if (launch->rank == 0)
			fprintf(stderr, "hangar_run: --preflight: not looked at: %scalls%s\n",
				launch->launched ? "" : "other hosts, the network between them, ",
				launch->launched ? "" : "; mpirun or srun ./preflight does");
		return;
	}
	fprintf(stderr, "hangar_run: the command is not started: the lines above say why\n");
	exit(WEXITSTATUS(status));
}

/* A script's name is not enough for execvp. */
static void say_not_started(const char *name, int error)
{
	size_t n = strlen(name);
	const char *why =
		strchr(name, '/') || error != ENOENT ? strerror(error) : "not found in PATH";

	if (n > 3 && strcmp(name + n - 3, ".py") == 0)
		fprintf(stderr, "hangar_run: %s: %s; python3 %s?\n", name, why, name);
	else if (!strchr(name, '/') && access(name, X_OK) == 0)
		fprintf(stderr, "hangar_run: %s: %s; ./%s?\n", name, why, name);
	else
		fprintf(stderr, "hangar_run: %s: %s\n", name, why);
}

/* Returns once ranks can reach the monitor. */
static int watch_apart(struct arguments *a)
{
	snprintf(a->run.key, sizeof(a->run.key), "%s", a->watch);
	a->run.apart = true;
	a->run.argv = run_apart_command(&a->run.argc);
	return run_monitor_start(&a->run) == 0 ? 0 : OUTCOME_UNSUPPORTED;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.run = { .timeout = 120, .slow_percent = 5, .slow_seconds = 60, .wait_fd = -1 }
	};
	const char *folder = getenv("HANGAR_METRICS_DIR");
	struct launch launch;
	int rc = 0;

	a.run.meter.folder = folder && *folder ? folder : NULL;
	if (argc > 1 && strcmp(argv[1], "--watch") == 0)
		argv = run_apart_options(&argc, argv);
	arguments_read(&table, argc, argv, &a);
	if (a.status)
		return run_status_ask(a.which, a.json);
	if (a.watch)
		return watch_apart(&a);
	if (a.plugin && !a.command)
		return print_plugin();
	argv += a.command;
	a.run.argc = argc - a.command;
	a.run.argv = argv;
	launch_detect(&launch);
	if (a.preflight && !getenv(RUN_KEY))
		look_before(&launch);
	/* Slurm kills what the last task of a node leaves behind: the monitor, and a rank's death would look like its host's */
	if (a.wait || a.run.fail_slow || getenv("SLURM_JOB_ID"))
		rc = run_wait(&a.run.wait_fd);
	if (rc < 0)
		fprintf(stderr, "hangar_run: --wait: %s\n", strerror(-rc));
	if (!getenv(RUN_KEY)) { /* else one is there */
		run_key(a.run.key, sizeof(a.run.key), launch.launched ? launch.key : NULL);
		if (run_monitor_start(&a.run) == 0) {
			setenv(RUN_KEY, a.run.key, 1);
			set_library(a.plugin);
			set_log(a.run.out);
			arm(&a);
		}
	}
	execvp(argv[0], argv);
	say_not_started(argv[0], errno);
	return 127;
}
