/* stale_buffer.c: the rank's send buffer is written again after the call is enqueued, before it runs: the
 * next batch lands in it. Stream-ordered, behind a wait that is let go once the call is enqueued. */
#include "inject/data/buffers.h"

#define BOUND_SECONDS 3.0 /* a cold communicator launches nothing while its stream waits */

/* Its first half then holds what the second one does. */
static int rewrite(const struct fault_act *act, const struct extent *sent)
{
	size_t half = sent->count / 2 * sent->width;
	struct backend *be = act->chain->backend;
	int rc = be->ops->breakage->wait_word(be, BOUND_SECONDS);

	if (rc == 0)
		rc = chain_copy(act->chain, sent->first, sent->first + half, half);
	if (rc == 0)
		rc = chain_emit(act->chain, act->call);
	be->ops->breakage->let_go(be);
	return rc;
}

static int fire(const struct fault_act *act)
{
	struct extent sent = extent_sent(act);
	int rc = sent.count > 1 ? rewrite(act, &sent) : extent_empty(act, "sends");

	return rc < 0 ? rc : FAULT_SWALLOW;
}

const struct fault fault_stale_buffer = {
	.name = "stale-buffer",
	.help = "its send buffer is used again after the call is enqueued, before it runs",
	.source = "ROCm/aiter#4082: callers overwrite the input while peers still read it",
	.needs = { .machine = NEED_GPU, .stream = true },
	.applies = sends_data,
	.nccl = "wrong-data",
	.why_not = "its calls have read what they send when they return",
	.fire = fire,
};
