/* task.h: work that may hang, in child processes with a time limit. */
#pragma once

enum task_end {
	TASK_NEVER, /* not started: the time was over before its turn, or fork failed */
	TASK_DONE,
	TASK_CUT,    /* killed: it used up its time or its bytes */
	TASK_BROKEN, /* ended by a signal or with a code other than 0 */
};

struct task {
	/* Runs in a child without other descriptors and with /dev/null as standard streams. Writes
	 * its text to `fd` and returns; it has no other result. */
	void (*run)(int fd, const void *arg);
	const void *arg;
	size_t limit; /* largest text in bytes; more ends the task */
	/* the result */
	enum task_end end;
	char *text; /* the output, terminated; the caller frees it; NULL: not started */
	size_t bytes;
	double seconds;
	/* private to task.c */
	pid_t pid;
	int fd;
	uint64_t started;
};

/* Starts a task without a wait. task_end returns its output so far, ends it, and may be called
 * again. Returns 0 or -EAGAIN. A task blocks after a pipe's capacity (64 KiB). */
int task_begin(struct task *task);
void task_end(struct task *task);

/* Runs tasks in this order, at most `parallel` at once, each for at most `each` seconds, all for at
 * most `all`. Never blocks longer than `all` and a tenth of a second: a child that cannot be killed
 * (in a dead file system) stays until the end of this process. */
void tasks_run(struct task *tasks, size_t n, size_t parallel, double each, double all);
