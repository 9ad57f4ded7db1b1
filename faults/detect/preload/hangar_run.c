/* hangar_run.c: start any NCCL program with libhangar.so and a monitor beside it. This process
 * becomes the program: exit code, signals and output are the program's own. */
#include <argp.h>
#include <libgen.h>
#include <sys/stat.h>

#include "base/error.h"
#include "profiler/nccl_profiler.h"
#include "base/parse.h"
#include "preload/fault_spec.h"
#include "preload/run_monitor.h"
#include "preload/run_status.h"
#include "process/launch.h"

struct arguments {
	struct run_settings run;
	int command;	   /* where it begins in argv, 0: nowhere */
	bool status;	   /* asks how runs are, and starts none */
	const char *which; /* run, NULL: all */
};

enum { KEY_ON_HANG = 256, KEY_TIMEOUT, KEY_OUT, KEY_FAULT, KEY_STATUS, KEY_RENDEZVOUS };

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ "on-hang", KEY_ON_HANG, "WHAT", 0,
	  "When there is a verdict: report it and leave the job alone, abort its ranks (SIGABRT), "
	  "or kill them "
	  "[report]",
	  0 },
	{ "timeout", KEY_TIMEOUT, "SECONDS", 0,
	  "A wait for what may yet come is a hang after this time; what no waiting cures is said "
	  "at once [120]",
	  0 },
	{ "out", KEY_OUT, "DIR", 0, "Folder for the evidence [results/runs/DATE-COMMAND-RUN]", 0 },
	{ "fault", KEY_FAULT, "NAME:RANK@CALL[,comm=NAME][,size=N][,order=K][,kind=K][,value=V]", 0,
	  "Have one rank do one thing wrong in one call, counted from 1 on its communicator (of "
	  "kind K, "
	  "of those of this NCCL name, of so many ranks, or the rank's Kth from 0)",
	  0 },
	{ "rendezvous", KEY_RENDEZVOUS, "HOST:PORT", 0,
	  "Of several hosts: where their monitors meet, a free port of rank 0's host "
	  "[MASTER_ADDR:MASTER_PORT+1, as the ranks have them]",
	  0 },
	{ "status", KEY_STATUS, NULL, 0,
	  "Say how a run is that hangar_run watches on this host: who has come to which call, who "
	  "waits for "
	  "whom and where, what moves. PID: of any process of it; DIR: its --out; none: all runs. "
	  "SIGUSR1 to its monitor (pkill -USR1 -x hangar_run; not $!, which is COMMAND) says it "
	  "there",
	  0 },
	{ "quiet", 'q', NULL, 0, "Say nothing but a verdict", 0 },
	{ 0 },
};

static int parse_on_hang(const char *text)
{
	static const char *const words[] = {
		[ON_HANG_REPORT] = "report", [ON_HANG_ABORT] = "abort", [ON_HANG_KILL] = "kill"
	};

	for (int i = 0; i < (int)(sizeof(words) / sizeof(words[0])); i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return -EINVAL;
}

/* Checks at the start that evidence can be written to that folder, which need not exist yet. It
 * makes a trial folder, since access() is wrong for root in /proc. 0 or a negative errno. */
static int try_folder(const char *out)
{
	char path[PATH_MAX + 32], copy[PATH_MAX];
	struct stat st;

	if (strlen(out) >= sizeof(copy))
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%s/.hangar-XXXXXX",
		 lstat(out, &st) == 0 ? out : dirname(strcpy(copy, out)));
	return mkdtemp(path) && rmdir(path) == 0 ? 0 : -errno;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct fault_spec spec;
	const char *wrong;
	int rc, port;

	switch (key) {
	case KEY_ON_HANG:
		rc = parse_on_hang(arg);
		if (rc < 0)
			argp_error(state, "--on-hang=%s: report, abort or kill", arg);
		a->run.on_hang = (enum on_hang)rc;
		return 0;
	case KEY_TIMEOUT:
		if (parse_real(arg, 1, 1e6, &a->run.timeout) < 0)
			argp_error(state, "--timeout=%s: seconds, from 1 to 1000000", arg);
		return 0;
	case KEY_OUT:
		rc = *arg ? try_folder(arg) : 0;
		if (rc < 0)
			argp_error(state, "--out=%s: %s", arg, strerror(-rc));
		a->run.out = arg;
		return 0;
	case KEY_FAULT:
		wrong = fault_spec_parse(&spec, arg);
		if (wrong)
			argp_error(state, "--fault=%s: %s (there are: %s)", arg, wrong,
				   fault_spec_names());
		a->run.fault = arg;
		return 0;
	case 'q':
		a->run.quiet = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_RENDEZVOUS:
		port = strrchr(arg, ':') ? atoi(strrchr(arg, ':') + 1) : 0;
		if (port < 1 || port > 65535 || arg[0] == ':')
			argp_error(state, "--rendezvous=%s: a host and a port, HOST:PORT", arg);
		a->run.rendezvous = arg;
		return 0;
	case KEY_STATUS:
		a->status = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->status && a->which)
			argp_error(state, "--status takes one process or folder");
		if (a->status) {
			a->which = arg;
			return 0;
		}
		a->command = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_END:
		if (!a->command && !a->status)
			argp_error(state, "which command?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] COMMAND [ARGUMENT...]\n--status [PID|DIR]",
	.doc = "Run COMMAND with every NCCL call of it and its children recorded, and name what a "
	       "hang of it "
	       "comes from: on standard error, with evidence in a folder that hang_diagnose reads. "
	       "The exit "
	       "code is COMMAND's.\v"
	       "COMMAND may be torchrun, mpirun (also: mpirun hangar_run PROGRAM), or any program "
	       "that uses "
	       "libnccl.so.2. 2: usage; 127: COMMAND cannot be started.",
};

/* libhangar.so stands beside this program, and before whatever is preloaded already. */
static void set_preload(void)
{
	char path[4096], value[2 * 4096];
	const char *others = getenv("LD_PRELOAD");
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	if (n < 0)
		return;
	path[n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash + 1, 32, "libhangar.so");
	if (access(path, R_OK) < 0) {
		fprintf(stderr, "hangar_run: %s is not there: nothing is recorded\n", path);
		return;
	}
	snprintf(value, sizeof(value), "%s%s%s", path, others && *others ? ":" : "",
		 others ? others : "");
	setenv("LD_PRELOAD", value, 1);
	nccl_profiler_offer();
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

int main(int argc, char **argv)
{
	struct arguments a = { .run = { .timeout = 120 } };
	struct launch launch;

	argp_err_exit_status = OUTCOME_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	if (a.status)
		return run_status_ask(a.which);
	argv += a.command;
	a.run.argc = argc - a.command;
	a.run.argv = argv;
	if (!getenv(RUN_KEY)) { /* else one is there */
		launch_detect(&launch);
		run_key(a.run.key, sizeof(a.run.key), launch.launched ? launch.key : NULL);
		if (run_monitor_start(&a.run) == 0) {
			setenv(RUN_KEY, a.run.key, 1);
			set_preload();
			arm(&a);
		}
	}
	execvp(argv[0], argv);
	fprintf(stderr, "hangar_run: %s: %s\n", argv[0], strerror(errno));
	return 127;
}
