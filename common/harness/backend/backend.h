/* backend.h: the interface of a backend, which executes calls and owns buffers (NAME/ops.c). */
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

/* Printed in the header of every sink; "" if not applicable. */
struct backend_facts {
	char library[64];	/* "NCCL 2.28.9" / "Open MPI v4.1.4" : version in use */
	char runtime[64];	/* "CUDA runtime 13.0, driver 13.0" */
	char device[64];	/* "NVIDIA H200" / CPU model */
	char bus_id[32];	/* "0000:18:00.0" */
	int device_index;	/* -1 on mpi */
	int library_code;	/* ncclGetVersion's code (22809), 0 on mpi */
	char library_path[256]; /* path of the loaded library file, with links resolved */
	size_t device_memory;	/* bytes */
	char config[128];	/* of the communicator: "blocking=1 nvlinkCentricSched=0" */
};

/* A backend instance, passed to every hook. Backends embed it as first member. */
struct backend {
	const struct backend_ops *ops;
	struct job *job;	   /* borrowed */
	const struct watch *watch; /* borrowed, may be NULL */
	struct error *err;	   /* borrowed; every hook that returns < 0 sets it */
	struct backend_config config;
	double slow_send; /* seconds by which the next send takes longer, for a fault; 0: none */
};

/* Hooks return 0 or a negative errno with the error set and run on the rank's main thread, unless
 * stated otherwise. dst, src, ptr are buffer addresses of this backend (device memory on nccl). */

/* Calls captured once and replayed (-G). All hooks are required. */
struct backend_graph {
	/* Calls between begin and end are captured, not executed. */
	int (*begin)(struct backend *be);
	/* *graph is owned by the caller; NULL after an error. */
	int (*end)(struct backend *be, void **graph);
	int (*launch)(struct backend *be, void *graph);
	/* NULL is allowed. */
	void (*release)(struct backend *be, void *graph);
};

/* Timestamps on the stream (-I), for a backend whose calls continue after they return; for others
 * the host's clock serves. All hooks are required. */
struct backend_marks {
	/* Records the time when the stream reaches this point, as number 0 to 1023. */
	int (*mark)(struct backend *be, int number);
	/* After wait: writes the n - 1 times in seconds between the first n marks. */
	int (*between)(struct backend *be, int n, double *seconds);
};

/* Device failures, for faults. All hooks are required. All except the last are ordered on the
 * stream of calls, before later calls, and return at once. */
struct backend_breakage {
	/* A kernel spins until let_go, at most for `seconds`, even if this process ends. */
	int (*spin)(struct backend *be, double seconds);
	/* The stream waits for a word in memory until let_go, at most for `seconds`. */
	int (*wait_word)(struct backend *be, double seconds);
	/* A kernel writes to an unmapped address, which breaks the context. */
	int (*bad_access)(struct backend *be);
	/* Beside the stream, for `seconds` at most: a kernel holds `part` of the multiprocessors (0 to 1), or with
	 * `memory` as many move memory. Ends with let_go, verify and comm_close. */
	int (*contend)(struct backend *be, bool memory, double part, double seconds);
	/* Ends such a wait at once; does nothing without one. Errors and close do the same. */
	void (*let_go)(struct backend *be);
};

/* Compute beside calls, on a stream of its own, for a backend with BACKEND_ASYNC. All hooks are required. */
struct backend_compute {
	/* Measures the kernel on the idle device, which takes some milliseconds: work per second. */
	int (*rate)(struct backend *be, double *per_second);
	/* Enqueues a kernel of so much work, behind earlier ones. */
	int (*run)(struct backend *be, double work);
	/* Later calls wait for all kernels so far; or with false later kernels for all calls so far. */
	int (*join)(struct backend *be, bool calls);
	/* After join(true) and wait: writes the device's seconds of all kernels since the last time. */
	int (*took)(struct backend *be, double *seconds);
};

#define DEVICE_NAME 64

struct backend_ops {
	const char *name; /* required */
	unsigned flags;	  /* bits of backend_flag, BACKEND_FLAGS_NAME */

	/* Required. Returns the number of usable devices, 0 if the backend cannot run (mpi: 1). */
	int (*devices)(void);
	/* Required with BACKEND_DEVICE. Writes PCI bus id, a space, and UUID: unique per device,
	 * equal on any host; "" without one. DEVICE_NAME bytes suffice; no context is made. */
	void (*device_name)(int device, char *buf, size_t len);
	/* Required. Opens the device and a stream, without a communicator. The caller owns *out. */
	int (*open)(struct job *job, const struct watch *watch, struct error *err,
		    const struct backend_config *config, struct backend **out);
	/* Required. Destroys remaining communicators and frees everything but host memory that was
	 * never released; NULL is allowed. */
	void (*close)(struct backend *be);
	/* Required. */
	void (*facts)(struct backend *be, struct backend_facts *facts);
	/* Required. Returns false with a reason if (dtype, op) cannot run; OP_NONE: data move. */
	bool (*supports)(struct backend *be, enum dtype dtype, enum redop op, char *why,
			 size_t len);
	/* Optional. Returns the memory in use on this process' device, bytes (-M). */
	size_t (*memory_used)(struct backend *be);
	/* Optional, for a backend whose calls are kernels. Measures on the idle stream of calls;
	 * takes some milliseconds and uses no communicator. */
	int (*kernel_cost)(struct backend *be, struct kernel_cost *cost);

	/* Required. Makes a new, unique name for a communicator, COMM_ID_BYTES. Local. */
	int (*comm_id)(struct backend *be, unsigned char *id);
	/* Required. Makes the requested communicator; blocks until all its ranks have called.
	 * Watches its own wait, under the name of the library's function. */
	int (*comm_open)(struct backend *be, const struct comm_request *request);
	/* Required. Closes all communicators, if any. */
	void (*comm_close)(struct backend *be);
	/* Required with BACKEND_ABORT. Aborts the communicator on this rank alone, after a report
	 * to the watch. Safe to repeat. Later calls on it are errors. */
	int (*comm_abort)(struct backend *be);

	/* Required. Allocates pools, aligned to at least 4096 bytes and registered by the config.
	 * At most `used` bytes will be written: if memory is committed on write, that much must be
	 * available. alloc returns -ENOMEM with OUTCOME_USAGE if it is not. */
	int (*alloc)(struct backend *be, size_t bytes, size_t used, void **ptr);
	/* Required. Takes what alloc took and returned; NULL is allowed. */
	void (*release)(struct backend *be, void *ptr, size_t bytes, size_t used);
	/* Optional. -R, after comm_open, collective. */
	int (*register_memory)(struct backend *be, void *ptr, size_t bytes);

	/* Required, all four. Stream-ordered: they see earlier calls and precede later ones. They
	 * may return before completion. */
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
	/* Required with BACKEND_ASYNC. Waits briefly until the last call is in progress; returns at
	 * once if that cannot be determined. */
	int (*started)(struct backend *be);
	/* Required. Waits until all issued work is complete; polls the asynchronous error. */
	int (*wait)(struct backend *be);

	const struct backend_graph *graph;	 /* required with BACKEND_GRAPH */
	const struct backend_marks *marks;	 /* optional */
	const struct backend_breakage *breakage; /* optional */
	const struct backend_compute *compute;	 /* optional */
};

extern const struct backend_ops backend_mpi; /* libhangar_mpi.so's: see mpi_half.h */
extern const struct backend_ops backend_null;
extern const struct backend_ops backend_nccl; /* defined with HAVE_NCCL only */

/* The backends that can be used here, by number, nccl first; NULL behind the last. */
const struct backend_ops *backend_at(size_t i);

/* Returns the named backend; for "auto" the first with a device. NULL: not here. */
const struct backend_ops *backend_find(const char *name);

/* Sets the error that says why it is not. Returns its code. */
int backend_missing(const char *name, struct error *err);

/* The same of a backend whose ranks MPI has to find, where they meet over TCP. */
int backend_unmet(const char *name, int nranks, struct error *err);
