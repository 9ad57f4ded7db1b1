/* perf_main.c: from a command line to supervisor and rank. This file composes all rooms. */
#include "perf_main.h"

#include <sys/statvfs.h>

#include "backend/backend.h"
#include "backend/mpi_half.h"
#include "base/clock.h"
#include "process/cgroup.h"
#include "report/sink.h"
#include "options/options_agree.h"
#include "options/options_launch.h"
#include "process/command.h"
#include "process/launch.h"
#include "process/leftovers.h"
#include "options/options.h"
#include "base/parse.h"
#include "process/supervisor.h"
#include "base/nccl_library.h"
#include "base/output.h"
#include "base/version.h"
#include "inject/inject.h"
#include "schedule/schedule.h"
#include "watch/monitor.h"
#include "record/recorder.h"
#include "perf_check.h"
#include "diagnoser/diagnoser.h"
#include "perf_rank.h"

#define ALONE_SECONDS	   3.0	/* mpirun ends the other ranks about 1 s after the first */
#define RANKS_UNASKED	   16	/* most ranks that a fault starts by default on any host */
#define INIT_APART_SECONDS 0.75 /* from a barrier to communicator init */
#define RANKS_PER_PLACE	   4	/* per GPU, or per core without one; -g allows more */

/* Rank 0 prints an error that every rank finds, and the launcher ends the others. A rank prints an
 * error that only it finds. */
static int fail(const struct error *err, const struct program *program)
{
	char name[128];

	snprintf(name, sizeof(name), "%.80s: rank %d", program->name, program->launch->rank);
	if (program->launch->rank > 0)
		clock_sleep(ALONE_SECONDS);
	error_print(err, program->launch->rank > 0 ? name : program->name);
	return (int)err->outcome;
}

int perf_count_gpus(const char *backend)
{
	bool any = strcmp(backend, "auto") == 0;

	const struct backend_ops *ops;

	for (size_t i = 0; (ops = backend_at(i)); i++)
		if (ops->flags & BACKEND_DEVICE && (any || strcmp(backend, ops->name) == 0))
			return launch_count(ops->devices);
	return 0;
}

static int list_faults(const struct options *options, struct error *err)
{
	bool any = strcmp(options->backend, "auto") == 0,
	     all = strcmp(options->list_faults, "all") == 0;
	const struct fault *only = fault_find(options->list_faults);
	int gpus = perf_count_gpus(options->backend);
	struct fault_machine machine;

	machine_look(&machine, NULL);
	machine_serve(&machine, !any ? options->backend : gpus > 0 ? "nccl" : "mpi", gpus);
	if (!all && !only && strcmp(options->list_faults, "list") != 0)
		return error_usage(err,
				   "--list-faults=%.40s: unknown fault; --list-faults lists all",
				   options->list_faults);
	for (size_t i = 0; all && fault_table[i]; i++)
		fault_list(stdout, &machine, fault_table[i]);
	if (!all)
		fault_list(stdout, &machine, only);
	return 0;
}

/* Handles --help, --version, --list-faults. 1: the program ends with that; 0; a negative errno. */
static int answer(const struct program *program, struct error *err)
{
	const struct option_target target = collective_target(program->collective);
	const struct options *o = program->options;
	int rc = 0;

	nccl_library_ask(o->nccl_lib);
	if (o->help || o->version || o->list_faults)
		output_guard(program->name);
	if (o->help)
		options_print_help(stdout, &target, program->name);
	else if (o->version)
		version_print(stdout, program->name);
	else if (o->list_faults)
		rc = list_faults(o, err);
	return rc < 0 ? rc : o->help || o->version || o->list_faults;
}

enum { SHM_A_RANK = 16 << 20 };

/* Docker's default of 64 MiB is enough for four ranks. Open MPI and NCCL fail in ways that do not name it. */
static void warn_of_room(const struct program *program)
{
	int ranks =
		program->launch->local > 0 ? program->launch->local : program->launch->announced;
	struct statvfs shm;

	if (program->launch->local_rank != 0 || statvfs("/dev/shm", &shm) < 0 ||
	    shm.f_blocks == 0 ||
	    (uint64_t)shm.f_blocks * shm.f_frsize >= (uint64_t)ranks * SHM_A_RANK)
		return;
	fprintf(stderr,
		"%s: /dev/shm has %.0f MiB for %d ranks, which may be too few; start the container "
		"with --ipc=host or "
		"--shm-size=1g\n",
		program->name, (double)shm.f_blocks * (double)shm.f_frsize / (1 << 20), ranks);
}

/* Open MPI's shared-memory files go to a folder of this run, which is removed after any kill. */
static int open_folder(const struct program *program, struct run_folder *folder, struct error *err)
{
	int rc = run_folder_open(folder, program->launch->key, err);

	warn_of_room(program);
	if (rc == 0)
		setenv("OMPI_MCA_btl_vader_backing_directory", folder->path, 0);
	return rc;
}

/* Parses --fault, except "none". Returns 0 or a negative errno with the error set. */
static int read_faults(struct program *program, struct injector *injector, struct error *err)
{
	const struct options *o = program->options;
	const char *texts[INJECT_MAX];
	int n = 0;

	for (int i = 0; i < o->nfaults; i++)
		if (strcmp(o->faults[i], "none") != 0)
			texts[n++] = o->faults[i];
	if (n == 0)
		return 0;
	program->injector = injector;
	return inject_init(injector, texts, n, err);
}

/* Starts faults that precede any library. They may re-execute this process. */
static int start_faults(const struct program *program, struct error *err)
{
	int rc = 0;

	if (program->injector)
		rc = inject_start(program->injector, program->launch->rank,
				  program->launch->announced, schedule_bytes(program->options, 0),
				  err);
	if (rc <= 0)
		return rc;
	execv("/proc/self/exe", program->argv);
	rc = -errno;
	return error_set(err, OUTCOME_INTERNAL, rc, "cannot start again: %s", strerror(-rc));
}

/* Refuses a fault that would need a huge number of ranks by default: a typing error. */
static int check_fault_ranks(int ranks, int devices, struct error *err)
{
	long places = devices > 0 ? devices : sysconf(_SC_NPROCESSORS_ONLN);

	if (ranks <= RANKS_UNASKED || ranks <= RANKS_PER_PLACE * places)
		return ranks;
	return error_set(
		err, OUTCOME_USAGE, -EINVAL,
		"--fault: rank %d is a culprit, and so %d ranks would start on %ld %s; ask for "
		"them with -g %d",
		ranks - 1, ranks, places, devices > 0 ? "GPUs" : "CPUs", ranks);
}

/* Returns the ranks of a bare start with faults: at least four, and all culprits, on one GPU if
 * necessary; 0: the fault does not decide; a negative errno with the error set. */
static int choose_fault_ranks(const struct program *program, struct options *options, int devices,
			      struct error *err)
{
	int ranks = 4;

	if (options->nfaults == 0 || options->gpus || options->threads)
		return 0;
	for (int i = 0; program->injector && i < program->injector->nspecs; i++)
		for (int j = 0; j < program->injector->specs[i].nranks; j++)
			if (program->injector->specs[i].ranks[j] >= ranks)
				ranks = program->injector->specs[i].ranks[j] + 1;
	options->gpus = ranks;
	options->share_gpu |= devices > 0 && devices < ranks;
	return check_fault_ranks(ranks, devices, err);
}

/* Reads variables for scripts that test hangar. */
static int read_environment(struct program *program, struct error *err)
{
	const char *factor = getenv("HANGAR_DEADLINE_FACTOR");

	program->deadline_factor = 1;
	if (factor && parse_real(factor, 1, 1000, &program->deadline_factor) < 0)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "HANGAR_DEADLINE_FACTOR=%.40s: must be a number from 1 to 1000",
				 factor);
	return 0;
}

/* Shared by rank and supervisor only. NULL without memory. */
static struct fault_record *make_fault_record(void)
{
	void *map = mmap(NULL, sizeof(struct fault_record), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

/* Determines the resources for this run's faults; a rank that may be limited has its own cgroup. */
static void equip(struct program *program, const struct run_folder *folder)
{
	struct fault_machine *machine = &program->machine;

	machine_look(machine, folder->path);
	if (!inject_needs(program->injector, NEED_CGROUP))
		return;
	if (cgroup_make(&program->cgroup, "rank", folder->path) == 0)
		machine->cgroup = program->cgroup.path;
	else
		machine->have &= ~(unsigned)NEED_CGROUP;
}

/* Returns the monitor's deadlines and names for this run, without a client. */
static struct monitor_config monitor_settings(const struct program *program)
{
	const struct options *o = program->options;

	return (struct monitor_config){
		.key = program->launch->key,
		.expect = o->expect,
		.slow_percent = o->slow_percent,
		.slow_seconds = 1, /* a size of a sweep may be over in less */
		.fail_slow = o->fail_slow ||
			     (o->expect && strncmp(o->expect, "slow-rank", 9) == 0),
		.decide = {
			.deadlines = o->watch,
			/* an explicit -T is exact; without records no cause can be found */
			.extensions = o->timeout == 0 && o->record != RECORD_OFF,
			.silent_seconds = o->silent,
			.partition_seconds = o->partition * program->deadline_factor,
			.init_seconds = o->timeout ? 0 : INIT_APART_SECONDS * program->deadline_factor,
		},
	};
}

/* Describes the run in its evidence: the command without faults, and the options. */
static void describe(void *arg, struct evidence *evidence)
{
	const struct program *program = arg;
	const char *schedule = program_schedule(program);
	char command[COMMAND_MAX];
	int n = snprintf(evidence->options, sizeof(evidence->options), "schedule %.40s",
			 schedule ? schedule : "plain");

	command_join(command, sizeof(command), program->argc, (const char *const *)program->argv);
	evidence_blind_command(command, evidence->command, sizeof(evidence->command));
	options_agree_text(program->options, program->collective->irregular, evidence->options + n,
			   sizeof(evidence->options) - (size_t)n);
}

/* The command with its fault, as struct diagnoser_site wants it. */
static void again(void *arg, char *command, size_t len, int nranks)
{
	const struct program *p = arg;
	char parent[32];

	snprintf(parent, sizeof(parent), "/proc/%d/cmdline", (int)p->launcher);
	command_again(command, len, p->launch, nranks, p->argc, (const char *const *)p->argv,
		      parent);
}

static int supervise(struct program *program, struct error *err)
{
	struct diagnoser diagnoser = {
		.site = {
			.arg = program,
			.name = program->name,
			.key = program->launch->key,
			.root = program->options->out,
			.gpus = !backend_lacks(program->options->backend, BACKEND_DEVICE),
			.describe = describe,
			.again = again,
		},
	};
	struct monitor_config config = monitor_settings(program);
	char own_cgroup[CGROUP_PATH];
	struct supervisor_hooks hooks;
	struct fired_watch fired;
	struct run_folder folder;
	struct monitor monitor;
	int memory_fd, code = 1;

	config.client = diagnoser_client(&diagnoser);
	config.client.printed = program->hooks.printed;
	config.watch = diagnoser_watch;
	config.watch_arg = &diagnoser;
	program->launcher = getppid();
	if (open_folder(program, &folder, err) < 0)
		return fail(err, program);
	program->folder = folder.path;
	if (run_folder_ended(program->launch->key, &code))
		goto out_folder; /* this process is late */
	if (recorder_create(program->name, &program->memory, &memory_fd, err) < 0)
		goto out_folder;
	program->memory->header.run =
		record_hash_id(program->launch->key, strlen(program->launch->key)) | 1;
	if (program->injector) {
		program->fault_record = make_fault_record();
		equip(program, &folder);
	}
	/* the launcher's numbers until MPI's are known: a death in MPI_Init has a rank */
	if (program->launch->announced > 0) {
		atomic_store(&program->memory->header.nranks, program->launch->announced);
		atomic_store(&program->memory->header.rank, program->launch->rank);
	}
	if (program->launch->local > 0)
		atomic_store(&program->memory->header.local_rank, program->launch->local_rank);
	if (monitor_open(&monitor, &config, program->memory, memory_fd, err) < 0)
		goto out_memory;
	hooks = monitor_hooks(&monitor);
	if (program->cgroup.path[0])
		hooks.cgroup = program->cgroup.path;
	else if (cgroup_of(getpid(), own_cgroup, sizeof(own_cgroup)) == 0)
		hooks.cgroup = own_cgroup;
	fired_wrap(&fired, &hooks, program);
	closing_open(program, &hooks);
	code = fired_exit_code(program, supervisor_run(&hooks, perf_rank, program, err));
	monitor_close(&monitor);
out_memory:
	cgroup_remove(&program->cgroup);
	if (program->fault_record)
		munmap(program->fault_record, sizeof(*program->fault_record));
	munmap(program->memory, sizeof(*program->memory));
	close(memory_fd);
out_folder:
	run_folder_release(&folder);
	return err->code ? fail(err, program) : code;
}

/* Adds the chosen -g and --share-gpu to the command line, which ranks parse and evidence stores. */
static char **add_choice(char **argv, int argc, bool counted, bool shared, int ranks)
{
	static char number[16], share[] = "--share-gpu", count[] = "-g";
	char **words = must(calloc((size_t)argc + 4, sizeof(*words)));
	int n = 0;

	words[n++] = argv[0];
	if (!counted) {
		snprintf(number, sizeof(number), "%d", ranks);
		words[n++] = count;
		words[n++] = number;
	}
	if (shared)
		words[n++] = share;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	return words;
}

static int say_lost(const void *arg, enum launch_lost lost, double seconds)
{
	static const enum view_lost kinds[] = { LOST_HELD, LOST_MONITOR, LOST_LAUNCHER };
	const char *expect = ((const struct program *)arg)->options->expect;
	struct answer verdict;

	answer_of_lost(&verdict, kinds[lost]);
	verdict.detect_ms = round(seconds * 1e3);
	answer_print(stdout, &verdict);
	answer_print_expected(stdout, &verdict, expect);
	return answer_exit_code(&verdict, expect);
}

int perf_start(const char *backend, int devices, int ranks, char **argv,
	       const struct launch_guard *guard, struct error *err)
{
	bool any = strcmp(backend, "auto") == 0;
	const char *start = getenv("HANGAR_START");

	if (start && strcmp(start, "0") == 0)
		return OUTCOME_OK;
	if (any ? devices > 0 : backend_lacks(backend, BACKEND_MPI))
		return launch_ranks(ranks, argv, guard, err);
	return mpi_half(NULL) ? launch_self(ranks, argv, guard, err)
			      : backend_missing(backend, err);
}

static int start_bare(const struct program *program, struct options *options, struct error *err)
{
	bool counted = options->gpus || options->threads, shared = options->share_gpu;
	int devices = perf_count_gpus(options->backend), code;
	int chosen = choose_fault_ranks(program, options, devices, err);
	int ranks = chosen < 0 ? chosen : options_launch_ranks(options, devices, err);
	const struct launch_guard guard = { options->watch
						    ? options->partition * program->deadline_factor
						    : 0,
					    say_lost, program };
	char **words;

	if (ranks < 0 || check_start(program, ranks, err) < 0)
		return fail(err, program);
	if (chosen)
		fprintf(stderr, "hangar: %d ranks because of --fault\n", ranks);
	warn_unwatched(program);
	words = add_choice(program->argv, program->argc, counted, options->share_gpu && !shared,
			   ranks);
	code = perf_start(options->backend, devices, ranks, words, &guard, err);
	free(words);
	if (code == OUTCOME_OK)
		output_room(err); /* mpirun ignores its own failed writes */
	return err->code ? fail(err, program) : code;
}

int perf_main_hooked(const struct collective *collective, const struct perf_hooks *hooks, int argc,
		     char **argv)
{
	struct options options;
	struct launch launch;
	struct error err = { .rank = -1 };
	struct program program = {
		.name = basename(argc > 0 ? argv[0] : "hangar"),
		.collective = collective,
		.options = &options,
		.launch = &launch,
		.argc = argc,
		.argv = argv,
		.hooks = *hooks,
	};
	const struct option_target target = collective_target(collective);
	struct injector injector;
	int rc;

	output_keep();
	launch_detect(&launch);
	launch_begin(&launch);
	if (options_parse(&options, &target, argc, argv, &err) < 0)
		return fail(&err, &program);
	rc = answer(&program, &err);
	if (rc != 0)
		return rc < 0 ? fail(&err, &program) : OUTCOME_OK;
	if (check_expect(&options, &err) < 0 || read_environment(&program, &err) < 0 ||
	    read_faults(&program, &injector, &err) < 0)
		return fail(&err, &program);
	if (options_launch_check(&launch, &options, argv[0], &err) < 0)
		return fail(&err, &program);
	if (launch.numbered && backend_has(options.backend, BACKEND_MPI)) {
		backend_unmet(options.backend, launch.announced, &err);
		return fail(&err, &program);
	}
	if (!launch.launched)
		return start_bare(&program, &options, &err);
	if (start_faults(&program, &err) < 0)
		return fail(&err, &program);
	warn_unwatched(&program);
	return supervise(&program, &err);
}

int perf_main(const struct collective *collective, int argc, char **argv)
{
	return perf_main_hooked(collective, &(struct perf_hooks){ .fired = NULL }, argc, argv);
}
