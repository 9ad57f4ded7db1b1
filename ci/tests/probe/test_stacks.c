/* test_stacks.c: stacks of live children that hang in known functions of this file; dead, stopped,
 * traced and crowded processes; and that all of them go on afterwards. */
#include "rig/unit.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "base/clock.h"
#include "evidence/stacks_text.h"
#include "probe/probe.h"

static int from_parent[2], to_parent[2];
static volatile unsigned int spun;
static sem_t never;

enum { READ_FROM = __LINE__ };
static __attribute__((noinline)) int blocked_in_read(void)
{
	char byte = 0;

	while (read(from_parent[0], &byte, 1) < 0 && errno == EINTR)
		;
	return byte;
}
enum { READ_TO = __LINE__ };

enum { FUTEX_FROM = __LINE__ };
static __attribute__((noinline)) int blocked_in_futex(void)
{
	while (sem_wait(&never) < 0 && errno == EINTR)
		spun++;
	return 0;
}
enum { FUTEX_TO = __LINE__ };

enum { BUSY_FROM = __LINE__ };
static __attribute__((noinline)) int busy_in_loop(void)
{
	for (;;)
		spun++;
	return 0;
}
enum { BUSY_TO = __LINE__ };

static void *thread_main(void *arg)
{
	sem_post(arg);
	blocked_in_futex();
	return NULL;
}

/* Three threads that stand in the same place. */
static int blocked_with_threads(void)
{
	pthread_t thread;
	sem_t there;

	sem_init(&there, 0, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, thread_main, &there);
	for (int i = 0; i < 3; i++)
		sem_wait(&there);
	clock_sleep(0.05); /* from the post into the wait */
	return blocked_in_read();
}

static __attribute__((noinline)) int descend(int depth)
{
	int rc = depth > 0 ? descend(depth - 1) : blocked_in_futex();

	spun += (unsigned int)rc + 1; /* something to do on the way back: no tail call */
	return rc + (int)spun;
}

static void *descend_main(void *arg)
{
	descend(60 - (int)(intptr_t)arg);
	return NULL;
}

/* More than a text holds: each thread has a stack of its own shape. */
static int crowded(void)
{
	pthread_t thread;

	prctl(PR_SET_NAME, "a\nb\x1b[c");
	for (intptr_t i = 0; i < 40; i++)
		pthread_create(&thread, NULL, descend_main, (void *)i);
	clock_sleep(0.2);
	return blocked_in_read();
}

static pid_t start(int (*hang)(void))
{
	char ready = 'r';
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(from_parent), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(to_parent), 0);
	sem_init(&never, 0, 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!write(to_parent[1], &ready, 1);
		ready = (char)hang();
		(void)!write(to_parent[1], &ready, 1);
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(to_parent[0], &ready, 1), 1);
	clock_sleep(0.05); /* into what it hangs in */
	return pid;
}

/* Ends a child that may have been waited for already. */
static void end(pid_t pid)
{
	if (waitpid(pid, NULL, WNOHANG) == 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		close(from_parent[i]);
		close(to_parent[i]);
	}
	sem_destroy(&never);
}

static char *take(pid_t pid)
{
	struct stacks_order order = { .pid = pid, .seconds = 5 };
	struct task task;
	double begin = clock_seconds();
	char *text;

	stacks_order(&task, &order);
	tasks_run(&task, 1, 1, 10, 10);
	text = stacks_result(&task);
	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	UNIT_ALL(clock_seconds() - begin < 10, strlen(text) <= STACKS_BYTES);
	return text;
}

static char state_of(pid_t pid)
{
	char path[64];
	const char *paren;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	paren = strrchr(unit_text(path), ')');
	return paren ? paren[2] : '?';
}

/* Does `text` name `function` at a line of this file from `from` to `to`? */
static bool names(const char *text, const char *function, int from, int to)
{
	const char *at = text;

	while ((at = strstr(at, function))) {
		const char *end = strchr(at, '\n'), *file = strstr(at, "test_stacks.c:");

		if (file && end && file < end) {
			int line = atoi(file + strlen("test_stacks.c:"));

			return line > from && line < to;
		}
		at++;
	}
	return false;
}

UNIT_TEST(test_functions, "function and line: read, futex, loop")
{
	static const struct {
		int (*hang)(void);
		const char *name;
		int from, to;
	} cases[] = {
		{ blocked_in_read, "blocked_in_read", READ_FROM, READ_TO },
		{ blocked_in_futex, "blocked_in_futex", FUTEX_FROM, FUTEX_TO },
		{ busy_in_loop, "busy_in_loop", BUSY_FROM, BUSY_TO },
	};

	UNIT_ROWS(c, cases) {
		pid_t pid = start(c->hang);
		char *text = take(pid), line[300];

		CU_ASSERT_EQUAL(strncmp(text, "main thread test_stacks (tid ", 29), 0);
		CU_ASSERT(names(text, c->name, c->from, c->to));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "(test_stacks)\n"));
		CU_ASSERT_TRUE(stacks_stuck_on(text, line, sizeof(line)));
		CU_ASSERT_EQUAL(strncmp(line, c->name, strlen(c->name)), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, "_start+0x")); /* all the way down */
		UNIT_ALL(state_of(pid) != 'T', state_of(pid) != 't');
		free(text);
		end(pid);
	}
}

/* After it was looked at, several times, the read still gets what is written. */
UNIT_TEST(test_goes_on, "goes on afterwards")
{
	pid_t pid = start(blocked_in_read);
	char byte = 'x', back = 0;
	int status = 1;

	for (int i = 0; i < 5; i++)
		free(take(pid));
	UNIT_ALL(write(from_parent[1], &byte, 1) == 1, read(to_parent[0], &back, 1) == 1,
		 back == 'x', waitpid(pid, &status, 0) == pid, status == 0);
	end(pid);
}

UNIT_TEST(test_threads, "threads alike are told once")
{
	pid_t pid = start(blocked_with_threads);
	char *text, line[300];

	clock_sleep(0.1);
	text = take(pid);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n3 threads alike: test_stacks (tid "));
	CU_ASSERT(names(text, "blocked_in_futex", FUTEX_FROM, FUTEX_TO));
	CU_ASSERT(names(text, "blocked_in_read", READ_FROM, READ_TO));
	/* told once, and the main thread's line is the one it is stuck on */
	CU_ASSERT_PTR_NULL(strstr(strstr(text, "blocked_in_futex") + 1, "blocked_in_futex"));
	CU_ASSERT_TRUE(stacks_stuck_on(text, line, sizeof(line)));
	CU_ASSERT_EQUAL(strncmp(line, "blocked_in_read", 15), 0);
	free(text);
	end(pid);
}

UNIT_TEST(test_crowd, "a crowd is cut, names are tamed")
{
	pid_t pid = start(crowded);
	char *text;

	clock_sleep(0.4);
	text = take(pid);
	CU_ASSERT_EQUAL(strncmp(text, "main thread a?b?[c (tid ", 24), 0);
	CU_ASSERT(names(text, "blocked_in_read", READ_FROM, READ_TO));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  and more below\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "[cut: no room for more]\n"));
	CU_ASSERT(strlen(text) > STACKS_BYTES * 9 / 10);
	free(text);
	end(pid);
}

UNIT_TEST(test_dead, "dead processes")
{
	static const pid_t absent[] = { -1, 0, 1 << 30 };
	pid_t pid = start(blocked_in_read);
	char *text;

	kill(pid, SIGKILL);
	while (state_of(pid) != 'Z')
		clock_sleep(0.01);
	text = take(pid);
	UNIT_ALL(strstr(text, ": it is dead\n") != NULL, strstr(text, "#0") == NULL);
	free(text);
	end(pid);
	text = take(pid);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ": it is dead\n"));
	free(text);
	for (size_t i = 0; i < LENGTH(absent); i++) {
		text = take(absent[i]);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, ": it is dead\n"));
		free(text);
	}
}

UNIT_TEST(test_stopped, "a stopped process stays stopped")
{
	pid_t pid = start(blocked_in_read);
	int status;
	char *text;

	kill(pid, SIGSTOP);
	CU_ASSERT_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
	text = take(pid);
	UNIT_ALL(strstr(text, "it is stopped (SIGSTOP)") != NULL, state_of(pid) == 'T',
		 waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED) == 0);
	free(text);
	end(pid);
}

/* A debugger's process: said, and left to the debugger. */
UNIT_TEST(test_traced, "a debugger's process")
{
	pid_t pid = start(blocked_in_read), tracer = fork();
	char *text;

	if (tracer == 0) {
		if (ptrace(PTRACE_SEIZE, pid, 0, 0) == 0)
			(void)!write(to_parent[1], "t", 1);
		for (;;)
			pause();
	}
	CU_ASSERT_EQUAL(read(to_parent[0], &(char){ 0 }, 1), 1);
	text = take(pid);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "not taken: Operation not permitted\n"));
	free(text);
	kill(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	text = take(pid); /* and now it can be had */
	CU_ASSERT(names(text, "blocked_in_read", READ_FROM, READ_TO));
	free(text);
	end(pid);
}

/* A task that ran out of time: what it had is kept, the process goes on, and its end is said. */
UNIT_TEST(test_cut, "out of time")
{
	pid_t pid = start(blocked_in_read);
	struct stacks_order order = { .pid = pid, .seconds = 5 };
	struct task task;
	char *text;

	stacks_order(&task, &order);
	task.end = TASK_CUT;
	task.text = strdup("main thread x\n  #0 half\n");
	task.bytes = strlen(task.text);
	task.seconds = 1.25;
	kill(pid, SIGSTOP); /* as a tracer that ends at a bad moment leaves it */
	while (state_of(pid) != 'T')
		clock_sleep(0.01);
	text = stacks_result(&task);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  #0 half\n[cut] process "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "within 1.250 s\n"));
	while (state_of(pid) == 'T')
		clock_sleep(0.01);
	free(text);
	stacks_order(&task, &order);
	tasks_run(&task, 1, 1, 1, 0);
	text = stacks_result(&task);
	CU_ASSERT_EQUAL(strncmp(text, "no stacks of process ", 21), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "before its turn"));
	free(text);
	end(pid);
}
