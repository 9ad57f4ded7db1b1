/* test_task.c: children that end, break, hang, write without end, or do not get a turn. */
#include "rig/unit.h"

#include <dirent.h>

#include "base/clock.h"
#include "process/task.h"

static void say(int fd, const void *arg)
{
	const char *text = arg;

	(void)!write(fd, text, strlen(text));
}

static void hang(int fd, const void *arg)
{
	say(fd, arg);
	for (;;)
		pause();
}

static void hang_silently(int fd, const void *arg)
{
	close(fd);
	for (;;)
		pause();
}

static void flood(int fd, const void *arg)
{
	for (;;)
		say(fd, arg);
}

static void crash(int fd, const void *arg)
{
	say(fd, arg);
	kill(getpid(), SIGKILL);
}

static void resign(int fd, const void *arg)
{
	say(fd, arg);
	_exit(3);
}

/* Lists every open descriptor with its target, except the folder's own. */
static void list_open(int fd, const void *arg)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char target[256] = "";

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir) ||
		    readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) < 0)
			continue;
		dprintf(fd, "%s ", atoi(entry->d_name) == fd ? "own" : target);
	}
	if (dir)
		closedir(dir);
}

static double timed(struct task *tasks, size_t n, size_t parallel, double each, double all)
{
	double begin = clock_seconds();

	tasks_run(tasks, n, parallel, each, all);
	return clock_seconds() - begin;
}

static void free_texts(struct task *tasks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(tasks[i].text);
	/* none is left, not even as a zombie; one that was killed a moment ago may need a core to die on */
	for (double give_up = unit_until(5);
	     waitpid(-1, NULL, WNOHANG) != -1 && clock_seconds() < give_up;)
		usleep(1000);
	UNIT_ALL(waitpid(-1, NULL, WNOHANG) == -1, errno == ECHILD);
}

UNIT_TEST(test_ends, "each way to end")
{
	static const struct {
		void (*run)(int fd, const void *arg);
		enum task_end end;
		const char *text;
	} cases[] = {
		{ say, TASK_DONE, "said" },	 { hang, TASK_CUT, "said" },
		{ hang_silently, TASK_CUT, "" }, { flood, TASK_CUT, "saidsaidsa" },
		{ crash, TASK_BROKEN, "said" },	 { resign, TASK_BROKEN, "said" },
	};
	enum { N = LENGTH(cases) };
	struct task tasks[N];
	double seconds;

	for (int i = 0; i < N; i++)
		tasks[i] = (struct task){ .run = cases[i].run, .arg = "said", .limit = 10 };
	seconds = timed(tasks, N, N, 0.3, 5);
	CU_ASSERT(seconds >= 0.3 && seconds < 2);
	for (int i = 0; i < N; i++)
		UNIT_ALL(tasks[i].end == cases[i].end, !strcmp(tasks[i].text, cases[i].text),
			 tasks[i].bytes == strlen(cases[i].text),
			 tasks[i].seconds > 0 && tasks[i].seconds < 2);
	free_texts(tasks, N);
}

/* Two at once, half a second each: the third begins then, the fifth has no time left. */
UNIT_TEST(test_turns, "two at a time, until time is over")
{
	struct task tasks[6];
	double seconds;

	for (int i = 0; i < 6; i++)
		tasks[i] = (struct task){ .run = hang, .arg = "x", .limit = 10 };
	seconds = timed(tasks, 6, 2, 0.5, 0.9);
	CU_ASSERT(seconds >= 0.9 && seconds < 2);
	for (int i = 0; i < 4; i++)
		UNIT_ALL(tasks[i].end == TASK_CUT, tasks[i].text != NULL);
	CU_ASSERT(tasks[2].seconds < tasks[0].seconds);
	for (int i = 4; i < 6; i++)
		UNIT_ALL(tasks[i].end == TASK_NEVER, tasks[i].text == NULL);
	free_texts(tasks, 6);
}

UNIT_TEST(test_many, "many in turn")
{
	struct task tasks[50];

	for (int i = 0; i < 50; i++)
		tasks[i] = (struct task){ .run = say, .arg = "many", .limit = 4 };
	CU_ASSERT(timed(tasks, 50, 3, 5, 20) < 20);
	for (int i = 0; i < 50; i++)
		UNIT_ALL(tasks[i].end == TASK_DONE, !strcmp(tasks[i].text, "many"));
	free_texts(tasks, 50);
}

UNIT_TEST(test_none, "none, and no time")
{
	struct task task = { .run = say, .arg = "x", .limit = 1 };

	tasks_run(&task, 0, 4, 1, 1);
	tasks_run(&task, 1, 4, 1, 0); /* no time at all */
	UNIT_ALL(task.end == TASK_NEVER, task.text == NULL);
}

/* Begun without a wait: ended when queried, or not; or never queried. */
UNIT_TEST(test_started, "started, and asked for later")
{
	struct task tasks[3] = { { .run = say, .arg = "said", .limit = 4 },
				 { .run = hang, .arg = "said", .limit = 4 },
				 { .run = flood, .arg = "said", .limit = 10 } };
	double begin = clock_seconds();

	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(task_begin(&tasks[i]), 0);
	clock_sleep(0.2);
	for (int i = 0; i < 3; i++) {
		task_end(&tasks[i]);
		task_end(&tasks[i]);
		CU_ASSERT_EQUAL(tasks[i].end, i == 0 ? TASK_DONE : TASK_CUT);
		CU_ASSERT_STRING_EQUAL(tasks[i].text, i == 2 ? "saidsaidsa" : "said");
	}
	CU_ASSERT(clock_seconds() - begin < 10); /* no task is waited for */
	free_texts(tasks, 3);
	tasks[0] = (struct task){ .run = say };
	task_end(&tasks[0]); /* not started */
	CU_ASSERT_PTR_NULL(tasks[0].text);
}

/* A child does not extend the life of our locks, sockets and pipes. */
UNIT_TEST(test_holds_nothing, "a child holds nothing of ours")
{
	struct task tasks[2] = { { .run = list_open, .limit = 4096 },
				 { .run = list_open, .limit = 4096 } };
	int held[2];

	CU_ASSERT_EQUAL_FATAL(pipe(held), 0);
	CU_ASSERT_EQUAL(task_begin(&tasks[0]), 0);
	clock_sleep(0.2);
	task_end(&tasks[0]);
	tasks_run(&tasks[1], 1, 1, 5, 5);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(tasks[i].end, TASK_DONE);
		CU_ASSERT_STRING_EQUAL(tasks[i].text, "/dev/null /dev/null /dev/null own ");
	}
	free_texts(tasks, 2);
	close(held[0]);
	close(held[1]);
}
