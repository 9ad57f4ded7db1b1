/* early_exit.c: the rank makes no more calls, but goes on to the end of the run. */
#include "inject/fault.h"

const struct fault fault_early_exit = {
	.name = "early-exit",
	.help = "leaves the loop early: makes no more calls, goes on to the end of the run",
	.source = "pytorch/pytorch#38174: ranks with unequal numbers of batches",
	.sticky = true,
	/* A rank that only sends to the absent one may get through; that rank's own check sees
	 * what it missed. */
	.mpi = "hang|wrong-data",
	.nccl = "hang|wrong-data",
	.fire = fault_swallow,
};
