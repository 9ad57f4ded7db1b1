/* proc_stat.h: what the kernel says of a process or thread in /proc/PID/stat (proc_pid_stat(5)). */
#pragma once

#include <sys/types.h>

struct proc_stat {
	char name[64];	/* what cannot be printed is '?' */
	char state;	/* 'R' 'S' 'D' 'T' 't' 'Z' 'X' */
	unsigned flags; /* PF_* of the kernel's sched.h */
	int exit_code;	/* as waitpid has it, once it ends; 0 also where it is hidden from us */
};

/* Of process `pid`, or (tid > 0) of its thread `tid`. False when there is none, or nothing that
 * can be read. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid, pid_t tid);

/* What keeps a process from running, of its own will or not. */
enum proc_hold {
	HOLD_NONE,
	HOLD_STOPPED, /* SIGSTOP, a terminal */
	HOLD_TRACED,  /* a debugger */
	HOLD_FROZEN,  /* the freezer of its cgroup, version 1 or 2 */
	HOLD_GONE     /* there is none, or it has ended */
};
enum proc_hold proc_hold_read(pid_t pid);

/* The scheduler's account of a thread (/proc/PID/schedstat), nanoseconds. */
struct proc_account {
	uint64_t ran_ns;    /* on a processor */
	uint64_t waited_ns; /* ready to run without one; brought up to date when it runs again */
};

/* Of the main thread of process `pid`, of the calling thread for 0. False where there is none or
 * the kernel keeps none. */
bool proc_account_read(struct proc_account *account, pid_t pid);

/* ---- a process that has started to end, before anybody can wait for it ----
 *
 * A process with a GPU gives memory and mappings back before its parent's waitpid returns it:
 * up to half a second on a loaded host. One that crashed writes its core file first, for seconds
 * and minutes. The kernel shows that, and how, it ends as soon as it does (proc_pid_stat(5): flags,
 * exit_code; of a core file being written Linux 6 does, older ones may not). */

/* Returns true when the process has started to end; then *wait_status is what waitpid will say of
 * it. A process that ends with status 0 is told from one whose status does not stand yet only by
 * asking again: the caller's `again` must be false at first, is kept by us, and makes that answer
 * one call late. False when the process or /proc is not there. Of another user's process the kernel
 * hides the status: it reads 0, and waitpid knows better. */
bool exit_seen(pid_t pid, bool *again, int *wait_status);
