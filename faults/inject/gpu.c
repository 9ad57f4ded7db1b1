/* gpu.c: a rank's GPU stands ahead of the call, breaks, or is full. Nothing outlasts 60 s. */
#include "backend/backend.h"
#include "backend/call.h"
#include "inject/fault.h"

/* The value of bound=, 60 s at most. */
static double hold_seconds(const struct fault_act *act)
{
	return fmin(fault_real(act->spec, "bound", 60), 60);
}

static int spin(const struct fault_act *act)
{
	return act->chain->backend->ops->breakage->spin(act->chain->backend, hold_seconds(act));
}

const struct fault fault_gpu_stuck = {
	.name = "gpu-stuck",
	.args = "bound=SECONDS",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "hang|ok",
	.fire = spin,
};

static int wait_word(const struct fault_act *act)
{
	return act->chain->backend->ops->breakage->wait_word(act->chain->backend,
							     hold_seconds(act));
}

const struct fault fault_stream_wait = {
	.name = "stream-wait",
	.args = "bound=SECONDS",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "hang|ok",
	.fire = wait_word,
};

static int write_nowhere(const struct fault_act *act)
{
	return act->chain->backend->ops->breakage->bad_access(act->chain->backend);
}

const struct fault fault_gpu_fault = {
	.name = "gpu-fault",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "error",
	.fire = write_nowhere,
};

enum { SMALLEST = 2 << 20 }; /* the smallest piece that CUDA hands out */

static const size_t largest = (size_t)64 << 30;

/* The rank's own process takes all memory that is left, first in large pieces and then in smaller
 * ones. Errors on the way are expected: they go to `ignored`. */
static void take_all(struct backend *be)
{
	const enum alloc_kind kind = be->config.alloc;
	struct error *saved = be->err, ignored;

	be->err = &ignored;
	/* other GPUs need not map it, which takes long; never given back */
	be->config.alloc = ALLOC_CUDA;
	for (size_t bytes = largest; bytes >= SMALLEST;) {
		void *ptr;

		ignored = (struct error){ .rank = -1 };
		if (be->ops->alloc(be, bytes, bytes, &ptr) < 0)
			bytes /= 2;
	}
	be->config.alloc = kind;
	be->err = saved;
}

/* The next thing that a rank would need memory for: another buffer of its call's size. */
static int fill(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	struct error *saved = be->err, why = { .rank = saved->rank };
	size_t wanted = SMALLEST;
	void *ptr;
	int rc;

	take_all(be);
	if (act->call && act->call->count * dtype_size(act->call->dtype) > wanted)
		wanted = act->call->count * dtype_size(act->call->dtype);
	be->err = &why;
	rc = be->ops->alloc(be, wanted, wanted, &ptr);
	be->err = saved;
	if (rc == 0)
		return -EAGAIN; /* another process freed memory meanwhile: nothing ran out */
	return error_set(saved, OUTCOME_ERROR, -ENOMEM, "out of device memory: %.200s", why.text);
}

const struct fault fault_gpu_oom = {
	.name = "gpu-oom",
	.needs = { .machine = NEED_GPU },
	.where = FAULT_AT_BOTH,
	.nccl = "error",
	.fire = fill,
};
