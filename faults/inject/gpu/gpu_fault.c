/* gpu_fault.c: a kernel on the rank's stream writes where no memory is, ahead of the call. */
#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	int rc = be->ops->breakage->bad_access(be);

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_gpu_fault = {
	.name = "gpu-fault",
	.help = "a kernel on its stream writes to an illegal address ahead of the call",
	.source =
		"NVIDIA Xid 31; dmlc/xgboost#11217: one worker fails, another hangs in a stream's "
		"synchronisation",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "error",
	.why_not = "no kernel runs: crash-rank is the fault of a host's bad address",
	.fire = fire,
};
