/* test_exit.c: processes that have begun to exit, before waitpid returns them. */
#include "rig/unit.h"

#include <pthread.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/proc_stat.h"

#define DUMPED ((size_t)200 << 20) /* bytes: writing them takes a while */

/* folder of core files, if the host writes them to the process' folder */
static char folder[UNIT_TEMP];

static void *crash(void *unused)
{
	raise(SIGSEGV);
	return unused;
}

/* Starts a process that dirties memory, waits for a signal and crashes, or its thread does. */
static pid_t start(size_t bytes, bool thread, int *tell)
{
	struct rlimit core;
	int go[2];
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t other;
		char byte, *memory = malloc(bytes);

		if (getrlimit(RLIMIT_CORE, &core) == 0) {
			core.rlim_cur = core.rlim_max;
			setrlimit(RLIMIT_CORE, &core);
		}
		if (!memory || chdir(folder) < 0)
			_exit(1);
		memset(memory, 1, bytes);
		signal(SIGSEGV, SIG_DFL);
		if (read(go[0], &byte, 1) != 1)
			_exit(2);
		if (!thread || pthread_create(&other, NULL, crash, NULL) != 0)
			raise(SIGSEGV);
		for (;;)
			pause();
	}
	close(go[0]);
	*tell = go[1];
	return pid;
}

/* Returns the crash's status as seen before waitpid knows it; -1: not seen. */
static int see(pid_t pid)
{
	double until = unit_until(30);
	int seen = -1, status;
	bool again = false;

	while (clock_seconds() < until) {
		if (seen < 0 && !exit_seen(pid, &again, &seen))
			seen = -1;
		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
	}
	UNIT_ALL(WIFSIGNALED(status), WTERMSIG(status) == SIGSEGV);
	return seen;
}

static void crashes(bool thread)
{
	bool again = false;
	int tell, status = 0, seen;
	pid_t pid = start(DUMPED, thread, &tell);

	CU_ASSERT_FATAL(pid > 0);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_FALSE(exit_seen(pid, &again, &status));
	CU_ASSERT_EQUAL(write(tell, "", 1), 1);
	seen = see(pid);
	UNIT_ALL(WIFSIGNALED(seen), WTERMSIG(seen) == SIGSEGV);
	close(tell);
}

UNIT_TEST(test_crash, "a crash")
{
	crashes(false);
}

UNIT_TEST(test_crash_of_a_thread, "a crash of another thread")
{
	crashes(true);
}

/* A stopped process and a missing one do not exit. */
UNIT_TEST(test_others, "who does not end")
{
	bool again = false;
	int tell, status;
	pid_t pid = start(1, false, &tell);

	CU_ASSERT_FATAL(pid > 0);
	kill(pid, SIGSTOP);
	CU_ASSERT_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_FALSE(exit_seen(pid, &again, &status));
	kill(pid, SIGKILL);
	UNIT_ALL(waitpid(pid, &status, 0) == pid, !exit_seen(pid, &again, &status));
	close(tell);
	UNIT_ALL(proc_gone(pid), proc_hold_read(pid) == HOLD_GONE);
}

/* Number 0 stands for a process of another namespace. */
UNIT_TEST(test_unreadable, "a process that cannot be read")
{
	UNIT_ALL(!proc_gone(0), proc_hold_read(0) == HOLD_NONE, !proc_gone(getpid()),
		 proc_hold_read(getpid()) == HOLD_NONE);
}

UNIT_MAIN(unit_main_folder(folder))
