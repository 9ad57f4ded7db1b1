/* corrupt_recv.c: one bit of the rank's receive buffer is flipped once the call has completed. */
#include "inject/data/buffers.h"

static int fire(const struct fault_act *act)
{
	struct extent received = extent_received(act);
	struct backend *be = act->chain->backend;
	int rc;

	if (received.count == 0)
		return extent_empty(act, "receives");
	rc = chain_emit(act->chain, act->call);
	if (rc == 0)
		rc = be->ops->wait(be);
	if (rc == 0)
		rc = element_flip(act, extent_element(&received, act), received.width);
	return rc < 0 ? rc : FAULT_SWALLOW;
}

const struct fault fault_corrupt_recv = {
	.name = "corrupt-recv",
	.help = "one bit of its receive buffer is flipped once the call has completed",
	.source = "NVIDIA/nccl#434: an all-reduce's result differs on one node, always the same",
	.args = "at=ELEMENT bit=BIT",
	.needs = { .stream = true },
	.applies = receives_data,
	.mpi = "wrong-data",
	.nccl = "wrong-data",
	.fire = fire,
};
