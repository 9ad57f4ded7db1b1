/* view.h: what an observer knows of one rank at one moment; plain data that monitors exchange. */
#pragma once

#include "process/python.h"
#include "record/record.h"

#define VIEW_COMMS 16 /* the first of a rank's communicators: of more a view says nothing */

enum process_state { PROCESS_ALIVE, PROCESS_STOPPED, PROCESS_EXITED, PROCESS_KILLED };

/* The watcher of a rank, or the way to its host, is lost: no other host sees the rank. A row has the
 * number that saved evidence has, the class of a verdict, and the words. 2 stood for a host's own
 * interface; it is read as LOST_SILENT. */
/* clang-format off */
#define LOSTS(row) \
	row(LOST_SILENT, 1, CLASS_HOST_SILENT, \
	    "nothing was heard of it, and nothing says whether it or the way to it failed") \
	row(LOST_ONE_WAY, 3, CLASS_PARTITION, "what it sends arrives, what is sent to it does not") \
	row(LOST_LARGE, 4, CLASS_PARTITION, \
	    "large packets are lost, and small datagrams pass") \
	row(LOST_STALLED, 5, CLASS_WATCHER_HELD, "its kernel answers, its monitor does not run") \
	row(LOST_PARTED, 6, CLASS_PARTITION, /* both sides' evidence was joined */ \
	    "it lived, and another host did not hear of it") \
	row(LOST_HELD, 7, CLASS_WATCHER_HELD, "a watcher there is stopped, frozen or traced") \
	row(LOST_MONITOR, 8, CLASS_MONITOR_GONE, "its monitor is gone") /* as its kernel says */ \
	row(LOST_LAUNCHER, 9, CLASS_LAUNCHER_GONE, "its launcher is gone")
/* clang-format on */
#define LOST_ENTRY(name, number, class, words) name = number,
enum view_lost { LOST_NOT, LOSTS(LOST_ENTRY) LOST_KINDS };

/* A communicator as the rank sees it. */
struct view_comm {
	uint64_t id;	      /* hash of the id handed to its init, 0: not called */
	uint64_t seq;	      /* calls that the rank has made on it */
	uint64_t done;	      /* of a preloaded program: all up to this one are over */
	uint64_t calls, hash; /* collectives among them; of their signatures (record_comm) */
	int32_t rank, nranks; /* handed to its init */
	uint32_t state;	      /* enum record_comm_state */
	uint32_t unused;
};

struct rank_view {
	int32_t rank;  /* -1 while MPI has not said; then `local` is all that is known */
	int32_t local; /* order of arrival at the node's monitor */
	int32_t node, pid;
	int32_t process;      /* enum process_state */
	int32_t status;	      /* exit code or signal number */
	int32_t outcome;      /* what the rank reported of itself before exit, -1 if nothing */
	uint32_t phase;	      /* enum phase */
	uint32_t waiting;     /* 1 while inside a wait */
	uint32_t overdue;     /* 1: that wait is too long (decide/decide.h); the caller's */
	double waited;	      /* seconds in that wait; negative: not known */
	double grace;	      /* of these, in which its observer did not run either; the caller's */
	uint64_t since_ns;    /* start of that wait, 0: none */
	uint64_t deadline_ns; /* of that wait, 0: none */
	uint64_t seen_ns;     /* when this was read, on the rank's host's clock; 0: unknown */
	char what[40];	      /* what it waits for */
	uint64_t heartbeat;
	struct record oldest; /* of a preloaded program: its oldest open call, or 0 */
	uint64_t open_ns;     /* since when */
	uint64_t open_seq; /* the device says nothing of it before this call of that communicator */
	uint64_t issued, completed; /* calls, over all communicators */
	uint64_t seq;		    /* calls on the last record's communicator */
	struct record last;	    /* newest record; ticket 0 when there is none */
	char host[64];
	char error[256];
	int32_t error_code;  /* errno of `error`, 0: none */
	uint32_t oom_kills;  /* by the kernel in the rank's cgroup; 0 unless it was killed */
	uint32_t comm_state; /* of communicator 0: enum record_comm_state */
	int32_t init_rank, init_nranks; /* handed to its init */
	uint32_t told; /* 1: its launcher, or a signal to the job, told it to end; the caller's */
	uint64_t init_id;	/* hash of the id handed to its init, 0: init was not called */
	uint64_t aborted_after; /* calls made on it before this rank aborted it */
	int32_t asked;		/* what the library said of it: record_init.asked */
	uint32_t device_wait;	/* enum record_device */
	uint64_t settings;	/* hash of those settings that break calls, 0: not known */
	uint32_t descheduled;	/* 1: it moved lately, is kept from running, or is not known yet */
	uint32_t starved;	/* 1: its host did not let it run lately (progress.h) */
	uint8_t progressed;	/* 1: it made a step lately */
	uint8_t ran; /* 1: its process ran lately: it was not held all the time, whatever it is now */
	uint8_t traced; /* 1: a debugger or the like is attached to it */
	uint8_t works; /* 1: it moved data lately, of a preloaded program (decide/decide_steps.c) */
	uint32_t working;  /* 1: that wait is for work, its own or others' (watch_work) */
	uint32_t lost;	   /* enum view_lost; the caller's */
	uint32_t reported; /* 1: its own host says `lost`; the caller's */
	double silent;	   /* seconds for which it was so when that was said */
	struct view_comm comms[VIEW_COMMS];
	char site[104]; /* line of code of `oldest`, or else of `last`; "": not known */
};

/* Returns true if the rank is inside the init of some communicator. */
bool view_in_init(const struct rank_view *view);

/* Returns true if the rank has reported an error, or one of its communicators was aborted or failed. */
bool view_broke(const struct rank_view *view);

/* Returns true if the library said of one of its communicators that another rank is gone (ncclRemoteError). */
bool view_lost_peer(const struct rank_view *view);

/* Returns true if its process is stopped, and was all the time. */
static inline bool view_stopped(const struct rank_view *view)
{
	return view->process == PROCESS_STOPPED && !view->ran;
}

/* The kind of the call that a preloaded program waits for; CALL_KIND_COUNT: another wait. */
uint32_t view_wait_kind(const struct rank_view *view);

/* Read `memory` as of now (clock_ns) into the view, but for the caller's and process' fields. */
void view_read(struct rank_view *view, const struct record_memory *memory, uint64_t now);

/* The part of that about communicator 0. */
void view_read_init(struct rank_view *view, const struct record_init *init);

/* "AllReduce count 8 float sum"; hostile records are fine. Returns buf. */
char *view_call(const struct record *record, char *buf, size_t len);

/* Writes the line of code of the call that the rank waits in, or made last, without its folder and (`brief`) function:
 * "train.py:88 (step)"; "": not known. Returns buf. */
char *view_site(const struct rank_view *view, bool brief, char *buf, size_t len);

/* Writes the rank's error as one line of printable characters; "" for none. Returns buf. */
char *view_error(const struct rank_view *view, char *buf, size_t len);

/* The process in words: "alive", "stopped", "exited with 3", "killed by SIGKILL". */
char *view_process(const struct rank_view *view, char *buf, size_t len);

/* Returns true if this rank ended by itself, with an exit code that it had announced. */
bool view_finished(const struct rank_view *view);
/* Returns true if it ended in any other way. */
bool view_died(const struct rank_view *view);
/* Returns true if it left with an error of its own, which usage and unsupported are not. */
bool view_failed(const struct rank_view *view);

/* The outcome of this rank alone: OUTCOME_OK as long as it runs and is not overdue. */
enum outcome view_outcome(const struct rank_view *view);

/* Returns true if something is wrong that no waiting will repair: a rank died, reported an error
 * while others go on, or (only if `deadlines`) waits past its deadline. */
bool views_abnormal(const struct rank_view *views, size_t n, bool deadlines);

/* Returns true if one rank left with an error of its own, and all others ended well: no other one can be the cause. */
bool views_one_failed(const struct rank_view *views, size_t n);

/* How to ask the Python of this process for its frames, as its memory has it. */
struct python_process python_of(const struct record_memory *memory, pid_t pid);
