/* backend.h: what executes calls and holds buffers. One table of hooks per backend, in
 * NAME/ops.c. */
#pragma once

#include "settings/backend_kind.h"
#include "base/dtype.h"
#include "base/error.h"
#include "process/watch.h"

struct call;
struct check_data;
struct comm_request;
struct job;
struct kernel_cost;
struct segment;
struct verify_result;

struct backend_config {
	int device; /* device ordinal of this rank; ignored by mpi */
	enum alloc_kind alloc;
	int local_register;  /* -R: 0 none, 1 ncclCommRegister, 2 symmetric window */
	int cta_policy;	     /* -x: -1 unset, 0 default, 1 efficiency, 2 zero */
	bool nvlink_centric; /* ncclConfig nvlinkCentricSched, which nccl-tests always sets */
	bool stream_null;    /* -y */
	bool record_devices; /* --record=full: event pair around every call */
};

/* Printed in the header of every sink; "" where it does not apply. */
struct backend_facts {
	char library[64];	/* "NCCL 2.28.9" / "Open MPI v4.1.4" : version in use */
	char runtime[64];	/* "CUDA runtime 13.0, driver 13.0" */
	char device[64];	/* "NVIDIA H200" / CPU model */
	char bus_id[32];	/* "0000:18:00.0" */
	int device_index;	/* -1 on mpi */
	int library_code;	/* ncclGetVersion's code (22809), 0 on mpi */
	char library_path[256]; /* the file that it was loaded from, where links lead to */
	size_t device_memory;	/* bytes */
	char config[128];	/* effective communicator configuration, "blocking=1
	                        * nvlinkCentricSched=0 alloc=nccl" */
};

/* A backend instance: what every hook gets. Backends embed it as first member. */
struct backend {
	const struct backend_ops *ops;
	struct job *job;	   /* borrowed */
	const struct watch *watch; /* borrowed, may be NULL */
	struct error *err;	   /* borrowed; every hook that returns < 0 has set it */
	struct backend_config config;
};

/* Unless said otherwise a hook returns 0 or a negative errno with the error set, and runs on the
 * rank's main thread. Pointers named dst, src, ptr are buffer addresses of this backend (device
 * memory on nccl). */

/* Calls captured once and replayed (-G). All hooks are required. */
struct backend_graph {
	/* Calls issued between begin and end are captured, not carried out. */
	int (*begin)(struct backend *be);
	/* *graph is owned by the caller; NULL after an error. */
	int (*end)(struct backend *be, void **graph);
	int (*launch)(struct backend *be, void *graph);
	/* NULL is fine. */
	void (*release)(struct backend *be, void *graph);
};

/* Moments of the stream (-I). All hooks are required. */
struct backend_marks {
	/* Note the moment the stream reaches this place, number 0 to 1023. */
	int (*mark)(struct backend *be, int number);
	/* After wait: the seconds between consecutive marks of the first n, n - 1 of them. */
	int (*between)(struct backend *be, int n, double *seconds);
};

/* Ways to break what the device does with calls, for faults. All hooks are required; all but the last are
 * ordered on the stream of calls, ahead of what is issued next, and return at once. */
struct backend_breakage {
	/* A kernel spins until let_go, `seconds` at most, also when this process is gone. */
	int (*spin)(struct backend *be, double seconds);
	/* The stream waits for a word in memory, until let_go or for as long. */
	int (*wait_word)(struct backend *be, double seconds);
	/* A kernel writes to an address that nobody has mapped: from there on nothing works. */
	int (*bad_access)(struct backend *be);
	/* End what was made to wait, at once. Fine when nothing is; errors and close do the same. */
	void (*let_go)(struct backend *be);
};

#define DEVICE_NAME 64

struct backend_ops {
	const char *name; /* required */
	unsigned flags;	  /* bits of backend_flag, BACKEND_FLAGS_NAME */

	/* Required. Devices this process could use: > 0, or 0 when the backend can't run here
	 * (mpi: always 1). */
	int (*devices)(void);
	/* Required with BACKEND_DEVICE. PCI bus id, a space, UUID: the same in every process, on any host,
	 * for the same device, and no other's; "" where it has none. DEVICE_NAME bytes do; no context. */
	void (*device_name)(int device, char *buf, size_t len);
	/* Required. Take the device and a stream; no communicator yet. On success *out is owned
	 * by the caller. */
	int (*open)(struct job *job, const struct watch *watch, struct error *err,
		    const struct backend_config *config, struct backend **out);
	/* Required. Destroys communicators that are still there and frees everything; NULL is
	 * fine. */
	void (*close)(struct backend *be);
	/* Required. */
	void (*facts)(struct backend *be, struct backend_facts *facts);
	/* Required. false with a reason when (dtype, op) can't be run here; op is OP_NONE for
	 * pure data movement. */
	bool (*supports)(struct backend *be, enum dtype dtype, enum redop op, char *why,
			 size_t len);
	/* Optional. Device memory in use by this process' device, bytes (-M). */
	size_t (*memory_used)(struct backend *be);
	/* Optional: a backend whose calls are kernels has it. Measured on the stream of calls,
	 * which is idle; takes some milliseconds and touches no communicator. */
	int (*kernel_cost)(struct backend *be, struct kernel_cost *cost);

	/* Required. A name for a communicator that is about to be made, COMM_ID_BYTES; another
	 * one each time. Local. */
	int (*comm_id)(struct backend *be, unsigned char *id);
	/* Required. The communicator that is asked for, to be used for all calls; blocks until
	 * all its ranks came. Watches its own wait, under the name of the library's function. */
	int (*comm_open)(struct backend *be, const struct comm_request *request);
	/* Required. Nothing happens when there is none. */
	void (*comm_close)(struct backend *be);
	/* Required with BACKEND_ABORT: gives the communicator up on this rank alone. Says so to
	 * the watch first. Safe to repeat. Calls made on what was given up are errors. */
	int (*comm_abort)(struct backend *be);

	/* Required. Memory for pools, at least 4096-byte aligned, registered as the config asks.
	 * At most `used` of these bytes will ever be written: where memory is taken when it is
	 * written, that is what has to fit. alloc returns -ENOMEM with OUTCOME_USAGE when it
	 * does not. */
	int (*alloc)(struct backend *be, size_t bytes, size_t used, void **ptr);
	/* Required. NULL is fine. */
	void (*release)(struct backend *be, void *ptr);
	/* Optional. -R, after comm_open, collective. */
	int (*register_memory)(struct backend *be, void *ptr, size_t bytes);

	/* Required, all four; stream-ordered (they see and precede calls as issued), may return
	 * before done. */
	int (*fill)(struct backend *be, void *ptr, const struct check_data *data, int rank,
		    uint64_t base, size_t count);
	int (*poison)(struct backend *be, void *ptr, size_t bytes);
	int (*copy)(struct backend *be, void *dst, const void *src, size_t bytes);
	int (*store)(struct backend *be, void *dst, const void *host, size_t bytes);
	/* Required, both; synchronous. */
	int (*fetch)(struct backend *be, void *host, const void *src, size_t bytes);
	int (*verify)(struct backend *be, const void *recv, const struct segment *segments, int n,
		      const struct check_data *data, uint64_t base, struct verify_result *result);

	/* Required. */
	int (*issue)(struct backend *be, const struct call *call, uint64_t ticket);
	/* Required, both. */
	int (*group_begin)(struct backend *be);
	int (*group_end)(struct backend *be);
	/* Required with BACKEND_ASYNC. Waits, briefly, until the last call is the one in progress;
	 * returns at once where that cannot be known. */
	int (*started)(struct backend *be);
	/* Required. Until everything issued has completed; polls the communicator's async error. */
	int (*wait)(struct backend *be);

	const struct backend_graph *graph;	 /* required with BACKEND_GRAPH */
	const struct backend_marks *marks;	 /* optional */
	const struct backend_breakage *breakage; /* optional */
};

extern const struct backend_ops backend_mpi;
extern const struct backend_ops backend_nccl; /* present only where HAVE_NCCL is defined */
extern const struct backend_ops
	backend_null; /* the harness alone: common/harness/backend/null/ops.c */

/* The tables of this build, NULL-terminated, nccl first. */
extern const struct backend_ops *const backend_table[];

/* The named backend, or for "auto" the first with a device whose calls move data. NULL when this build has none of
 * that name. */
const struct backend_ops *backend_find(const char *name);
