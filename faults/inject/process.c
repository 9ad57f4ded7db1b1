/* process.c: a process ends, stops, is stuck in host code, or has no memory left. */
#include <pthread.h>
#include <sys/resource.h>

#include "inject/fault.h"
#include "process/cgroup.h"

/* exit() would run handlers of MPI and CUDA, which notify other ranks or wait for them. */
static int end(const struct fault_act *act)
{
	_exit((int)fault_whole(act->spec, "code", 0));
}

const struct fault fault_exit_rank = {
	.name = "exit-rank",
	.args = "code=STATUS",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("died"),
	.fire = end,
};

static int die(const struct fault_act *act)
{
	raise(SIGKILL);
	return -EIO;
}

const struct fault fault_kill_rank = {
	.name = "kill-rank",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("died"),
	.fire = die,
};

static int crash(const struct fault_act *act)
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
	FAULT_ANY_MOMENT,
	FAULT_ENDS("died"),
	.fire = crash,
};

static int stop(const struct fault_act *act)
{
	return kill(getpid(), SIGSTOP) < 0 ? -errno : FAULT_PASS;
}

const struct fault fault_stop_rank = {
	.name = "stop-rank",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang"),
	.fire = stop,
};

enum { TURNS = 1 << 24 }; /* between two looks at the parent: some 10 ms */

static int spin(const struct fault_act *act)
{
	const pid_t parent = getppid();
	volatile uint64_t turns = 0;

	/* A loop that outlived the run would burn a core for ever. */
	while (++turns % TURNS || getppid() == parent)
		;
	_exit(128 + SIGKILL);
}

const struct fault fault_busy_rank = {
	.name = "busy-rank",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang"),
	.fire = spin,
};

static int block_lock(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	return -pthread_mutex_lock(&lock); /* does not return */
}

static int block_read(void)
{
	char byte;
	int ends[2];

	if (pipe(ends) < 0)
		return -errno;
	/* The writing end stays open in this process: the read sees no end of file. */
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	return -EIO;
}

static int block(const struct fault_act *act)
{
	return fault_says(act->spec, "how", "read") ? block_read() : block_lock();
}

const struct fault fault_block_rank = {
	.name = "block-rank",
	.args = "how=lock|read",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang"),
	.fire = block,
};

static const size_t room = (size_t)32 << 20, step = (size_t)4 << 20, most = (size_t)256 << 20;

/* Every byte is touched: memory that is only mapped costs nothing. */
static int take_memory(const struct fault_act *act)
{
	int rc = cgroup_limit(act->machine->cgroup, room);

	for (size_t taken = 0; rc == 0 && taken < most; taken += step) {
		void *ptr = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		if (ptr == MAP_FAILED)
			return -errno;
		memset(ptr, 1, step);
	}
	return rc < 0 ? rc : -EDQUOT; /* eight times the limit, and alive: there is no limit */
}

const struct fault fault_oom_rank = {
	.name = "oom-rank",
	.needs = { .machine = NEED_CGROUP },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("died"),
	.fire = take_memory,
};
