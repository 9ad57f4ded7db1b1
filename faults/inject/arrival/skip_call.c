/* skip_call.c: the rank leaves out one call and goes on with the next. */
#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	(void)act;
	return FAULT_SWALLOW;
}

const struct fault fault_skip_call = {
	.name = "skip-call",
	.help = "leaves out one call, goes on with the next",
	.source = "NVIDIA-NeMo/Automodel#2468: one rank skips a batch and with it the all-reduce",
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL,
	.only_before = true,
	/* Open MPI calls the longer one of two shifted messages truncated. */
	.mpi = "hang|error|died|wrong-data",
	.nccl = "hang|wrong-data",
	.fire = fire,
};
