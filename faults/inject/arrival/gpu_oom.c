/* gpu_oom.c: the GPU has no memory left for the rank, which gives up. */

#include "backend/backend.h"
#include "backend/call.h"
#include "inject/fault.h"

enum { SMALLEST = 2 << 20 }; /* what CUDA hands out in one piece at least */

static const size_t largest = (size_t)64 << 30;

/* The rank's own process takes all that is left. What it cannot have in large pieces it tries in
 * smaller ones. Errors on the way are expected: they go to `ignored`. */
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
static int fire(const struct fault_act *act)
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
		return -EAGAIN; /* somebody freed memory meanwhile: nothing ran out */
	return error_set(saved, OUTCOME_ERROR, -ENOMEM, "out of device memory: %.200s", why.text);
}

const struct fault fault_gpu_oom = {
	.name = "gpu-oom",
	.help = "a device allocation fails because the GPU is full; the rank gives up",
	.source = "NVIDIA/nccl#582: out of memory on one rank, the others wait for ever",
	.needs = { .machine = NEED_GPU },
	.where = FAULT_AT_BOTH,
	.nccl = "error",
	.why_not = "its buffers are host memory; oom-rank is the fault of that",
	.fire = fire,
};
