/* drop_rank.c: the rank stays alive and idle, and never calls again. */
#include "inject/fault.h"

const struct fault fault_drop_rank = {
	.name = "drop-rank",
	.help = "alive, idle, never calls again",
	.source = "jax-ml/jax#38503: one rank alive but out of the collective, all others wait for "
		  "ever",
	.needs = { .ranks = 2 },
	.where = FAULT_AT_CALL | FAULT_AT_INIT,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fault_idle,
};
