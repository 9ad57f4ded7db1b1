/* proc_stat.h: the kernel's data on a process or thread in /proc/PID/stat (proc_pid_stat(5)). */
#pragma once

struct proc_stat {
	char name[64]; /* unprintable bytes are '?' */
	char state;    /* 'R' 'S' 'D' 'T' 't' 'Z' 'X' */
	int parent;
	unsigned flags;	 /* PF_* of the kernel's sched.h */
	uint64_t faults; /* minor ones: pages that were new to it */
	uint64_t
		started; /* clock ticks since the host's start: tells it from another process of its number */
	int exit_code; /* in waitpid's form, once it exits; 0 also: not shown */
};

/* Reads process `pid`, or its thread `tid` if tid > 0. False: none, or it cannot be read. */
bool proc_stat_read(struct proc_stat *stat, pid_t pid, pid_t tid);

/* The reason why a process does not run. */
enum proc_hold {
	HOLD_NONE,
	HOLD_STOPPED, /* SIGSTOP, a terminal */
	HOLD_TRACED,  /* a debugger */
	HOLD_FROZEN,  /* the freezer of its cgroup, version 1 or 2 */
	HOLD_GONE     /* no such process, or it has ended */
};
/* A process that cannot be read (hidepid, 0 for one of another namespace) is held by nothing
 * that is known: HOLD_NONE. */
enum proc_hold proc_hold_read(pid_t pid);
/* A text for the user: how a process is held, and how it runs again. NULL for HOLD_NONE and
 * HOLD_GONE. */
const char *proc_hold_hint(enum proc_hold hold);

/* The process that traces this one, a debugger or the like; 0: none, or that is not known. */
pid_t proc_tracer(pid_t pid);

/* Returns true if the kernel says that there is no such process here; not for pid 0. */
bool proc_gone(pid_t pid);

/* The scheduler's account of a thread (/proc/PID/schedstat), nanoseconds. */
struct proc_account {
	uint64_t ran_ns;    /* time on a processor */
	uint64_t waited_ns; /* time ready without a processor; updated when the thread runs again */
};

/* Reads the main thread of process `pid`, for 0 the calling one. False: no thread, no account. */
bool proc_account_read(struct proc_account *account, pid_t pid);

/* Bytes that process `pid` and those that its main thread started, three generations, have read
 * and written (/proc/PID/io), and those of pages that were new to it: they grow while it works,
 * and not while it waits or spins. 0 where they cannot be read. */
uint64_t proc_moved_read(pid_t pid);

/* ---- a process that exits, before waitpid returns it ---- A process with a GPU returns memory and
 * mappings first: up to half a second on a loaded host. A crashed process first writes its core
 * file, for seconds or minutes. The kernel shows the exit and its status at once (proc_pid_stat(5):
 * flags, exit_code). During a core dump Linux 6 shows them; older kernels may not. */

/* Returns true if the process has started to exit, and sets *wait_status as waitpid will. A status
 * of 0 is reported one call late, since it may not be set yet: `again` is the function's memory of
 * that and must be false at first. Returns false without the process or /proc. For another user's
 * process the status reads 0; waitpid has the real one. */
bool exit_seen(pid_t pid, bool *again, int *wait_status);
