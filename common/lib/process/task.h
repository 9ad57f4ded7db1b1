/* task.h: work that may take for ever, done in child processes that are given a time and no
 * more. */
#pragma once

#include <sys/types.h>

enum task_end {
	TASK_NEVER, /* not started: time was over before its turn, or no child could be made */
	TASK_DONE,
	TASK_CUT,    /* ended by us: its time or its bytes were used up */
	TASK_BROKEN, /* ended by itself with a signal or a code other than 0 */
};

struct task {
	/* In a child that has no other descriptor, and /dev/null for standard streams: writes its
	 * text to `fd` and returns. Nothing else of what it does is seen. */
	void (*run)(int fd, const void *arg);
	const void *arg;
	size_t limit; /* bytes of text that are stored; more ends it */
	/* what came of it */
	enum task_end end;
	char *text; /* whatever it wrote, terminated; the caller frees; NULL: nothing started */
	size_t bytes;
	double seconds;
	/* tasks_run's own */
	pid_t pid;
	int fd;
	uint64_t started;
};

/* One begins now, and nobody waits for it: task_end tells what it has written by then, ends it,
 * and may be called again. 0 or -EAGAIN. More than a pipe holds (64 KiB) keeps it waiting. */
int task_begin(struct task *task);
void task_end(struct task *task);

/* Run them in this order, at most `parallel` at once, each for at most `each` seconds, all for
 * at most `all`. Returns when all are over. Never blocks longer than `all` and a tenth of a
 * second: a child that cannot be killed (it sits in a dead file system) is left to the end of
 * this process. */
void tasks_run(struct task *tasks, size_t n, size_t parallel, double each, double all);
