/* kill_rank.c: the rank's process is killed. */
#include <signal.h>

#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	if (kill(getpid(), SIGKILL) < 0)
		return -errno;
	for (;;)
		pause();
}

const struct fault fault_kill_rank = {
	.name = "kill-rank",
	.help = "its process is killed (SIGKILL)",
	.source = "NVIDIA/nccl#585: one of eight killed, seven wait in cudaStreamSynchronize for "
		  "ever",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "died",
	.nccl = "died",
	.fire = fire,
};
