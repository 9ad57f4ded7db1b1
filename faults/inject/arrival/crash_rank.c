/* crash_rank.c: the rank's process dies of a segmentation fault. */
#include <signal.h>
#include <sys/resource.h>

#include "inject/fault.h"

static int fire(const struct fault_act *act)
{
	struct rlimit core = { 0 };
	sigset_t set;

	/* Dumping a process that maps a GPU takes seconds, and the file would stay behind. */
	if (getrlimit(RLIMIT_CORE, &core) == 0) {
		core.rlim_cur = 0;
		setrlimit(RLIMIT_CORE, &core);
	}
	/* Libraries catch the signal, to print a stack. */
	signal(SIGSEGV, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(SIGSEGV);
	return -EIO;
}

const struct fault fault_crash_rank = {
	.name = "crash-rank",
	.help = "its process crashes (SIGSEGV)",
	.source = "NVIDIA nvidia-resiliency-ext inject_fault SEGFAULT; NVIDIA/nccl#529",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "died",
	.nccl = "died",
	.fire = fire,
};
