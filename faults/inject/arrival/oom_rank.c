/* oom_rank.c: the rank takes more memory than its cgroup allows; the kernel kills it. */
#include <sys/mman.h>

#include "process/cgroup.h"
#include "inject/fault.h"

static const size_t room = (size_t)32 << 20, step = (size_t)4 << 20, most = (size_t)256 << 20;

/* Every byte is touched: memory that is only mapped costs nothing. */
static int take_memory(void)
{
	for (size_t taken = 0; taken < most; taken += step) {
		void *ptr = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		if (ptr == MAP_FAILED)
			return -errno;
		memset(ptr, 1, step);
	}
	return -EDQUOT; /* eight times the limit, and alive: there is no limit */
}

static int fire(const struct fault_act *act)
{
	int rc = cgroup_limit(act->machine->cgroup, room);

	return rc < 0 ? rc : take_memory();
}

const struct fault fault_oom_rank = {
	.name = "oom-rank",
	.help = "takes more memory than its cgroup allows; the kernel kills it",
	.source = "Kubernetes and Slurm: OOMKilled, a step's oom_kill event; NVIDIA/nccl#585",
	.needs = { .machine = NEED_CGROUP },
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "died",
	.nccl = "died",
	.fire = fire,
};
