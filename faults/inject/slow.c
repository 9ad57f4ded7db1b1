/* slow.c: a rank stays alive and is slow, or something beside it is. How slow and in which steps is
 * process/slowdown.h's, which hangar_run --fault uses, too. */
#include "backend/backend.h"
#include "backend/call.h"
#include "inject/fault.h"

#define FIELDS_OF(word, text, keys) .name = (word), .help = (text), .args = (keys), .slow = true
#define FIELDS(...)		    FIELDS_OF(__VA_ARGS__)

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
	.more = "every=3: in each third step; p=0.1,seed=7: in a tenth, at random; a share is "
		"added before each call.",
	.source =
		"arXiv:2505.05713 (ByteDance): most straggling jobs have one slow worker or stage",
	FAULT_ENDS("ok|slow-rank"),
	.fire = be_late,
};

const struct fault fault_pause_rotating = {
	FIELDS(PAUSE_ROTATING_ROW),
	.source = "arXiv:2505.05713 (ByteDance): Python's collector runs on each rank in another "
		  "step",
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
	.more = "Unbound ranks share their cores and are all slower: mpirun --bind-to core.",
	.source = "MegaScale (NSDI 2024): stragglers of hosts whose cores other processes take",
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
	.source = "a second process on the GPU: nvidia-smi shows it, the job does not",
	.needs = { .machine = NEED_GPU, .stream = true },
	.nccl = "ok|slow-rank",
	.why_not = "its ranks compute on the host: host-contend is the fault of that",
	.fire = contend_gpu,
};

static int delay_send(const struct fault_act *act)
{
	act->chain->backend->slow_send = slowdown_delay(&act->spec->slow, act->since);
	return FAULT_PASS;
}

const struct fault fault_slow_link = {
	FIELDS(SLOW_LINK_ROW),
	.source = "PHLAME and C4 (HPCA 2025): one slow port holds up every pipeline that uses it",
	.kinds = KIND(SEND),
	.mpi = "ok|slow-rank",
	.why_not = "NCCL's connections are out of reach: faults/inject/netns slow delays between "
		   "hosts",
	.fire = delay_send,
};
