/* skip_call.c: the rank leaves out one call and goes on with the next. */
#include "inject/fault.h"

const struct fault fault_skip_call = {
	.name = "skip-call",
	.help = "leaves out one call, goes on with the next",
	.source = "NVIDIA-NeMo/Automodel#2468: one rank skips a batch and with it the all-reduce",
	/* Open MPI calls the longer one of two shifted messages truncated. */
	.mpi = "hang|error|died|wrong-data",
	.nccl = "hang|wrong-data",
	.fire = fault_swallow,
};
