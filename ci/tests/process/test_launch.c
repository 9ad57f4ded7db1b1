/* test_launch.c: launchers' variables, the effect of -g, and a bare start with a fake mpirun. */
#include "rig/unit.h"

#include <sched.h>

#include "base/clock.h"
#include "options/options_launch.h"
#include "options/options_launch.h"
#include "process/launch.h"

static struct error err;

/* As in a plain shell. */
static void clean_environment(void)
{
	static const char *const prefixes[] = { "OMPI_",       "PMIX_",	  "PMI_",	  "MPI_",
						"SLURM_",      "HANGAR_", "MASTER_",	  "RANK=",
						"WORLD_SIZE=", "LOCAL_",  "TORCHELASTIC_" };

	char name[256];

	for (char **e = environ; *e;) {
		bool ours = false;

		for (size_t i = 0; i < LENGTH(prefixes); i++)
			ours |= strncmp(*e, prefixes[i], strlen(prefixes[i])) == 0;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		if (!ours || unsetenv(name) < 0)
			e++; /* the next entry moves to this place */
	}
	err = (struct error){ .rank = -1 };
}

/* "NAME=VALUE NAME=VALUE" */
static struct launch detect(const char *variables)
{
	struct launch launch;
	char buf[256], *rest = buf, *name;

	clean_environment();
	snprintf(buf, sizeof(buf), "%s", variables);
	while ((name = strsep(&rest, " "))) {
		char *value = strchr(name, '=');

		if (!value)
			continue;
		*value++ = '\0';
		setenv(name, value, 1);
	}
	launch_detect(&launch);
	return launch;
}

UNIT_TEST(test_detect, "launchers")
{
	static const struct {
		const char *variables;
		bool launched;
		int announced, rank;
	} cases[] = {
		{ "", false, 0, 0 },
		{ "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=3", true, 8, 3 },
		{ "PMI_SIZE=4 PMI_RANK=2", true, 4, 2 },
		{ "PMIX_NAMESPACE=prte.1 PMIX_RANK=5", true, 0, 5 },
		{ "MPI_LOCALNRANKS=2", true, 2, 0 },
		/* sbatch's script and salloc's shell are no launchers; srun is */
		{ "SLURM_JOB_ID=77 SLURM_NTASKS=16 SLURM_PROCID=0", false, 0, 0 },
		{ "SLURM_JOB_ID=77 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=16 SLURM_NTASKS=99 "
		  "SLURM_PROCID=9",
		  true, 16, 9 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=16", true, 16, 0 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 PMIX_NAMESPACE=slurm.pmix.77.0 PMIX_RANK=1", true,
		  2, 1 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 PMI_SIZE=2 PMI_RANK=1 SLURM_PROCID=1", true, 2,
		  1 },
		/* srun --pty bash, or a task alone */
		{ "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0", false, 0, 0 },
		{ "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 PMIX_NAMESPACE=slurm.pmix.77.0", true, 1,
		  0 },
		/* mpirun inside an srun step: the inner one counts */
		{ "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 OMPI_COMM_WORLD_SIZE=8 "
		  "OMPI_COMM_WORLD_RANK=7 "
		  "SLURM_PROCID=0",
		  true, 8, 7 },
		/* nonsense announces nothing */
		{ "OMPI_COMM_WORLD_SIZE=", false, 0, 0 },
		{ "OMPI_COMM_WORLD_SIZE=many", false, 0, 0 },
		{ "OMPI_COMM_WORLD_SIZE=-3", false, 0, 0 },
		{ "OMPI_COMM_WORLD_SIZE=99999999999999999999", false, 0, 0 },
	};

	UNIT_ROWS(c, cases) {
		struct launch launch = detect(c->variables);

		UNIT_ALL(launch.launched == c->launched, launch.announced == c->announced,
			 launch.rank == c->rank, !launch.own,
			 strlen(launch.key) > 0 && strlen(launch.key) < sizeof(launch.key));
	}
	clean_environment();
}

UNIT_TEST(test_numbered, "ranks that MPI does not know")
{
	static const struct {
		const char *variables;
		bool numbered;
		int rank, announced, local, local_rank;
	} cases[] = {
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_PROCID=1", true, 1, 2, 0, 0 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 SLURM_STEP_NUM_NODES=1 SLURM_LOCALID=1", true, 0,
		  2, 2, 1 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=1", false, 0, 0, 0, 0 },
		{ "SLURM_NTASKS=2", false, 0, 0, 0, 0 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 PMIX_NAMESPACE=slurm.pmix.77.0", false, 0, 2, 0,
		  0 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 PMI_SIZE=2", false, 0, 2, 0, 0 },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=2 OMPI_COMM_WORLD_SIZE=8", false, 0, 8, 0, 0 },
		{ "RANK=3 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2", true, 3, 8, 2, 1 },
		/* a pod's variables, of one process; half of them; nonsense */
		{ "RANK=0 WORLD_SIZE=1", false, 0, 0, 0, 0 },
		{ "RANK=0 WORLD_SIZE=1 HANGAR_RUN_KEY=k", true, 0, 1, 0,
		  0 }, /* a start of one rank by hangar itself */
		{ "WORLD_SIZE=4", false, 0, 0, 0, 0 },
		{ "RANK=x WORLD_SIZE=4", false, 0, 0, 0, 0 },
		/* mpirun in such a pod; and torchrun, which srun or mpirun has started */
		{ "RANK=0 WORLD_SIZE=2 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_RANK=5", false, 5, 8,
		  0, 0 },
		{ "RANK=9 WORLD_SIZE=16 TORCHELASTIC_RUN_ID=a PMIX_NAMESPACE=b PMIX_RANK=1", true,
		  9, 16, 0, 0 },
		{ "RANK=9 WORLD_SIZE=16 SLURM_STEP_ID=0 SLURM_NTASKS=2", true, 9, 16, 0, 0 },
	};

	UNIT_ROWS(c, cases) {
		struct launch launch = detect(c->variables);

		UNIT_ALL(launch.numbered == c->numbered, launch.rank == c->rank,
			 launch.announced == c->announced, launch.local == c->local,
			 launch.local_rank == c->local_rank);
	}
	clean_environment();
}

/* The ranks of a run have one key, whatever each calls rank 0's host; another token is another run. */
UNIT_TEST(test_numbered_key, "their run's key")
{
	static const char *const same[] = {
		"RANK=0 WORLD_SIZE=2 MASTER_PORT=1 MASTER_ADDR=localhost",
		"RANK=1 WORLD_SIZE=2 MASTER_PORT=1 MASTER_ADDR=pod-0",
	};
	static const char *const others[] = {
		"RANK=0 WORLD_SIZE=2 MASTER_PORT=2",
		"RANK=0 WORLD_SIZE=3 MASTER_PORT=1",
		"RANK=0 WORLD_SIZE=2 MASTER_PORT=1 HANGAR_TOKEN=secret",
		"RANK=0 WORLD_SIZE=2 MASTER_PORT=1 TORCHELASTIC_RESTART_COUNT=1",
		"RANK=0 WORLD_SIZE=2 MASTER_PORT=1 HANGAR_RENDEZVOUS=pod-0:7",
	};
	struct launch first = detect(same[0]), second = detect(same[1]);

	CU_ASSERT_STRING_EQUAL(first.key, second.key);
	for (size_t i = 0; i < LENGTH(others); i++) {
		struct launch other = detect(others[i]);

		CU_ASSERT_STRING_NOT_EQUAL(first.key, other.key);
	}
	clean_environment();
}

UNIT_TEST(test_key, "the run's key")
{
	static const char *const variables[][2] = { { "PMIX_NAMESPACE", "prte.1" },
						    { "PMI_JOBID", "7" },
						    { "SLURM_JOB_ID", "77" },
						    { "SLURM_STEP_ID", "1" } };
	struct launch launch, other;
	char bare[33];

	launch = detect("");
	snprintf(bare, sizeof(bare), "%s", launch.key);
	for (size_t i = 0; i < 4; i++) {
		clean_environment();
		setenv(variables[i][0], variables[i][1], 1);
		launch_detect(&launch);
		launch_detect(&other);
		UNIT_ALL(!strcmp(launch.key, other.key), strcmp(launch.key, bare) != 0);
		setenv("OMPI_COMM_WORLD_RANK", "3", 1); /* ranks of one run have one key */
		launch_detect(&other);
		CU_ASSERT_STRING_EQUAL(launch.key, other.key);
		setenv(variables[i][0], "8", 1);
		launch_detect(&other);
		CU_ASSERT_STRING_NOT_EQUAL(launch.key, other.key);
	}
	/* mpirun in a batch script: its own node, and one that its daemon came to by srun */
	launch = detect("SLURM_JOB_ID=80 PMIX_NAMESPACE=9 OMPI_MCA_orte_hnp_uri=8.0;tcp://a:1");
	other = detect("SLURM_JOB_ID=80 PMIX_NAMESPACE=9 OMPI_MCA_orte_hnp_uri=8.0;tcp://a:1 "
		       "SLURM_STEP_ID=1 PMI_JOBID=80.1");
	CU_ASSERT_STRING_EQUAL(launch.key, other.key);
	clean_environment();
	setenv("HANGAR_RUN_KEY", "0123456789abcdef", 1);
	launch_detect(&launch);
	UNIT_ALL(!strcmp(launch.key, "0123456789abcdef"), launch.own);
	setenv("HANGAR_RUN_KEY", "0123456789012345678901234567890123456789", 1);
	launch_detect(&launch);
	CU_ASSERT_EQUAL(strlen(launch.key), 32);
	clean_environment();
}

UNIT_TEST(test_check, "-g and -t under a launcher")
{
	static const struct {
		bool launched, own;
		int announced, gpus, threads, rc;
		const char *part;
	} cases[] = {
		{ false, false, 0, 8, 0, 0, NULL },
		{ true, true, 8, 8, 0, 0, NULL },
		{ true, false, 8, 0, 0, 0, NULL },
		{ true, false, 8, 1, 1, 0, NULL },
		{ true, false, 4, 2, 0, -EINVAL, "-g 2 under a launcher" },
		{ true, false, 4, 2, 0, -EINVAL, "mpirun -np 8 ./prog" },
		{ true, false, 4, 2, 3, -EINVAL, "mpirun -np 24 ./prog" },
		{ true, false, 4, 0, 3, -EINVAL, "-t 3 under a launcher" },
		{ true, false, 0, 3, 0, -EINVAL, "mpirun -np 3 ./prog" },
	};

	UNIT_ROWS(c, cases) {
		const struct launch launch = { .launched = c->launched,
					       .own = c->own,
					       .announced = c->announced };
		const struct options options = { .gpus = c->gpus, .threads = c->threads };

		err = (struct error){ .rank = -1 };
		CU_ASSERT_EQUAL(options_launch_check(&launch, &options, "./prog", &err), c->rc);
		CU_ASSERT_EQUAL(err.outcome, c->rc ? OUTCOME_USAGE : OUTCOME_OK);
		if (c->part)
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, c->part));
	}
}

UNIT_TEST(test_ranks, "ranks of a bare start")
{
	static const struct {
		int gpus, threads, devices, ranks;
	} cases[] = { { 1, 0, 0, 1 }, { 3, 0, 0, 3 }, { 0, 5, 0, 5 },	   { 3, 2, 0, 6 },
		      { 0, 0, 8, 8 }, { 3, 0, 8, 3 }, { 9, 0, 8, -EINVAL } };

	UNIT_ROWS(c, cases) {
		const struct options options = { .gpus = c->gpus, .threads = c->threads };

		CU_ASSERT_EQUAL(options_launch_ranks(&options, c->devices, &err), c->ranks);
	}
}

/* A bare start without a GPU: one rank per usable core, from 2 to 8. */
UNIT_TEST(test_ranks_of_cores, "ranks and cores")
{
	const struct options options = { 0 };
	int cores = launch_cores(), ranks = cores < 2 ? 2 : cores > 8 ? 8 : cores;
	cpu_set_t all, one;

	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(all), &all), 0);
	UNIT_ALL(cores == CPU_COUNT(&all), options_launch_ranks(&options, 0, &err) == ranks);
	CPU_ZERO(&one);
	for (size_t i = 0; CPU_COUNT(&one) == 0; i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	CU_ASSERT_EQUAL_FATAL(sched_setaffinity(0, sizeof(one), &one), 0);
	UNIT_ALL(launch_cores() == 1, options_launch_ranks(&options, 0, &err) == 2);
	sched_setaffinity(0, sizeof(all), &all);
}

UNIT_TEST(test_progress, "progress")
{
	clean_environment();
	setenv("HANGAR_PROGRESS", "1", 1);
	CU_ASSERT_EQUAL(launch_progress(), PROGRESS_ALONE);
	setenv("HANGAR_PROGRESS", "0", 1);
	CU_ASSERT_EQUAL(launch_progress(), PROGRESS_NONE);
	clean_environment();
	CU_ASSERT_EQUAL(launch_progress() != PROGRESS_NONE, isatty(STDERR_FILENO) == 1);
}

static char folder[UNIT_TEMP];

static const char *in_folder(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* A fake mpirun that runs FIRST, notes its arguments, and runs DO. A rank has begun unless STARTS is "no"; JOINS: and has
 * joined the run. */
UNIT_TEST(test_mpirun, "a pretended mpirun")
{
	static const char script[] =
		"#!/bin/sh\n"
		"printf '%s\\n' \"$@\" >\"$NOTES.arguments\"\n"
		"env >\"$NOTES.environment\"\n"
		"for f in /dev/shm/hangar-*-$HANGAR_RUN_KEY; do [ -d \"$f\" ] && echo \"$f\"; done "
		">\"$NOTES.folder\"\n"
		"f=$(cat \"$NOTES.folder\")\n"
		"[ \"$STARTS\" = no ] || : >\"$f/begun\"\n"
		"eval \"$FIRST\"\n"
		"mv \"$NOTES.folder\" \"$NOTES.ready\"\n"
		"eval \"$DO\"\n";

	UNIT_ALL(unit_put(folder, "mpirun", script, strlen(script)) == 0,
		 chmod(in_folder("mpirun"), 0700) == 0);
}

/* Five seconds that a trap can interrupt. */
#define SLEEP "n=0; while [ $n -lt 500 ]; do sleep 0.01; n=$((n + 1)); done"

static int say_lost(const void *arg, enum launch_lost lost, double seconds)
{
	FILE *f = fopen(in_folder(arg), "a");

	fprintf(f, "%s%.0f s\n", ((const char *const[]){ "", "supervisors ", "mpirun " })[lost],
		seconds);
	fclose(f);
	return lost ? OUTCOME_DIED : OUTCOME_HANG;
}

static const struct launch_guard guard = { 2, say_lost, "held" };

static bool to_file;		   /* standard output */
static const char *starts = "yes"; /* or "no" */
#define JOINS ": >$f/joined"

static pid_t start(const char *first, const char *what, bool ignore_children)
{
	char *argv[] = { (char *)"./prog", (char *)"-b", (char *)"two words", (char *)"--", NULL };
	char path[UNIT_PATH];
	pid_t pid;
	int fd;

	unlink(in_folder("notes.ready"));
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	clean_environment();
	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_NTASKS", "1000", 1);
	setenv("FIRST", first, 1);
	setenv("DO", what, 1);
	setenv("STARTS", starts, 1);
	setenv("NOTES", in_folder("notes"), 1);
	snprintf(path, sizeof(path), "%s:/bin:/usr/bin", folder);
	setenv("PATH", path, 1);
	fd = open(in_folder("stderr"), O_CREAT | O_TRUNC | O_WRONLY, 0600);
	dup2(fd, STDERR_FILENO);
	if (to_file)
		dup2(open(in_folder("stdout"), O_CREAT | O_APPEND | O_WRONLY, 0600), STDOUT_FILENO);
	if (ignore_children)
		signal(SIGCHLD, SIG_IGN);
	_exit(launch_self(3, argv, &guard, &err));
}

static const char *contents(const char *name)
{
	return unit_text(in_folder(name));
}

static void wait_for(const char *name)
{
	double give_up = unit_until(2);

	while (access(in_folder(name), F_OK) < 0 && clock_seconds() < give_up)
		clock_sleep(0.002);
	CU_ASSERT_EQUAL(access(in_folder(name), F_OK), 0);
}

UNIT_TEST(test_command, "the command")
{
	const char *text;
	char shm[128];
	struct stat st;

	CU_ASSERT_EQUAL(unit_ended(start("", "exit 7", false), 3), 7);
	text = contents("notes.arguments");
	CU_ASSERT_EQUAL(strncmp(text, "-np\n3\n", 6), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n./prog\n-b\ntwo words\n--\n"));
	CU_ASSERT_STRING_EQUAL(strstr(text, "\n./prog\n"), "\n./prog\n-b\ntwo words\n--\n");
	CU_ASSERT_EQUAL(strstr(text, "\n--allow-run-as-root\n") != NULL, geteuid() == 0);
	text = contents("notes.environment");
	UNIT_ALL(strstr(text, "SLURM_") == NULL, strstr(text, "HANGAR_PROGRESS=0\n") != NULL,
		 strstr(text, "HANGAR_RUN_KEY=") != NULL,
		 strstr(contents("stderr"), "running: mpirun -np 3 ") != NULL);
	/* the run's folder existed and is gone */
	snprintf(shm, sizeof(shm), "%s", contents("notes.ready"));
	shm[strcspn(shm, "\n")] = '\0';
	UNIT_ALL(strncmp(shm, "/dev/shm/hangar-", 16) == 0, stat(shm, &st) < 0);
	/* of Open MPI 4 and 5 */
	text = contents("notes.environment");
	UNIT_ALL(strstr(text, "OMPI_MCA_orte_execute_quiet=1\n") != NULL,
		 strstr(text, "PRTE_MCA_prte_execute_quiet=1\n") != NULL,
		 strstr(text, shm) != NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("stderr"), shm));
}

UNIT_TEST(test_codes, "exit codes")
{
	static const char *const supervisor = "folder=$(cat $NOTES.ready); flock -s $folder sh -c "
					      "\"sleep 1; printf '11\\n# verdict: later' "
					      ">$folder/exit\" & sleep 0.2; kill -9 $$";

	to_file = true;
	UNIT_ALL(unit_ended(start(JOINS, supervisor, false), 5) == 11,
		 strstr(contents("stdout"), "# verdict: later") != NULL);
	to_file = false;
	/* a supervisor that was killed; a run that was ended; an mpirun that crashes in its own end, or instead of one */
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "exit 137", false), 3), OUTCOME_DIED);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "exit 143", false), 3), 143);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "echo -2 >$(cat $NOTES.ready)/exit; kill -SEGV $$",
					 false),
				   3),
			0);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "kill -SEGV $$", false), 3), OUTCOME_DIED);
	CU_ASSERT_EQUAL(
		unit_ended(start(JOINS, "echo -2 >$(cat $NOTES.ready)/exit; exit 137", false), 3),
		137);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("held"), "supervisors 0 s\n"));
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "exit 0", false), 3), 0);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "kill -9 $$", false), 3), OUTCOME_DIED);
	/* the verdict's stands, whatever mpirun makes of the ranks' ends */
	CU_ASSERT_EQUAL(
		unit_ended(start(JOINS, "echo 14 >$(cat $NOTES.ready)/exit; kill -9 $$", false), 3),
		14);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "echo 0 >$(cat $NOTES.ready)/exit; exit 1", false),
				   3),
			0);
	CU_ASSERT_EQUAL(unit_ended(start(JOINS, "exit 14", true), 3),
			14); /* the parent ignores SIGCHLD */
}

/* No verdict where no rank has joined. Where none has begun mpirun is quiet the first time alone. */
UNIT_TEST(test_no_rank, "an mpirun that starts nothing")
{
	static const char again[] = "echo \"quiet $OMPI_MCA_orte_execute_quiet\" >&2; exit 243";
	static const struct {
		const char *starts, *what;
		int code, runs;
		const char *text;
	} cases[] = {
		{ "no", again, OUTCOME_INTERNAL, 2, "quiet 1\nhangar: mpirun has started no rank" },
		{ "no", again, OUTCOME_INTERNAL, 2, "says:\nquiet 0\n" },
		{ "no", "[ -e $NOTES.again ] || { >$NOTES.again; exit 1; }; : >$f/begun; exit 11",
		  11, 2, "" },
		{ "no", "kill -9 $$", OUTCOME_INTERNAL, 1,
		  "exit code 137 before a rank had joined" },
		{ "no", "exit 0", OUTCOME_OK, 1, "" },
		{ "yes", again, OUTCOME_INTERNAL, 1, "exit code 243 before a rank had joined" },
		{ "yes", "exit 7", 7, 1, "" },
	};
	FILE *held = fopen(in_folder("held"), "w");

	fclose(held);
	UNIT_ROWS(c, cases) {
		int runs = 0;

		starts = c->starts;
		unlink(in_folder("notes.runs"));
		unlink(in_folder("notes.again"));
		CU_ASSERT_EQUAL(unit_ended(start("echo >>$NOTES.runs", c->what, false), 3),
				c->code);
		for (const char *p = contents("notes.runs"); (p = strchr(p, '\n')); p++)
			runs++;
		UNIT_ALL(runs == c->runs, strstr(contents("stderr"), c->text) != NULL,
			 contents("held")[0] == '\0');
	}
	starts = "yes";
}

/* A signal is forwarded to mpirun, whose own exit code is ignored; it sleeps without the trap. */
UNIT_TEST(test_signal, "signals")
{
	pid_t pid = start("trap 'exit 33' TERM", SLEEP, false);

	wait_for("notes.ready");
	kill(pid, SIGTERM);
	CU_ASSERT_EQUAL(unit_ended(pid, 3), 128 + SIGTERM);
	pid = start("", "exec sleep 5", false);
	wait_for("notes.ready");
	kill(pid, SIGINT);
	CU_ASSERT_EQUAL(unit_ended(pid, 3), 128 + SIGINT);
}

/* A killed parent takes mpirun along, which may still write to the run's folder: that goes with the later of them. */
UNIT_TEST(test_parent_killed, "killed")
{
	pid_t pid = start("folder=$(cat $NOTES.folder); trap 'sleep 0.3; mkdir -p $folder/late; "
			  "echo >\"$NOTES.ended\"; exit' TERM",
			  SLEEP, false);
	char shm[128];

	wait_for("notes.ready");
	snprintf(shm, sizeof(shm), "%s", contents("notes.ready"));
	shm[strcspn(shm, "\n")] = '\0';
	kill(pid, SIGKILL);
	unit_ended(pid, 3);
	wait_for("notes.ended");
	for (int i = 0; i < 1000 && access(shm, F_OK) == 0; i++)
		clock_sleep(0.002);
	CU_ASSERT(access(shm, F_OK) < 0);
}

/* Its ranks are gone and it stays; it may ignore SIGTERM, too. The noted code counts; where mpirun does not
 * run their last lines are printed. */
UNIT_TEST(test_hung_mpirun, "an mpirun that hangs")
{
	static const struct {
		const char *end;
		int code;
	} cases[] = {
		{ "trap '' TERM; exec sleep 60", OUTCOME_DIED },
		{ "echo -2 >$f/exit; exec sleep 60", OUTCOME_OK },
		{ "printf '10\\n# verdict: unsaid' >$f/exit; exec sleep 60", OUTCOME_HANG },
		{ "printf '11\\n# verdict: in its pipe\\n' >$f/exit; kill -STOP $$",
		  OUTCOME_ERROR },
	};
	pid_t pids[4];

	to_file = true;
	for (int i = 0; i < 4; i++) {
		/* a rank that joins the run's folder */
		pids[i] = start("for f in $(cat $NOTES.folder); do : >$f/joined; done",
				cases[i].end, false);
		wait_for("notes.ready");
	}
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(unit_ended(pids[i], 15), cases[i].code);
	UNIT_ALL(strstr(contents("stderr"), "ranks are gone and it does not end") != NULL,
		 strstr(contents("held"), "supervisors 0 s\n") != NULL,
		 strstr(contents("stdout"), "# verdict: in its pipe\n") != NULL,
		 strstr(contents("stdout"), "unsaid") == NULL);
	to_file = false;
}

/* Nothing of the run runs: mpirun is stopped before it has ranks, or all that hold the run's folder are. Where mpirun is
 * stopped and a supervisor runs, that one sees it. */
UNIT_TEST(test_held, "a run that is stopped")
{
	static const struct {
		const char *what;
		int code;
	} cases[] = {
		{ "kill -STOP $$", OUTCOME_HANG },
		{ "flock -s $folder -c 'kill -STOP $PPID; exec sleep 5' & wait", OUTCOME_HANG },
		{ "flock -s $folder -c 'kill -STOP $PPID; exec sleep 5' & "
		  "flock -s $folder sleep 3; exit 5",
		  5 },
		{ "flock -s $folder sleep 3 & (sleep 3; kill -CONT $$) & kill -STOP $$; exit 6",
		  6 },
	};
	pid_t pids[4];

	for (int i = 0; i < 4; i++) {
		pids[i] = start("folder=$(cat $NOTES.folder)", cases[i].what, false);
		wait_for("notes.ready");
	}
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(unit_ended(pids[i], 15), cases[i].code);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("held"), "2 s\n2 s\n"));
}

/* An mpirun without ranks that still forwards output to a slow reader is left alone. */
UNIT_TEST(test_slow_reader, "a slow reader")
{
	double began = clock_seconds();
	char text[4096];
	int ends[2], status;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		pid = start("for f in $(cat $NOTES.folder); do : >$f/joined; done",
			    "head -c 200000 /dev/zero; exit 9", false);
		_exit(unit_ended(pid, 30));
	}
	close(ends[1]);
	clock_sleep(7.5);
	CU_ASSERT_EQUAL(waitpid(pid, &status, WNOHANG), 0);
	while (read(ends[0], text, sizeof(text)) > 0)
		;
	close(ends[0]);
	UNIT_ALL(unit_ended(pid, 10) == 9, clock_seconds() - began > 7);
}

UNIT_TEST(test_no_mpirun, "no mpirun")
{
	int rc;

	unlink(in_folder("mpirun"));
	fflush(NULL);
	rc = fork();
	if (rc == 0) {
		char *argv[] = { (char *)"./prog", NULL };
		int fd = open(in_folder("stderr"), O_CREAT | O_TRUNC | O_WRONLY, 0600);

		dup2(fd, STDERR_FILENO);
		setenv("PATH", folder, 1);
		_exit(launch_self(2, argv, &guard, &err));
	}
	CU_ASSERT_EQUAL(unit_ended(rc, 3), OUTCOME_UNSUPPORTED);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("stderr"), "mpirun: No such file"));
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("stderr"), "make install-deps"));
}

UNIT_MAIN(unit_main_folder(folder))
