/* stacks.h: native stacks of every thread of a live process, as text, and the line it is stuck on.
 *
 * The text, at most STACKS_BYTES, ASCII without control characters:
 *
 *   main thread all_reduce_perf (tid 812, S)
 *     #0 __read+0x4d (libc.so.6)
 *     #1 block_read [inlined] faults/inject/arrival/block_rank.c:47 (all_reduce_perf)
 *     #2 fire+0x6a faults/inject/arrival/block_rank.c:57 (all_reduce_perf)
 *
 *   2 threads alike: pump (tid 813, S), pump (tid 814, S)
 *     #0 ...
 *
 * or a sentence that says why there is none, or where it was cut. Symbols and lines come from the
 * files that the process has mapped and from nothing else: no debug files elsewhere, no network. */
#pragma once

#include <sys/types.h>

#include "process/task.h"

#define STACKS_BYTES 16384

struct stacks_order {
	pid_t pid;
	double seconds; /* it begins no further thread after so long */
	bool stopped;	/* stacks_order's own: was stopped before */
};

/* Write the stacks of a process to `fd`. Each thread is held (ptrace) while it is unwound,
 * microseconds to milliseconds, and goes on; a process that is dead, stopped or may not be traced
 * is left alone and said to be so. May hang with a thread that cannot be stopped (a driver): run
 * it as a task. */
void stacks_write(int fd, const struct stacks_order *order);

/* The same as a task: fill in what tasks_run needs, and afterwards the text, which the caller
 * frees (NULL: no memory). A process that a cut task left behind stopped is continued. `order`
 * stays the caller's. */
void stacks_order(struct task *task, struct stacks_order *order);
char *stacks_result(struct task *task);

/* The most telling line for "where is it stuck": the innermost frame of the main thread that has a
 * source line of the application's, else the innermost that has a name. Without "#N ". false, and
 * "", when there is none. `text` may be NULL or hostile. */
bool stacks_stuck_on(const char *text, char *line, size_t len);
