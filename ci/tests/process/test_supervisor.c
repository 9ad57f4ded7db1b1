/* test_supervisor.c: a supervisor around small ranks: exits, signals, stops, ends. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "process/supervisor.h"

/* Shared by supervisor, rank and test, three processes. */
struct board {
	_Atomic pid_t rank, grandchild;
	_Atomic int steps, changes, stops, continues, ready, group, blocked;
	_Atomic int gone;	 /* time when its end was seen */
	_Atomic int asked, more; /* how often after a signal; so many times it needs time */
	_Atomic int running, wait_status, end_with; /* end_with: the hook's answer, -1: not yet */
	char unborn[100];
};

static struct board *board;
static int wake = -1;
static int interval_ms = 50;

static size_t hook_fds(void *ctx, struct pollfd *fds, size_t room)
{
	if (wake < 0 || room == 0)
		return 0;
	fds[0] = (struct pollfd){ .fd = wake, .events = POLLIN };
	return 1;
}

static int hook_interval(void *ctx)
{
	return interval_ms;
}

/* Ends with the rank, or when the test sets a code. */
static bool hook_step(void *ctx, const struct supervised *child, int *exit_code)
{
	uint64_t count;

	if (wake >= 0)
		(void)!read(wake, &count, sizeof(count));
	board->steps++;
	board->changes += child->changed;
	board->rank = child->pid;
	board->running = child->running;
	if (child->unborn)
		snprintf(board->unborn, sizeof(board->unborn), "%.99s", child->unborn->text);
	if (child->changed && child->running) {
		board->stops += child->stopped;
		board->continues += !child->stopped;
	}
	if (!child->running) {
		siginfo_t info = { .si_pid = 0 };

		board->wait_status = child->wait_status;
		board->gone =
			waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
			info.si_pid == child->pid;
		*exit_code = WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status) : 70;
		return true;
	}
	*exit_code = board->end_with;
	return board->end_with >= 0;
}

/* Some more steps, or for ever. */
static bool hook_ending(void *ctx)
{
	board->asked++;
	return board->asked <= board->more;
}

static const struct supervisor_hooks hooks = {
	.fds = hook_fds, .step = hook_step, .interval_ms = hook_interval, .ending = hook_ending
};

static void set_up(void)
{
	if (!board)
		board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_FATAL(board != MAP_FAILED);
	memset((void *)board, 0, sizeof(*board));
	board->end_with = -1;
}

/* Starts a supervisor process; its exit code is supervisor_run's result. */
static pid_t start(int (*rank_main)(void *), void *arg)
{
	struct error err = { .rank = -1 };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(supervisor_run(&hooks, rank_main, arg, &err));
	return pid;
}

#define SOON(expression)                                                                           \
	do {                                                                                       \
		double give_up = unit_until(2);                                                    \
		while (!(expression) && clock_seconds() < give_up)                                 \
			clock_sleep(0.001);                                                        \
		CU_ASSERT(expression);                                                             \
	} while (0)

static bool gone(pid_t pid)
{
	return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

static int exit_with(void *code)
{
	return *(int *)code;
}

static int sleep_long(void *unused)
{
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	board->blocked = sigismember(&mask, SIGTERM) || sigismember(&mask, SIGCHLD);
	board->group = getpgid(0) == getpid();
	board->ready = 1;
	for (int i = 0; i < 100; i++)
		clock_sleep(0.1);
	return 0;
}

/* A supervisor with a working rank. */
static pid_t start_asleep(void)
{
	pid_t pid;

	set_up();
	pid = start(sleep_long, NULL);
	SOON(board->ready && board->rank > 0);
	return pid;
}

UNIT_TEST(test_exit_codes, "exit codes")
{
	int codes[] = { 0, 3, 77 };

	for (int i = 0; i < 3; i++) {
		set_up();
		UNIT_ALL(unit_ended(start(exit_with, &codes[i]), 3) == codes[i],
			 WIFEXITED(board->wait_status), WEXITSTATUS(board->wait_status) == codes[i],
			 board->changes == 1, board->running == 0);
	}
}

static int write_without_reader(void *arg)
{
	int fds[2];

	return pipe(fds) == 0 && close(fds[0]) == 0 && write(fds[1], "x", 1) < 0 && errno == EPIPE
		       ? 5
		       : 6;
}

UNIT_TEST(test_pipe, "a peer that is gone")
{
	set_up();
	CU_ASSERT_EQUAL(unit_ended(start(write_without_reader, NULL), 3), 5);
}

UNIT_TEST(test_killed, "the rank is killed")
{
	pid_t pid = start_asleep();

	CU_ASSERT_EQUAL(board->blocked, 0); /* the rank has the mask that the supervisor had */
	CU_ASSERT_EQUAL(board->group, 1);
	kill(board->rank, SIGKILL);
	UNIT_ALL(unit_ended(pid, 3) == 70, WIFSIGNALED(board->wait_status),
		 WTERMSIG(board->wait_status) == SIGKILL);
}

static int sleep_with_much_memory(void *arg)
{
	const size_t bytes = 1ul << 30; /* in small pages: 60 ms to free */
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes);
	return sleep_long(arg);
}

/* The end of a process that exits slowly is seen at once, with its status. */
UNIT_TEST(test_killed_slowly, "killed, with much to give back")
{
	double begin;
	pid_t pid;

	set_up();
	interval_ms = 5;
	pid = start(sleep_with_much_memory, NULL);
	for (begin = clock_seconds(); !board->ready && clock_seconds() < begin + 10;)
		clock_sleep(0.001);
	kill(board->rank, SIGKILL);
	UNIT_ALL(unit_ended(pid, 3) == 70, board->gone == 0, WIFSIGNALED(board->wait_status),
		 WTERMSIG(board->wait_status) == SIGKILL, gone(board->rank));
	interval_ms = 50;
}

UNIT_TEST(test_stop_and_continue, "stopped and continued")
{
	pid_t pid = start_asleep();
	double begin;

	for (int i = 1; i <= 2; i++) {
		begin = clock_seconds();
		kill(board->rank, SIGSTOP);
		SOON(board->stops == i);
		kill(board->rank, SIGCONT);
		SOON(board->continues == i);
		CU_ASSERT(clock_seconds() - begin <
			  0.1); /* reported at once, not at the next tick */
	}
	CU_ASSERT_EQUAL(board->changes, 4);
	kill(board->rank, SIGSTOP);
	SOON(board->stops == 3);
	board->end_with = 10; /* ends a stopped rank too */
	UNIT_ALL(unit_ended(pid, 3) == 10, gone(board->rank));
}

/* The hooks end the run during the rank's work; a descriptor wakes them. */
UNIT_TEST(test_hooks_end_it, "the hooks end it")
{
	const uint64_t one = 1;
	double begin;
	pid_t pid;

	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pid = start_asleep();
	board->end_with = 42;
	begin = clock_seconds();
	UNIT_ALL(write(wake, &one, sizeof(one)) == (ssize_t)sizeof(one), unit_ended(pid, 3) == 42,
		 clock_seconds() - begin < 0.3, gone(board->rank));
	close(wake);
	wake = -1;
}

UNIT_TEST(test_signals, "signals")
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP };

	for (int i = 0; i < 3; i++) {
		pid_t pid = start_asleep();

		kill(pid, signals[i]);
		UNIT_ALL(unit_ended(pid, 3) == 128 + signals[i], gone(board->rank));
	}
}

/* The hooks get the steps that they ask for after a signal, and no more than 0.8 s of them. */
UNIT_TEST(test_ending, "a signal, and something left to say")
{
	pid_t pid = start_asleep();
	double begin;
	int steps;

	board->more = 3;
	steps = board->steps;
	kill(pid, SIGTERM);
	UNIT_ALL(unit_ended(pid, 3) == 128 + SIGTERM, board->asked == 4, board->steps >= steps + 4);
	pid = start_asleep();
	board->more = 1000000;
	begin = clock_seconds();
	kill(pid, SIGTERM);
	CU_ASSERT_EQUAL(unit_ended(pid, 3), 128 + SIGTERM);
	UNIT_ALL(clock_seconds() - begin >= 0.8, board->asked > 4, gone(board->rank));
	pid = start_asleep(); /* a verdict comes of it */
	board->more = 1000000;
	kill(pid, SIGTERM);
	SOON(board->asked > 0);
	board->end_with = 14;
	CU_ASSERT_EQUAL(unit_ended(pid, 3), 14);
}

/* Makes this process the parent of orphans, so that their ends can be seen. */
static void adopt(bool on)
{
	prctl(PR_SET_CHILD_SUBREAPER, on ? 1 : 0);
}

UNIT_TEST(test_supervisor_killed, "the supervisor is killed")
{
	pid_t pid, rank;

	adopt(true);
	pid = start_asleep();
	rank = board->rank;
	kill(pid, SIGKILL);
	UNIT_ALL(unit_ended(pid, 3) == 128 + SIGKILL, unit_ended(rank, 3) == 128 + SIGKILL);
	adopt(false);
}

/* Without its launcher a supervisor ends itself and its rank. */
UNIT_TEST(test_launcher_killed, "the launcher is killed")
{
	pid_t launcher, supervisor = 0;
	int tell[2];

	set_up();
	adopt(true);
	CU_ASSERT_EQUAL_FATAL(pipe(tell), 0);
	fflush(NULL);
	launcher = fork();
	if (launcher == 0) {
		supervisor = start(sleep_long, NULL);
		(void)!write(tell[1], &supervisor, sizeof(supervisor));
		pause();
		_exit(0);
	}
	CU_ASSERT(read(tell[0], &supervisor, sizeof(supervisor)) == (ssize_t)sizeof(supervisor));
	SOON(board->ready && board->rank > 0);
	kill(launcher, SIGKILL);
	unit_ended(launcher, 3);
	UNIT_ALL(unit_ended(supervisor, 3) == 1, gone(board->rank));
	adopt(false);
	close(tell[0]);
	close(tell[1]);
}

/* A launcher that ignores SIGCHLD passes that on; the rank's end is still seen. */
UNIT_TEST(test_ignored_sigchld, "SIGCHLD was ignored")
{
	struct error err = { .rank = -1 };
	int three = 3;
	pid_t pid;

	set_up();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		signal(SIGCHLD, SIG_IGN);
		_exit(supervisor_run(&hooks, exit_with, &three, &err));
	}
	CU_ASSERT_EQUAL(unit_ended(pid, 3), 3);
}

/* A limit of processes: the supervisor counts its rank as one that ended with an error, and its words. */
UNIT_TEST(test_unborn, "no process can be made")
{
	struct error err = { .rank = -1 };
	struct rlimit none = { 0, 0 };
	int three = 3;
	pid_t pid;

	set_up();
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if ((geteuid() == 0 && setresuid(64999, 64999, 64999) < 0) ||
		    setrlimit(RLIMIT_NPROC, &none) < 0)
			_exit(98);
		_exit(supervisor_run(&hooks, exit_with, &three, &err));
	}
	UNIT_ALL(unit_ended(pid, 3) == OUTCOME_INTERNAL, board->changes == 1,
		 strstr(board->unborn, "ulimit -u") != NULL);
}

static int fork_and_sleep(void *unused)
{
	pid_t pid = fork();

	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, 0);
	else
		board->grandchild = pid;
	return sleep_long(unused);
}

/* Processes that the rank has started go with it. */
UNIT_TEST(test_grandchild, "a process of the rank's")
{
	pid_t pid;

	set_up();
	adopt(true);
	pid = start(fork_and_sleep, NULL);
	SOON(board->ready && board->grandchild > 0);
	board->end_with = 10;
	UNIT_ALL(unit_ended(pid, 3) == 10, unit_ended(board->grandchild, 3) == 128 + SIGKILL);
	adopt(false);
}
