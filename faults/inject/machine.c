/* machine.c: tries what faults need. */
#include "inject/inject.h"

#include <sched.h>

#include "settings/backend_kind.h"
#include "process/cgroup.h"

/* The namespace ends with the child. After vfork the child would change its parent. */
static bool can_unshare(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static bool can_cgroup(const char *run)
{
	struct cgroup cgroup;
	bool can = cgroup_make(&cgroup, "probe", run) == 0;

	cgroup_remove(&cgroup);
	return can;
}

void machine_look(struct fault_machine *machine, const char *run)
{
	*machine = (struct fault_machine){ .backend = "mpi", .transport = BY_MPI, .run = run };
	if (can_cgroup(run))
		machine->have |= NEED_CGROUP;
	if (can_unshare())
		machine->have |= NEED_NAMESPACE;
}

/* The environment, alike on all ranks, limits NCCL's transport; between hosts it is the network. */
static unsigned machine_transport(const char *backend)
{
	const char *p2p = getenv("NCCL_P2P_DISABLE"), *shm = getenv("NCCL_SHM_DISABLE");

	if (!backend_has(backend, BACKEND_DEVICE))
		return BY_MPI;
	if (getenv("NCCL_HOSTID"))
		return BY_NET;
	if (!p2p || strcmp(p2p, "0") == 0)
		return BY_P2P;
	return shm && strcmp(shm, "0") != 0 ? BY_NET : BY_SHM;
}

void machine_serve(struct fault_machine *machine, const char *backend, int gpus)
{
	machine->backend = backend;
	if (gpus > 0)
		machine->have |= NEED_GPU;
	machine->transport = machine_transport(backend);
	if (backend_has(backend, BACKEND_SOCKETS))
		machine->have |= NEED_NET; /* its bootstrap always uses sockets */
}
