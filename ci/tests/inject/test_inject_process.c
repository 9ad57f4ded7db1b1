/* test_inject_process.c: faults that end, stop or hold the process in which they fire. */
#include "inject_rig.h"

#include <sys/prctl.h>

#include "base/clock.h"
#include "process/leftovers.h"

/* Shared by the child and the test. */
struct shared {
	struct fault_record record;
	_Atomic int made; /* calls that reached the backend */
};

static void child_run(const char *spec, struct shared *shared, pid_t parent)
{
	struct rig rig;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || rig_open(&rig, &spec, 1, 3, 4) < 0)
		_exit(99);
	rig.injector.record = &shared->record;
	rig.note.seen = &shared->made;
	for (size_t i = 1; i <= 6; i++)
		if (rig_call(&rig, i, 0) < 0)
			_exit(98);
	_exit(97);
}

/* State letter of a process, '?' where it is gone, and its user time in clock ticks. */
static char state_of(pid_t pid, unsigned long *ticks)
{
	char path[32], state = '?';
	FILE *f;

	*ticks = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return '?';
	if (fscanf(f, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &state,
		   ticks) != 2)
		state = '?';
	fclose(f);
	return state;
}

/* Its state, and whether it computes, for which it needs a processor. */
static bool computes(pid_t pid, char wanted)
{
	double end = unit_until(wanted == 'R' ? 5 : 0);
	unsigned long ticks;

	while (state_of(pid, &ticks) == wanted && ticks < 2 && clock_seconds() < end)
		clock_sleep(0.01);
	return ticks >= 2;
}

/* Until the child's status changes; false when it did not within `seconds`. */
static bool status_within(pid_t pid, int *status, double seconds)
{
	double end = clock_seconds() + seconds;

	while (clock_seconds() < end) {
		if (waitpid(pid, status, WNOHANG | WUNTRACED) == pid)
			return true;
		clock_sleep(0.002);
	}
	return false;
}

static bool fired_within(struct shared *shared, double seconds)
{
	double end = unit_until(seconds);

	while (!shared->record.fired && clock_seconds() < end)
		clock_sleep(0.002);
	return shared->record.fired == 1;
}

static pid_t child_start(const char *spec, struct shared **shared)
{
	pid_t parent = getpid(), pid;

	*shared = mmap(NULL, sizeof(**shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(*shared, MAP_FAILED);
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		child_run(spec, *shared, parent);
	CU_ASSERT_FATAL(pid > 0);
	return pid;
}

static void child_end(pid_t pid, struct shared *shared)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	munmap(shared, sizeof(*shared));
}

static const struct {
	const char *spec;
	int code, signal, made; /* code -1: ended by signal */
} ends[] = {
	{ "exit-rank@3", 0, 0, 2 },
	{ "exit-rank@3,code=7", 7, 0, 2 },
	{ "exit-rank@1,code=255", 255, 0, 0 },
	{ "exit-rank@3,code=7,when=after", 7, 0, 3 },
	{ "kill-rank@3", -1, SIGKILL, 2 },
	{ "kill-rank@6,when=after", -1, SIGKILL, 6 },
	{ "crash-rank@3", -1, SIGSEGV, 2 },
	/* It was not ended: the call is never reached, or the rank is another one. */
	{ "exit-rank@7,code=7", 97, 0, 6 },
	{ "kill-rank:1@3", 97, 0, 6 },
};

UNIT_TEST(test_ends, "processes that end")
{
	UNIT_ROWS(row, ends) {
		struct shared *shared;
		pid_t pid = child_start(row->spec, &shared);
		int status = 0;

		CU_ASSERT_TRUE(status_within(pid, &status, 10));
		if (row->code < 0)
			CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == row->signal);
		if (row->code >= 0)
			CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == row->code);
		UNIT_ALL(shared->made == row->made, shared->record.fired == (row->code != 97));
		munmap(shared, sizeof(*shared));
	}
}

/* A handler that a library has put in place does not save the process. */
UNIT_TEST(test_crash_handled, "a crash with a handler")
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, old;
	struct shared *shared;
	sigset_t set, old_set;
	int status = 0;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, &old_set);
	sigaction(SIGSEGV, &ignore, &old);
	pid = child_start("crash-rank@1", &shared);
	sigaction(SIGSEGV, &old, NULL);
	sigprocmask(SIG_SETMASK, &old_set, NULL);
	CU_ASSERT_TRUE(status_within(pid, &status, 10));
	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	munmap(shared, sizeof(*shared));
}

/* Stopped, and after SIGCONT as if nothing had been. */
UNIT_TEST(test_stop, "processes that stop")
{
	static const char *const specs[] = { "stop-rank@3", "stop-rank@3,when=after" };

	for (size_t i = 0; i < LENGTH(specs); i++) {
		struct shared *shared;
		pid_t pid = child_start(specs[i], &shared);
		unsigned long ticks;
		int status = 0;

		UNIT_ALL(status_within(pid, &status, 10),
			 WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP,
			 state_of(pid, &ticks) == 'T', shared->record.fired == 1,
			 shared->made == (i == 0 ? 2 : 3));
		kill(pid, SIGCONT);
		UNIT_ALL(status_within(pid, &status, 10),
			 WIFEXITED(status) && WEXITSTATUS(status) == 97, shared->made == 6);
		munmap(shared, sizeof(*shared));
	}
}

/* Alive, and asleep or running, but at the call for good. */
UNIT_TEST(test_held, "processes that are held")
{
	static const struct {
		const char *spec;
		char state;
		int made;
	} held[] = {
		{ "drop-rank@3", 'S', 2 },
		{ "drop-rank@3,when=after", 'S', 3 },
		{ "block-rank@3", 'S', 2 },
		{ "block-rank@3,how=lock", 'S', 2 },
		{ "block-rank@3,how=read,when=after", 'S', 3 },
		{ "busy-rank@3", 'R', 2 },
	};

	UNIT_ROWS(row, held) {
		struct shared *shared;
		pid_t pid = child_start(row->spec, &shared);
		unsigned long ticks;
		int status;

		UNIT_ALL(fired_within(shared, 10), !status_within(pid, &status, 0.3),
			 state_of(pid, &ticks) == row->state,
			 computes(pid, row->state) == (row->state == 'R'),
			 shared->made == row->made);
		/* A signal that is handled by default does not wake it into going on. */
		kill(pid, SIGCONT);
		CU_ASSERT_FALSE(status_within(pid, &status, 0.05));
		child_end(pid, shared);
	}
}

/* The host loop ends with the process that started it, even where nothing kills it. The test takes
 * the orphan in, so that it can be waited for. */
UNIT_TEST(test_busy_orphan, "a loop whose parent is gone")
{
	struct error err = { .code = 0 };
	struct fault_spec spec;
	struct fault_act act = { .spec = &spec };
	double end = unit_until(10);
	int ended = 0, killed = 0;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(fault_parse(&spec, "busy-rank", &err), 0);
	CU_ASSERT_EQUAL_FATAL(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	fflush(NULL);
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (pid == 0) {
		if (fork() == 0) {
			alarm(20);
			spec.fault->fire(&act);
		}
		clock_sleep(0.1);
		_exit(0);
	}
	while (ended < 2 && clock_seconds() < end) {
		int status;

		if (waitpid(-1, &status, WNOHANG) > 0) {
			ended++;
			killed += WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGKILL;
		}
		clock_sleep(0.002);
	}
	UNIT_ALL(ended == 2, killed == 1);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* A rank in a run's folder, whose fault runs a command. The command and its `undo` write files. */
struct scene { /* shared with the process that keeps the command */
	char folder[UNIT_TEMP];
	struct run_folder run;
	struct rig rig;
};

static struct scene *scene_make(void)
{
	void *map = mmap(NULL, sizeof(struct scene), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CU_ASSERT_PTR_NOT_EQUAL_FATAL(map, MAP_FAILED);
	return map;
}

static int scene_call(struct scene *s, const char *spec)
{
	static int n;
	char key[32];

	snprintf(key, sizeof(key), "command-%d-%d", (int)getpid(), n++);
	CU_ASSERT_EQUAL_FATAL(unit_folder(s->folder), 0);
	CU_ASSERT_EQUAL_FATAL(chdir(s->folder), 0);
	CU_ASSERT_EQUAL_FATAL(run_folder_open(&s->run, key, &(struct error){ .code = 0 }), 0);
	CU_ASSERT_EQUAL_FATAL(rig_open(&s->rig, &spec, 1, 3, 4), 0);
	s->rig.injector.machine.run = s->run.path;
	return rig_call(&s->rig, 1, 0);
}

static bool exists_within(const char *name, double seconds)
{
	double end = unit_until(seconds);

	while (access(name, F_OK) < 0 && clock_seconds() < end)
		clock_sleep(0.002);
	return access(name, F_OK) == 0;
}

/* The process whose number is in the file. */
static bool is_alive(const char *name)
{
	FILE *f = fopen(name, "re");
	int pid = 0;

	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid > 0 && kill(pid, 0) == 0;
}

static void scene_end(struct scene *s)
{
	run_folder_release(&s->run);
	CU_ASSERT_TRUE(exists_within("undone", 10));
	CU_ASSERT_EQUAL(chdir("/"), 0);
	unit_remove(s->folder);
	munmap(s, sizeof(*s));
}

UNIT_TEST(test_command, "commands")
{
	static const struct {
		const char *spec, *text;
		int rc, status;
	} cases[] = {
		{ "command@1,run=true,undo=touch undone", "", 0, 0 },
		{ "command@1,run=echo a b; exit 7,undo=touch undone",
		  "\"echo a b; exit 7\" ended with status 7: a b", -EIO, 7 },
		{ "command@1,run=kill -KILL $$,undo=touch undone", "status 137", -EIO, 137 },
		{ "command@1,run=no-such-program,undo=touch undone", "status 127", -EIO, 127 },
		{ "command@1,run=sleep 60,how=start,undo=touch undone", "", 0, COMMAND_RUNS - 1 },
	};

	UNIT_ROWS(row, cases) {
		struct scene *s = scene_make();

		CU_ASSERT_EQUAL(scene_call(s, row->spec), row->rc);
		UNIT_ALL(s->rig.record.command == 1 + row->status, access("undone", F_OK) < 0,
			 strstr(s->rig.note.err.text, row->text) != NULL);
		scene_end(s);
	}
}

/* Processes in the background live as long as the run, also in a session of their own; then `undo` runs. */
UNIT_TEST(test_command_ends, "what a command starts")
{
	struct scene *s = scene_make();

	CU_ASSERT_EQUAL(scene_call(s, "command@1,run=sleep 60 & echo $! >one; setsid sh -c 'echo "
				      "$$ >new; mv new two; exec sleep 60' & true,undo=touch "
				      "undone"),
			0);
	UNIT_ALL(exists_within("two", 10), is_alive("one"), is_alive("two"));
	run_folder_release(&s->run);
	UNIT_ALL(exists_within("undone", 10), !is_alive("one"), !is_alive("two"));
	scene_end(s);
}
