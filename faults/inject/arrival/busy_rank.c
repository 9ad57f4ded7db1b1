/* busy_rank.c: the rank is stuck in a loop of its own on the host. */
#include <signal.h>

#include "inject/fault.h"

enum { TURNS = 1 << 24 }; /* between two looks at the parent: some 10 ms */

static int fire(const struct fault_act *act)
{
	const pid_t parent = getppid();
	volatile uint64_t turns = 0;

	/* A loop that outlived the run would burn a core for ever. */
	while (++turns % TURNS || getppid() == parent)
		;
	_exit(128 + SIGKILL);
}

const struct fault fault_busy_rank = {
	.name = "busy-rank",
	.help = "stuck in a loop on the host, a core at 100 %",
	.source = "NVIDIA nvidia-resiliency-ext inject_fault LOCK_GIL: a loop that lets nothing "
		  "else run",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
