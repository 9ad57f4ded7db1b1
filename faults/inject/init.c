/* init.c: a rank calls communicator init with other arguments, or from another network. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "backend/call.h"
#include "inject/fault.h"

/* The default is one rank less, if the rank's own number allows it. */
static int other_number(const struct fault_act *act)
{
	struct comm_request request = *act->request;
	bool more = request.rank == request.nranks - 1;

	if (fault_arg(act->spec, "by"))
		more = fault_says(act->spec, "by", "more");
	request.nranks += more ? 1 : -1;
	return fault_swallowed(chain_emit_init(act->chain, &request));
}

const struct fault fault_init_nranks = {
	.name = "init-nranks",
	.args = "by=less|more",
	.where = FAULT_AT_INIT,
	/* Open MPI may make communicators of two sizes, whose first call hangs or crashes. */
	.mpi = "hang|error|died|wrong-data|diverged",
	.nccl = "hang|error",
	.fire = other_number,
};

static int own_id(const struct fault_act *act)
{
	struct comm_request request = *act->request;
	struct backend *be = act->chain->backend;
	int rc = be->ops->comm_id(be, request.id);

	return rc < 0 ? rc : fault_swallowed(chain_emit_init(act->chain, &request));
}

const struct fault fault_init_id = {
	.name = "init-id",
	.where = FAULT_AT_INIT,
	FAULT_ENDS("hang"),
	.fire = own_id,
};

/* Every address of a network namespace can be reached from within it, whatever interface NCCL takes. So this
 * thread moves to a namespace of its own. Open sockets stay where they are. New sockets of NCCL and its threads
 * have a loopback that leads nowhere. The namespace ends with the process. */
static int leave_network(const struct fault_act *act)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd, rc = 0;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0 || setenv("NCCL_SOCKET_IFNAME", "lo", 1) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

const struct fault fault_init_iface = {
	.name = "init-iface",
	.needs = { .machine = NEED_GPU | NEED_NET | NEED_NAMESPACE },
	.where = FAULT_AT_INIT,
	.nccl = "hang|error",
	.fire = leave_network,
};
