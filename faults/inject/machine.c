/* machine.c: tries what faults need. */
#include "inject/inject.h"

#include <sched.h>
#include <sys/wait.h>

#include "settings/backend_kind.h"
#include "process/cgroup.h"

/* In a child, whose namespace ends with it. Not vfork: the child must not change its parent. */
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

void machine_look_network(struct fault_machine *machine)
{
	const char *name = getenv(NETWORK_SWITCH);
	char said[8];

	network_look(&machine->host);
	if (!machine->host.lacks)
		machine->have |= NEED_HOST;
	if (network_run("nft --version", said, sizeof(said)) == 0)
		machine->have |= NEED_NFT;
	if (name && access(name, W_OK) == 0)
		machine->have |= NEED_SWITCH;
}

/* What NCCL may take is for the environment to say, which is alike on all ranks; between hosts, and where
 * ranks share a GPU and so are hosts of their own to NCCL, it is the network. */
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
