/* swap_calls.c: the rank makes two calls of one communicator in the other order. */
#include "inject/fault.h"

static bool behind(const struct call *held, const struct call *next)
{
	return next->comm == held->comm;
}

const struct fault fault_swap_calls = {
	.name = "swap-calls",
	.help = "makes a call and the next one of the same communicator in the other order",
	.source = "MPI-BugBench, call ordering; a rank that walks its buckets in another order",
	.applies = fault_ungrouped,
	.behind = behind,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fault_hold,
};
