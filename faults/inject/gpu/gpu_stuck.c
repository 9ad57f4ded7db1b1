/* gpu_stuck.c: a kernel spins on the rank's stream ahead of the call. */
#include "inject/gpu/hold.h"

static int fire(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	int rc = be->ops->breakage->spin(be, hold_seconds(act->spec));

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_gpu_stuck = {
	.name = "gpu-stuck",
	.help = "a kernel spins on its stream ahead of the call, 60 s at most",
	.source = "NVIDIA/nccl#522: two kernels wait for each other, whatever their streams",
	.args = "bound=SECONDS",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "hang|ok",
	.why_not = HOLD_WHY_NOT,
	.fire = fire,
};
