/* slow.c: a rank stays alive and is slow, or something beside it is. How slow and in which steps is
 * process/slowdown.h's, which hangar_run --fault uses, too. */
#include "backend/backend.h"
#include "backend/call.h"
#include "inject/fault.h"

#define FIELDS_OF(word, keys) .name = (word), .args = (keys), .slow = true
#define FIELDS(...)	      FIELDS_OF(__VA_ARGS__)

static int be_late(const struct fault_act *act)
{
	const struct slowdown *slow = &act->spec->slow;
	struct backend *be = act->chain->backend;
	double seconds = slowdown_delay(slow, act->since);

	if (slow->on_gpu)
		return seconds > 0 ? be->ops->breakage->spin(be, fmin(seconds, 60)) : FAULT_PASS;
	slowdown_spend(seconds, slow->sleeps);
	return FAULT_PASS;
}

const struct fault fault_slow_rank = {
	FIELDS(SLOW_RANK_ROW),
	FAULT_ENDS("ok|slow-rank"),
	.fire = be_late,
};

const struct fault fault_pause_rotating = {
	FIELDS(PAUSE_ROTATING_ROW),
	.everywhere = true,
	FAULT_ENDS("ok|slow-rank"),
	.fire = be_late,
};

static int contend_host(const struct fault_act *act)
{
	int rc = slowdown_contend(act->spec->slow.threads, act->spec->slow.bound);

	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_host_contend = {
	FIELDS(HOST_CONTEND_ROW),
	FAULT_ENDS("ok|slow-rank"),
	.fire = contend_host,
};

static int contend_gpu(const struct fault_act *act)
{
	const struct slowdown *slow = &act->spec->slow;
	struct backend *be = act->chain->backend;

	return be->ops->breakage->contend(be, slow->memory, slow->part, slow->bound);
}

const struct fault fault_gpu_contend = {
	FIELDS(GPU_CONTEND_ROW),
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "ok|slow-rank",
	.fire = contend_gpu,
};

static int delay_send(const struct fault_act *act)
{
	act->chain->backend->slow_send = slowdown_delay(&act->spec->slow, act->since);
	return FAULT_PASS;
}

const struct fault fault_slow_link = {
	FIELDS(SLOW_LINK_ROW),
	.kinds = KIND(SEND),
	.mpi = "ok|slow-rank",
	.fire = delay_send,
};
