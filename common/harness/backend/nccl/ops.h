/* ops.h: shared by the files of the nccl backend. Internal to backend/nccl. */
#pragma once

#include <cuda_runtime_api.h>

#include "backend/backend.h"
#include "backend/call.h"
#include "backend/nccl/api.h"
#include "check/check_cuda.h"

/* Values of two types since NCCL 2.24; older headers do not name them. */
enum { NCCL_FLOAT8_E4M3 = 10, NCCL_FLOAT8_E5M2 = 11 };
enum { NCCL_WITH_FLOAT8 = NCCL_VERSION(2, 24, 0) };

/* Memory from alloc. */
struct nccl_memory {
	struct nccl_memory *next;
	void *base, *ptr; /* as allocated; aligned, as returned */
	size_t bytes;
	void *handle; /* handle of the registration, NULL: none */
	bool window;
};

/* A communicator. Memory is registered with the first one, that of all ranks. */
struct nccl_comm {
	ncclComm_t comm; /* NULL: none */
	int rank, size;
	bool mulsum_made[DT_COUNT];
	ncclRedOp_t mulsum[DT_COUNT];
};

/* A hold of the stream, which ends when *word is `until` or more. */
struct nccl_hold {
	uint32_t *word, *on_device; /* host memory, and its device address; NULL until first use */
	uint32_t until;
	cudaStream_t aside; /* stream of the kernel that ends a hold; NULL until first use */
	/* Contention ends when the word behind is 1; its stream and memory, NULL until first use. */
	cudaStream_t contend;
	void *memory;
};

struct nccl {
	struct backend be;
	cudaStream_t stream; /* NULL with -y */
	struct nccl_comm comms[COMM_SET_MAX];
	bool broken; /* after an error: the communicators can only be aborted */
	bool capturing;
	int depth;	/* depth of open groups */
	int version;	/* of the library, by ncclGetVersion */
	int capability; /* compute capability x 10 */
	struct nccl_memory *memory;
	cudaEvent_t *marks;	    /* made by the first mark; NULL entries: a failed start */
	struct device_clock *clock; /* NULL without --record=full */
	struct nccl_hold hold;
	struct nccl_compute *compute;	   /* compute.c; NULL until first use */
	struct check_cuda_result *verdict; /* device memory, for the current verify */
};

static inline struct nccl *to_nccl(struct backend *be)
{
	return (struct nccl *)be;
}

/* Sets the error of the library: `what` failed with `rc`. Returns -EIO. */
int nccl_fail(struct nccl *nccl, const char *what, ncclResult_t rc);
int nccl_cuda_fail(struct nccl *nccl, const char *what, cudaError_t rc);

/* Shortest deadline of init: some ranks take 1 to 5 s with a cold driver and library. */
#define NCCL_INIT_SECONDS 30.0

/* ops.c: hook. */
int nccl_wait(struct backend *be);

/* memory.c: hooks. */
int nccl_alloc(struct backend *be, size_t bytes, size_t used, void **ptr);
void nccl_release(struct backend *be, void *ptr, size_t bytes, size_t used);
int nccl_register(struct backend *be, void *ptr, size_t bytes);
int nccl_fill(struct backend *be, void *ptr, const struct check_data *data, int rank, uint64_t base,
	      size_t count);
int nccl_poison(struct backend *be, void *ptr, size_t bytes);
int nccl_copy(struct backend *be, void *dst, const void *src, size_t bytes);
int nccl_store(struct backend *be, void *dst, const void *host, size_t bytes);
int nccl_fetch(struct backend *be, void *host, const void *src, size_t bytes);
int nccl_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
		const struct check_data *data, uint64_t base, struct verify_result *result);

/* comm.c: hooks. */
int nccl_comm_id(struct backend *be, unsigned char *id);
int nccl_comm_open(struct backend *be, const struct comm_request *request);
void nccl_comm_close(struct backend *be);
int nccl_comm_abort(struct backend *be);

/* Begins a wait with a deadline of at least `seconds` and at least the job's deadline. */
void nccl_enter(struct backend *be, const char *what, double seconds);

/* Undoes register_memory, if done. */
void nccl_deregister(struct nccl *nccl, struct nccl_memory *memory);

/* calls.c: hooks. */
int nccl_issue(struct backend *be, const struct call *call, uint64_t ticket);
int nccl_group_begin(struct backend *be);
int nccl_group_end(struct backend *be);

/* Destroys the operators that issue made; call it before the communicator is destroyed. */
void nccl_calls_release(struct nccl_comm *comm);

/* clock.c: hooks. */
int nccl_mark(struct backend *be, int number);
int nccl_between(struct backend *be, int n, double *seconds);
void nccl_marks_release(struct nccl *nccl);

/* kernel.c: hook. */
int nccl_kernel_cost(struct backend *be, struct kernel_cost *cost);

/* breakage.c: hooks. */
int nccl_spin(struct backend *be, double seconds);
int nccl_wait_word(struct backend *be, double seconds);
int nccl_bad_access(struct backend *be);
int nccl_contend(struct backend *be, bool memory, double part, double seconds);
void nccl_let_go(struct backend *be);

/* compute.c: hooks, and the end of what they made. */
int nccl_compute_rate(struct backend *be, double *per_second);
int nccl_compute_run(struct backend *be, double work);
int nccl_compute_join(struct backend *be, bool calls);
int nccl_compute_took(struct backend *be, double *seconds);
void nccl_compute_release(struct nccl *nccl);

/* Ends a hold and frees its memory. */
void nccl_breakage_release(struct nccl *nccl);

/* clock.c: device times of calls. Pairs of events in a ring enclose a call or a group of calls, and
 * are read once the stream has passed them. Only open and refresh wait. While the ring is full of
 * unfinished pairs, calls have no times. */
struct device_clock;

/* Returns cudaSuccess and *out, or an error and NULL. Waits for the stream. `watch` is borrowed. */
cudaError_t device_clock_open(struct device_clock **out, cudaStream_t stream,
			      const struct watch *watch);
void device_clock_close(struct device_clock *clock); /* NULL is allowed */

/* Before the call or group; before its launch; for a call in between; after it. */
cudaError_t device_clock_begin(struct device_clock *clock);
cudaError_t device_clock_launch(struct device_clock *clock);
void device_clock_ticket(struct device_clock *clock, uint64_t ticket);
cudaError_t device_clock_end(struct device_clock *clock);

/* Waits, at most a tenth of a second, until the stream has started the last call or group. */
cudaError_t device_clock_started(struct device_clock *clock);

/* Reports every finished pair to the watch, and the calls that the stream has only started. */
cudaError_t device_clock_harvest(struct device_clock *clock);

/* On an idle stream: takes a new base on CLOCK_MONOTONIC if the last is more than a second old. */
cudaError_t device_clock_refresh(struct device_clock *clock);
