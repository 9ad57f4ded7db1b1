/* order_swap.c: the rank makes calls of two communicators in the other order. */
#include "inject/fault.h"

static bool behind(const struct call *held, const struct call *next)
{
	return next->comm != held->comm;
}

const struct fault fault_order_swap = {
	.name = "order-swap",
	.help = "makes a call and the next one of another communicator in the other order; in the "
		"schedule ring "
		"rank 0's closes a cycle of all",
	.source =
		"NCCL user guide, using multiple communicators concurrently; DFCCL's deadlock rigs",
	.schedule = "pairs",
	.applies = fault_ungrouped,
	.behind = behind,
	.mpi = "hang|diverged|ok",
	.nccl = "hang|diverged|ok",
	.fire = fault_hold,
};
