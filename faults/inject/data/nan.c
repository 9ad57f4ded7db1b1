/* nan.c: one element of the rank's send buffer is no number. */

#include "base/element.h"
#include "inject/data/buffers.h"

static bool applies(const struct planned_call *planned)
{
	return sends_data(planned) && check_is_float(planned->call.dtype);
}

static int fire(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	struct extent sent = extent_sent(act);
	uint64_t bits;
	int rc;

	if (sent.count == 0)
		return extent_empty(act, "sends");
	bits = check_round(act->call->dtype, NAN);
	rc = be->ops->store(be, extent_element(&sent, act), &bits, sent.width);
	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_nan = {
	.name = "nan",
	.help = "one element of its send buffer is NaN: all ranks have it after a reduction",
	.source = "pytorch/torchtitan#951: NaN from step 1, from one GPU of many",
	.args = "at=ELEMENT",
	.needs = { .stream = true },
	.applies = applies,
	.mpi = "wrong-data",
	.nccl = "wrong-data",
	.fire = fire,
};
