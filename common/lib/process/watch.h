/* watch.h: how the harness tells an observer what it is doing. The flight recorder implements
 * it; common/ knows only this. */
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
	PHASE_SPARE, /* a surplus rank that waits for the others to finish; has no deadline */
	PHASE_DONE
};

/* Lower-case word for a phase: "start" "init" "setup" "warmup" "timed" "check" "finalise"
 * "aside" "done". */
const char *phase_name(enum phase phase);

/* Events in the life of a communicator on this rank. */
enum comm_event {
	COMM_INIT, /* init is about to be called */
	COMM_READY,
	COMM_FAILED,  /* init returned an error */
	COMM_ABORTED, /* this rank is about to abort it */
	COMM_LEFT     /* ... to destroy it */
};

/* Calls made between a group's begin and its end are started by its end, all at once. */
enum group_event {
	GROUP_BEGUN,
	GROUP_ENDING, /* its end is about to be handed to the backend */
	GROUP_ENDED
};

/* Any hook may be NULL. None of them fails, blocks or makes system calls. Called from the rank's
 * main thread only. */
struct watch {
	void *ctx;
	void (*phase)(void *ctx, enum phase phase);
	/* A wait begins that must end within `seconds` (0: no deadline); `what` is a string
	 * constant. Waits do not nest. */
	void (*enter)(void *ctx, const char *what, double seconds);
	/* As enter, for work of the rank's own in which it waits for nobody: -T may lengthen the
	 * time but not cut it. */
	void (*work)(void *ctx, const char *what, double seconds);
	void (*leave)(void *ctx);
	/* The call is about to be handed to the backend; returns a ticket for `returned`. */
	uint64_t (*call)(void *ctx, const struct call *call);
	void (*returned)(void *ctx, uint64_t ticket, int rc);
	void (*group)(void *ctx, enum group_event event);
	/* Everything enqueued so far on every stream has completed. */
	void (*completed)(void *ctx);
	/* A captured graph was launched: the last `calls` calls run once more. */
	void (*replayed)(void *ctx, uint32_t calls);
	/* Something becomes of communicator `comm`; `request` NULL unless COMM_INIT, COMM_READY
	 * or COMM_FAILED. */
	void (*comm)(void *ctx, uint32_t comm, enum comm_event event,
		     const struct comm_request *request);
	/* The library was asked whether communicator `comm` has failed meanwhile: `code` is its
	 * own number for that, 0: it has not. */
	void (*asked)(void *ctx, uint32_t comm, int code);
	/* The rank begins (`waits`), or has ended, to wait until its device has completed what is
	 * enqueued. Backends whose calls block say nothing. */
	void (*device)(void *ctx, bool waits);
	/* Device times of a call, in ns on CLOCK_MONOTONIC's scale (--record=full); end 0: the
	 * device has come to it and is not done. */
	void (*device_times)(void *ctx, uint64_t ticket, uint64_t start_ns, uint64_t end_ns);
	/* At init, of several hosts: of the words that `ranks` processes send each other (hearing.h) those of
	 * the mask have not come. `unanswered`: connections to this process cannot be completed. */
	void (*unheard)(void *ctx, int ranks, uint64_t mask, bool unanswered);
	/* The check of a call, the newest with its offset, found this. */
	void (*wrong)(void *ctx, const struct wrong_data *wrong);
};

/* Tell an observer, which may be NULL, as may its hook. Arguments as the hook has them. */
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
#define watch_unheard(w, ranks, mask, no) WATCH_TELL(w, unheard, ranks, mask, no)
#define watch_wrong(w, data)		  WATCH_TELL(w, wrong, data)
#define watch_completed(w)		  WATCH_TELL(w, completed)
