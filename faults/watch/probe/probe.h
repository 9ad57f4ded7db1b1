/* probe.h: slow evidence, asked for when the verdict is out and the ranks are still there. */
#pragma once

#include "evidence/evidence.h"
#include "process/task.h"

#define PROBE_SECONDS 2.0 /* for all */
#define PROBE_EACH    1.0 /* for the stacks of a process, and for NCCL RAS */

/* Take the native stacks of every rank i with local[i] whose process lives, those of ranks
 * `culprits` first. With the nccl backend ask NCCL RAS, too (evidence->ras). All run at once,
 * PROBE_SECONDS at most; a text that was cut says so. The ranks go on afterwards. `before` is a
 * counter_delta_task that began with the run, or NULL for no counters. It is ended, counters are
 * read again, and the difference is saved with the first of the local ranks. */
void probe_ranks(struct evidence *evidence, const bool *local, const char *culprits,
		 struct task *before);

/* ---- stacks.c: native stacks of every thread of a live process, as text, and the line it is stuck on.
 *
 * The text, at most STACKS_BYTES, ASCII without control characters:
 *
 *   Python's main thread (tid 812) at train.py:88 (load_batch)
 *     dir/train.py:88 (load_batch)
 *
 *   main thread all_reduce_perf (tid 812, S)
 *     #0 __read+0x4d (libc.so.6)
 *     #1 block_read [inlined] faults/inject/process.c:47 (all_reduce_perf)
 *     #2 fire+0x6a faults/inject/process.c:57 (all_reduce_perf)
 *
 *   2 threads alike: pump (tid 813, S), pump (tid 814, S)
 *     #0 ...
 *
 * or a sentence that says why there is none, or where it was cut. Symbols and lines come from the
 * files that the process has mapped and from nothing else: no debug files elsewhere, no network.
 */

#define STACKS_BYTES 16384

struct stacks_order {
	pid_t pid;
	struct python_process python; /* its Python, with stacks of its own; zero: none */
	double seconds;		      /* it begins no further thread after so long */
	bool stopped;		      /* stacks_order's own: was stopped before */
};

/* A task that writes the stacks of a process: fill in what tasks_run needs, and afterwards the
 * text, which the caller frees. Each thread is held (ptrace) while it is unwound, microseconds to
 * milliseconds, and goes on; a process that is dead, stopped or may not be traced is left alone and
 * said to be so. With a thread that cannot be stopped (a driver) the task hangs; a process that a
 * cut one left behind stopped is continued. `order` stays the caller's. */
void stacks_order(struct task *task, struct stacks_order *order);
char *stacks_result(struct task *task);

/* ---- ras.c: NCCL's own RAS service: what it answers, for the reader of ras.txt.
 *
 * Each process of an NCCL job (2.24 and later) listens for clients on one port, by default
 * localhost:28028. The kernel picks the one that answers, perhaps a stopped one. The client sends
 * lines: "CLIENT PROTOCOL 2", "TIMEOUT 1", "SET FORMAT json", "VERBOSE STATUS". The server answers
 * "SERVER PROTOCOL 2", "OK", "OK" and a report. NCCL before 2.28.7 knows no formats: it answers
 * "ERROR: Unknown command" and a text.
 */

#define RAS_ADDRESS "localhost:28028"

struct ras_order {
	const char *address; /* HOST:PORT or [HOST]:PORT; NCCL_RAS_ADDR's value */
	double seconds;	     /* for everything: connecting, several attempts, the answer */
};

/* Ask (struct ras_order), and write the answer to `fd`, as it came; a line in brackets says why no
 * more came. Looking up a name may take longer than the order allows: run it as a task. */
void ras_ask(int fd, const void *order);
