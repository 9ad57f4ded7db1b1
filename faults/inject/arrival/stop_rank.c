/* stop_rank.c: the rank's process is stopped; were it continued, it would go on as if nothing
 * had been. */
#include <signal.h>

#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	return kill(getpid(), SIGSTOP) < 0 ? -errno : FAULT_PASS;
}

const struct fault fault_stop_rank = {
	.name = "stop-rank",
	.help = "its process is stopped (SIGSTOP); after the call a GPU still completes it",
	.source = "NCCL 2.31 docs/examples/08_ras/01_fault_detection --type suspend",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
