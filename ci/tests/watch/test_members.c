/* test_members.c: a rank of a preloaded program, and what its host's leader sees of its end, whatever comes between two looks. */
#include "watch/monitor_members.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "record/recorder.h"
#include "rig/unit.h"
#include "watch/message.h"

enum ending { EXITS, EXECS, CLOSES, STAYS };

static struct monitor m;
static struct record_memory *memory; /* of the rank */
static int memory_fd, word[2];	     /* the rank ends when it is told */
static pid_t rank;

/* The next reading of /proc/RANK/stat comes behind its end, which the reader has not seen. */
static bool armed;

static void end_rank(void)
{
	armed = false;
	CU_ASSERT_EQUAL(write(word[1], "", 1), 1);
	CU_ASSERT_EQUAL(waitpid(rank, NULL, 0), rank);
}

int open(const char *path, int flags, ...)
{
	char stat[64];
	va_list more;
	mode_t mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	snprintf(stat, sizeof(stat), "/proc/%d/stat", (int)rank);
	if (armed && strcmp(path, stat) == 0)
		end_rank();
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static _Noreturn void be_rank(enum ending ending)
{
	int fd = link_connect(m.config.key, 0, NULL);
	int32_t pid = getpid();
	struct link link;
	char byte;

	link_init(&link, fd);
	memory->header.pid = pid;
	link_send(&link, MESSAGE_HELLO, &pid, sizeof(pid), memory_fd);
	if (ending == STAYS || read(word[0], &byte, 1) != 1)
		sleep(60);
	if (ending == EXECS)
		execlp("sleep", "sleep", "60", NULL);
	if (ending == CLOSES) {
		close(fd);
		if (read(word[0], &byte, 1) != 1)
			sleep(60);
	}
	memory->header.exit_status = 3;
	_exit(3);
}

static void start(enum ending ending)
{
	static int runs;
	static char key[32];
	struct monitor_config config = { .key = key, .preloaded = true };
	struct error err = { .rank = -1 };
	double give_up = unit_until(10);

	snprintf(key, sizeof(key), "members-%d-%d", (int)getpid(), runs++);
	CU_ASSERT_EQUAL_FATAL(pipe(word), 0);
	CU_ASSERT_EQUAL_FATAL(recorder_create("rank", &memory, &memory_fd, &err), 0);
	memory->header.preloaded = 1;
	memory->header.rank = 0;
	memory->header.inits[0].state = RECORD_COMM_READY; /* its end is the others' business */
	CU_ASSERT_EQUAL_FATAL(monitor_open(&m, &config, NULL, -1, &err), 0);
	rank = fork();
	if (rank == 0)
		be_rank(ending);
	while (m.nranks == 0 && clock_seconds() < give_up)
		monitor_look(&m);
	CU_ASSERT_EQUAL_FATAL(m.nranks, 1);
}

static void finish(void)
{
	kill(rank, SIGKILL);
	waitpid(rank, NULL, 0);
	monitor_close(&m);
	munmap(memory, sizeof(*memory));
	close(memory_fd);
	close(word[0]);
	close(word[1]);
}

/* Waits until the rank's process is so. */
static bool becomes(int32_t process, int32_t status)
{
	const struct rank_view *view = &m.ranks[0].view;
	double give_up = unit_until(10);

	while (view->process != process && clock_seconds() < give_up)
		monitor_look(&m);
	return view->process == process && view->status == status;
}

UNIT_TEST(test_between, "a rank that exits, and is reaped, in the midst of a look")
{
	start(EXITS);
	armed = true;
	monitor_look(&m);
	CU_ASSERT(!armed);
	CU_ASSERT(becomes(PROCESS_EXITED, 3));
	finish();
}

/* A second process, which says that it is a rank once it may. */
static pid_t start_second(struct record_memory *second, int fd, const int *may)
{
	pid_t pid = fork();
	struct link link;
	int32_t own;
	char byte;

	if (pid != 0)
		return pid;
	if (read(may[0], &byte, 1) != 1)
		_exit(1);
	own = getpid();
	second->header.pid = own;
	link_init(&link, link_connect(m.config.key, 0, NULL));
	link_send(&link, MESSAGE_HELLO, &own, sizeof(own), fd);
	sleep(60);
	_exit(0);
}

/* Both are heard in one look with the end of the only rank: the one is as old as that rank's calls, the other was started since. */
UNIT_TEST(test_attempts, "a slow rank, and one of the next attempt")
{
	for (int next = 0; next < 2; next++) {
		struct record_memory *second;
		struct error err = { .rank = -1 };
		int fd, may[2];
		pid_t pid = 0;

		start(EXITS);
		CU_ASSERT_EQUAL_FATAL(pipe(may), 0);
		CU_ASSERT_EQUAL_FATAL(recorder_create("second", &second, &fd, &err), 0);
		second->header.preloaded = 1;
		second->header.rank = 1;
		if (!next)
			pid = start_second(second, fd, may);
		clock_sleep(0.05);
		memory->ring[1].enqueued_ns = clock_ns();
		memory->header.issued_ticket = 1;
		CU_ASSERT_EQUAL(write(word[1], "", 1), 1);
		CU_ASSERT_EQUAL(waitpid(rank, NULL, 0), rank);
		clock_sleep(0.05);
		if (next)
			pid = start_second(second, fd, may);
		CU_ASSERT_EQUAL(write(may[1], "", 1), 1);
		clock_sleep(0.05);
		for (double until = clock_seconds() + 0.2; clock_seconds() < until;)
			monitor_look(&m);
		CU_ASSERT_EQUAL(m.nranks, next ? 1 : 2);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		munmap(second, sizeof(*second));
		close(fd);
		close(may[0]);
		close(may[1]);
		finish();
	}
}

UNIT_TEST(test_exec, "a rank that becomes another program leaves, and is killed by nothing")
{
	start(EXECS);
	CU_ASSERT_EQUAL(write(word[1], "", 1), 1);
	CU_ASSERT(becomes(PROCESS_EXITED, 0));
	finish();
}

UNIT_TEST(test_closes, "a rank that closes all its descriptors is still there")
{
	start(CLOSES);
	CU_ASSERT_EQUAL(write(word[1], "", 1), 1);
	for (double until = clock_seconds() + 0.1; clock_seconds() < until;)
		monitor_look(&m);
	CU_ASSERT(becomes(PROCESS_ALIVE, 0));
	end_rank();
	CU_ASSERT(becomes(PROCESS_EXITED, 3));
	finish();
}

/* Gives the number of a rank that is gone to another process, which the signal for the rank is not for. */
static int reuse(void)
{
	pid_t other = 0, before;
	char text[16];
	int fd, status = -1;

	start(STAYS);
	before = rank;
	kill(rank, SIGKILL);
	waitpid(rank, NULL, 0);
	snprintf(text, sizeof(text), "%d", (int)before - 1);
	fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
	if (fd >= 0 && write(fd, text, strlen(text)) > 0)
		other = rank = fork();
	if (other == 0 && fd >= 0)
		for (;;)
			sleep(60);
	monitor_signal(&m, SIGKILL);
	clock_sleep(0.05);
	if (other == before)
		status = waitpid(other, NULL, WNOHANG) == 0 ? 0 : 1;
	finish();
	return status;
}

/* In a namespace where no other process takes a number. */
UNIT_TEST(test_reused, "the number of a rank that is gone is another process'")
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(77);
		pid = fork();
		if (pid == 0) {
			mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL);
			mount("proc", "/proc", "proc", 0, NULL);
			_exit(reuse() & 0xff);
		}
		waitpid(pid, &status, 0);
		_exit(WEXITSTATUS(status));
	}
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77)
		printf("not looked at: no namespace of processes can be made here\n");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}
