/* drop_rank.c: the rank stays alive and idle, and never calls again. */
#include "inject/fault.h"

const struct fault fault_drop_rank = {
	.name = "drop-rank",
	.help = "alive, idle, never calls again",
	.source = "jax-ml/jax#38503: one rank alive but out of the collective, all others wait for "
		  "ever",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fault_idle,
};
