/* init_missing.c: the rank never calls communicator init. */
#include "inject/fault.h"

const struct fault fault_init_missing = {
	.name = "init-missing",
	.help = "alive, never calls communicator init: the others wait in it",
	.source = "NVIDIA/nccl#582: an exception on one rank before init, all others wait in "
		  "bootstrap",
	.where = FAULT_AT_INIT,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fault_idle,
};
