/* watch.h: hooks by which the harness reports its progress to an observer, the recorder. */
#pragma once

struct call;
struct comm_request;
struct wrong_data;

enum phase {
	PHASE_START, /* process started, MPI not yet initialised */
	PHASE_INIT,  /* job and communicator set-up */
	PHASE_SETUP, /* buffers: allocate, fill, poison */
	PHASE_WARMUP,
	PHASE_TIMED,
	PHASE_CHECK,
	PHASE_FINALISE,
	PHASE_SPARE, /* a surplus rank waits for the others; no deadline */
	PHASE_DONE
};

/* Word for a phase: "start" "init" "setup" "warmup" "timed" "check" "finalise" "aside" "done". */
const char *phase_name(enum phase phase);

/* Events in the life of a communicator on this rank. */
enum comm_event {
	COMM_INIT, /* before the call of init */
	COMM_READY,
	COMM_FAILED,  /* init returned an error */
	COMM_ABORTED, /* before this rank aborts it */
	COMM_LEFT     /* before this rank destroys it */
};

/* Calls between a group's begin and end start together at its end. */
enum group_event {
	GROUP_BEGUN,
	GROUP_ENDING, /* before the group's end goes to the backend */
	GROUP_ENDED
};

/* Any hook may be NULL. They do not fail, block or make system calls; of the main thread. */
struct watch {
	void *ctx;
	void (*phase)(void *ctx, enum phase phase);
	/* A wait begins, with a deadline in `seconds` (0: none). `what` is a constant. */
	void (*enter)(void *ctx, const char *what, double seconds);
	/* As enter, for work of this rank alone: -T may lengthen the time but not cut it. */
	void (*work)(void *ctx, const char *what, double seconds);
	void (*leave)(void *ctx);
	/* Before the call goes to the backend; returns a ticket for `returned`. */
	uint64_t (*call)(void *ctx, const struct call *call);
	void (*returned)(void *ctx, uint64_t ticket, int rc);
	void (*group)(void *ctx, enum group_event event);
	/* All work enqueued so far on all streams is complete. */
	void (*completed)(void *ctx);
	/* A captured graph was launched: the last `calls` calls run again. */
	void (*replayed)(void *ctx, uint32_t calls);
	/* An event of communicator `comm`; `request` is NULL unless the event is COMM_INIT,
	 * COMM_READY or COMM_FAILED. */
	void (*comm)(void *ctx, uint32_t comm, enum comm_event event,
		     const struct comm_request *request);
	/* The library was asked for `comm`'s asynchronous error: `code` is its number, 0: none. */
	void (*asked)(void *ctx, uint32_t comm, int code);
	/* The rank starts (`waits`) or ends a wait for its device to complete all enqueued work.
	 * Backends with blocking calls do not use it. */
	void (*device)(void *ctx, bool waits);
	/* Device times of a call, ns of CLOCK_MONOTONIC (--record=full); end 0: it started. */
	void (*device_times)(void *ctx, uint64_t ticket, uint64_t start_ns, uint64_t end_ns);
	/* The result of a data check: the newest call with this offset is wrong. */
	void (*wrong)(void *ctx, const struct wrong_data *wrong);
};

/* Calls a hook of an observer; both may be NULL. Arguments as in the hook. */
#define WATCH_TELL(w, hook, ...)                                                                   \
	do {                                                                                       \
		const struct watch *told = (w);                                                    \
                                                                                                   \
		if (told && told->hook)                                                            \
			told->hook(told->ctx __VA_OPT__(, ) __VA_ARGS__);                          \
	} while (0)
#define watch_phase(w, phase_now)	  WATCH_TELL(w, phase, phase_now)
#define watch_enter(w, what, seconds)	  WATCH_TELL(w, enter, what, seconds)
#define watch_work(w, what, seconds)	  WATCH_TELL(w, work, what, seconds)
#define watch_leave(w)			  WATCH_TELL(w, leave)
#define watch_comm(w, id, event, request) WATCH_TELL(w, comm, id, event, request)
#define watch_group(w, event)		  WATCH_TELL(w, group, event)
#define watch_replayed(w, calls)	  WATCH_TELL(w, replayed, calls)
#define watch_asked(w, comm, code)	  WATCH_TELL(w, asked, comm, code)
#define watch_device(w, waits)		  WATCH_TELL(w, device, waits)
#define watch_wrong(w, data)		  WATCH_TELL(w, wrong, data)
#define watch_completed(w)		  WATCH_TELL(w, completed)
