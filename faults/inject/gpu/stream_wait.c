/* stream_wait.c: the rank's stream waits for a word in memory ahead of the call. */
#include "inject/gpu/hold.h"

static int fire(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	int rc = be->ops->breakage->wait_word(be, hold_seconds(act->spec));

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_stream_wait = {
	.name = "stream-wait",
	.help = "its stream waits for a word in memory ahead of the call, 60 s at most",
	.source = "ROCm/rocm-systems#5800: a stream waits for an event that nobody has recorded",
	.args = "bound=SECONDS",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "hang|ok",
	.why_not = HOLD_WHY_NOT,
	.fire = fire,
};
