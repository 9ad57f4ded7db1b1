/* corrupt_send.c: one bit of the rank's send buffer is flipped before the call, and stays so. */
#include "inject/data/buffers.h"

static int fire(const struct fault_act *act)
{
	struct extent sent = extent_sent(act);
	int rc;

	if (sent.count == 0)
		return extent_empty(act, "sends");
	rc = element_flip(act, extent_element(&sent, act), sent.width);
	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_corrupt_send = {
	.name = "corrupt-send",
	.help = "one bit of its send buffer is flipped before the call",
	.source = "pytorch/pytorch#84803: silent data corruption when moving data between GPUs",
	.args = "at=ELEMENT bit=BIT",
	.needs = { .stream = true },
	.applies = sends_data,
	.mpi = "wrong-data",
	.nccl = "wrong-data",
	.fire = fire,
};
