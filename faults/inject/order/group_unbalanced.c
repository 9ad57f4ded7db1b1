/* group_unbalanced.c: a group of calls lacks one of them on one rank. */
#include "inject/fault.h"

static bool applies(const struct planned_call *planned)
{
	return planned->grouped;
}

const struct fault fault_group_unbalanced = {
	.name = "group-unbalanced",
	.help = "leaves one call out of a group of sends and receives",
	.source =
		"NCCL user guide, group calls: all sends and receives of an exchange in one group",
	.schedule = "mixed",
	.applies = applies,
	.mpi = "hang|wrong-data|diverged",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fault_swallow,
};
