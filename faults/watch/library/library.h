/* library.h: libhangar.so inside: what its parts have of each other.
 *
 * The library stands between a program that knows nothing of it and libnccl. It records what the program calls,
 * as hangar's own ranks do (record/record.h), in memory that outlives the program; has the device write into
 * the record's slot when its stream is past the call; and hands everything on. It starts no thread, and does
 * nothing before the program makes its first communicator, or where no monitor asks for it (HANGAR_RUN). */
#pragma once

#include "base/call_value.h"
#include "preload/fault_spec.h"
#include "record/recorder.h"

#define EXPORT __attribute__((visibility("default")))

/* NCCL's and CUDA's binary interfaces, as far as used: neither is needed to build this. */
enum { NCCL_SUCCESS = 0, NCCL_INVALID_USAGE = 5, NCCL_REMOTE_ERROR = 6, NCCL_IN_PROGRESS = 7 };
enum { NCCL_OLDEST = 21800, NCCL_NEWEST = 23300 }; /* versions that were read: 2.18 to 2.32 */
struct nccl_id {
	char bytes[128];
};
enum {
	CU_HOST_REGISTER = 3 /* PORTABLE | DEVICEMAP */,
	CU_CAPTURE_RELAXED = 2,
	CU_NOT_READY = 600
};

/* ---- resolve.c: the functions behind the wrappers ---- */

enum library_of { OF_NCCL, OF_CUDA, OF_CUDART, LIBRARIES };

/* The real function, NULL: not there. Asked for once, at its first use. */
void *resolve(enum library_of library, const char *name, void **kept);
/* Calls it; -1: it is not there. */
#define CALL(library, name, types, arguments)                                                      \
	({                                                                                         \
		static void *kept_;                                                                \
		void *real_ = resolve(library, name, &kept_);                                      \
		real_ ? ((int(*) types)real_)arguments : -1;                                       \
	})

/* A symbol of the program's libraries; NULL: none has it. */
void *symbol(const char *name);
/* The same of what stands behind one of dlopen's handles. */
void *symbol_in(void *handle, const char *name);

/* A line on standard error. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define say_once(...)                                                                              \
	do {                                                                                       \
		static int said_;                                                                  \
		if (!__atomic_exchange_n(&said_, 1, __ATOMIC_RELAXED))                             \
			say(__VA_ARGS__);                                                          \
	} while (0)

/* ---- session.c: the record of this process, and its communicators ---- */

/* ncclConfig_t, which only grows: the members before its name have been there since 2.18. */
struct nccl_config {
	size_t size;
	unsigned magic, version;
	int own[8];
	const char *name; /* since 2.27 */
};

struct preload_comm {
	void *handle;  /* ncclComm_t; NULL: this number is free */
	void *context; /* CUcontext in which it was made */
	uint64_t id;
	uint32_t children; /* splits and shrinks of it so far */
	/* that the program made: counted while a fault is armed */
	uint64_t calls, kinds[CALL_KIND_COUNT];
	uint64_t held; /* non-blocking: a call that NCCL may not have launched yet; 0: none */
	void *held_stream;
	bool told;	     /* NCCL tells of its calls (plugin.c): the handle is none of NCCL's */
	bool later;	     /* of these: a thread of NCCL's launches the kernels */
	bool sampled;	     /* the newest call is of a block that is sampled */
	struct stamp *stamp; /* of the call or group that is on its way; NULL: none */
};

#define PRELOAD_HELD  256
#define PRELOAD_RANKS 16 /* of one process */

struct preload_stream {
	void *handle;
	uint64_t marked_ns;	     /* when it was last asked to say that it is past a call */
	uint64_t before_ns;	     /* the same: that it has come to one */
	uint64_t held[PRELOAD_HELD]; /* tickets of calls behind that: it was not asked for */
	size_t nheld;
	int comm; /* of the newest */
};

/* A call, or the calls of a group on one communicator, between two events of its stream. */
#define PRELOAD_STAMPS 256
enum stamp_state { STAMP_BEGUN, STAMP_ENDED, STAMP_VOID };
struct stamp {
	void *begin, *end, *stream;
	uint64_t ticket, enqueued_ns; /* of the last call; of the first */
	unsigned calls;
	int comm;
	uint8_t part;
	enum stamp_state state;
};
struct stamps {
	struct stamp ring[PRELOAD_STAMPS];
	uint64_t head, tail; /* taken under session_lock(); read by one thread at a time */
	int open;	     /* communicators in a block */
	uint8_t part;	     /* as in record_sample */
	bool hole;	     /* the last call was not stamped */
	bool broken;	     /* the device gives no times: no more of them */
	double spent;	     /* stamps that were taken, less those that were allowed since */
	uint64_t allowed_ns, read_ns; /* when that was counted; when stamps were last read */
	int reading;
	void *anchor; /* event of a known time, NULL: none yet */
	double anchor_ns;
};

/* One rank's record; a process with several ranks has one for each device. */
struct session {
	struct recorder recorder;
	int device;	 /* ordinal, -1: not known */
	uint64_t mapped; /* the device's address of the record's times, 0: it has none */
	bool opened;	 /* that was tried */
	struct watch watch;
	struct preload_comm comms[RECORD_COMMS];
	int ncomms; /* numbers that were ever given */
	int socket; /* to the monitor: the kernel closes it, whatever ends the process */
	struct preload_stream streams[256];
	int nstreams;
	size_t nheld; /* on all of them */
	struct stamps stamps;
	bool struck; /* the fault did what it does */
	bool armed;  /* with this: */
	struct fault_spec fault;
	double left; /* time at which the fault let go of the newest call, seconds; 0: none yet */
};

/* A communicator that is being made. */
struct making {
	struct session *session;
	int number; /* its, -1: it is not recorded */
	void **handle;
	int parent, nth; /* of a child: number of its parent, which had so many children then */
};

/* State of a thread. */
struct preload_call {
	struct session *session;
	uint64_t ticket;
	int comm;
	void *stream;
};
struct preload_corrupt { /* output that a fault overwrites, once NCCL has the call; 0 bytes: none */
	void *at, *stream;
	size_t bytes;
};
struct preload_thread {
	int inside;		    /* NCCL, which calls some of its own functions by their names */
	int depth;		    /* of open groups */
	struct preload_call *calls; /* of the open group */
	size_t ncalls, room;
	struct making made[32]; /* in the open group */
	int nmade;
	struct preload_corrupt corrupt;
};
extern __thread struct preload_thread preload_thread;

/* plugin.c: returns true while a communicator is made that NCCL alone tells of. */
bool session_by_profiler(void);
/* Returns true if this library was loaded by NCCL, as its profiler plugin, and not with the
 * program. */
bool plugin_alone(void);
/* watcher.c: the name of the run that this process belongs to, as its launcher and environment
 * say. */
void watcher_key(char *key, size_t len);
/* Starts the monitor of this host, for the run with this name, and waits until it listens. 0 or
 * a negative errno: -ECANCELED, it has said why there is none. */
int watcher_start(const char *key);

/* Returns the n-th rank's of this process, NULL: there are not so many. */
struct session *session_nth(int n);
void session_lock(void);
void session_unlock(void);

/* The session that a communicator belongs to, and its number there; NULL: it is not known. */
struct session *session_of(const void *handle, int *number);
/* The number of a stream: that of the 256th and all further ones is 255. */
uint32_t session_stream(struct session *s, const void *stream);

/* ---- a communicator on its way: from the wrapper's begin to its end, which returns `rc` ---- */

/* A fault may change rank and nranks. `config` may be NULL. */
void make_begin(struct making *m, void **handle, const struct nccl_id *id, int *rank, int *nranks,
		const struct nccl_config *config);
/* The same for the next child of a parent; ranks that come into one child have the same `apart`. */
void make_child(struct making *m, void **handle, void *parent, int apart,
		const struct nccl_config *config);
int make_end(struct making *m, int rc);
/* In a group it is there when that has ended. */
void make_settle(const struct making *m, int rc);
/* The program gives the communicator up; it has asked whether the communicator has failed. */
void comm_ends(void *handle, enum comm_event event);
int comm_asked(void *handle, int state, int rc);
/* All ranks of one communicator are in this process; returns `rc`. */
int comms_of_all(void **comms, int n, int rc);

/* ---- device.c: what the device writes ---- */

/* The device's and this process's words about a call, which others read at any time. */
static inline struct record_times *times_of(const struct session *s, uint64_t ticket)
{
	return &s->recorder.memory->times[ticket & (RECORD_RING - 1)];
}

/* Let the device write into the session's slots. False: calls count as done on return. */
bool device_open(struct session *s);
/* All of this call is enqueued: its mark is written, now or with later calls. */
void device_done(struct session *s, uint64_t ticket, int comm, void *stream);
/* Marks calls that have been unmarked for so long. It runs before the program waits for a stream or
 * asks for it, as PyTorch's watchdog does several times a second. */
#define MARK_NS 20000000ull
void device_flush(uint64_t age);

/* The stream says when it comes to the call, which is not handed to NCCL yet: at most one in
 * BEFORE_NS. */
#define BEFORE_NS 2000000ull
void device_before(struct session *s, uint64_t ticket, void *stream, int comm);
/* Returns true if what is enqueued on the stream is captured, and not executed. */
bool device_captures(void *stream);

/* The context of a communicator, or else of the stream, is this thread's, and no capture breaks,
 * from enter to leave. */
struct device_scope {
	bool other;
	int mode;
};
void device_enter(const struct session *s, int comm, void *stream, struct device_scope *scope);
void device_leave(struct device_scope *scope);

/* ---- stamps.c: the times at which the stream comes to a call and is past it ---- */

struct made;
/* Under session_lock(), after the call was recorded: the stamp that begins with it, NULL: none
 * does. */
struct stamp *stamp_take(struct session *s, const struct made *made);
/* Before NCCL has the call. */
void stamp_begin(struct session *s, struct stamp *stamp);
/* After NCCL has it, or all of its group, of which it is the communicator's last; `launched`: it
 * is on its stream. */
void stamp_end(struct session *s, uint64_t ticket, int comm, bool launched);
/* The communicator goes. */
void stamp_comm_ends(struct session *s, int comm);
/* Makes samples of the stamps that the device is past. */
void stamps_read(struct session *s);

/* ---- calls.c: a communication call, from the program to NCCL ---- */

/* As the program hands it over. The wrapper gives NCCL what stands here after call_begin(). */
struct made {
	enum call_kind kind;
	const void *send;
	void *recv;
	size_t count;
	int type, op, peer;
	void *comm, *stream;
	const void *caller; /* address in the program; NULL: not known */
	/* call_begin()'s own */
	struct session *session;
	int number;
	uint64_t ticket;
	bool recorded, twice;
	bool replayed; /* a launch of a graph makes it, on a stream and at a time of its own */
};

/* site.c: the line of code that this thread's call comes from, as record_site_of counts it,
 * under session_lock(). */
uint32_t site_find(struct session *s, uint32_t comm, const void *caller);
/* The N of Python 3.N, 0: this is no Python. */
unsigned int python_minor(void);

/* inject.c: arms the fault of the run with this name, if there is one. */
void inject_arm(struct session *s, const char *key);
/* Apply the armed fault to a call. Returns true if NCCL is to see it; else its result is *rc. */
bool inject(struct made *made, int *rc);
/* The same of a set-up; nranks and rank are NULL where they are the parent's. */
void inject_init(struct session *s, int number, int *nranks, int *rank);
/* Overwrites it, once. */
void inject_corrupt(void);

/* Stops recording while `on`, to measure its cost; found by dlsym. All ranks call it between the
 * same calls, none of them open, or their calls seem to differ. */
EXPORT void hangar_pause(int on);

/* Notes the call on its communicator `number`, before NCCL has it. */
void call_record(struct made *made);
/* graphs.c: the call is on a stream that is captured; the graph was instantiated; is launched,
 * which group_end() ends. */
void graph_captured(const struct made *made);
int graph_made(int rc, void **exec, void *graph);
void graph_launching(const void *exec, void *stream);
/* Returns true if NCCL is to make the call, as it stands then; else its result is *rc. */
bool call_begin(struct made *made, int *rc);
/* Returns `rc`, NCCL's result. */
int call_end(struct made *made, int rc);
/* These calls went to NCCL together, which returned `rc`: the device tells when it is past them. */
void calls_mark(const struct preload_call *calls, size_t n, int rc);
/* NCCL says of this communicator that nothing is in progress any more. */
void calls_release_held(struct session *s, int comm);
/* The program ends a group, and has: `rc` as NCCL returned, and as is returned. */
void group_start(void);
void group_ending(void);
int group_end(int rc, bool launched);
