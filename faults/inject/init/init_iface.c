/* init_iface.c: the rank calls communicator init from where only its own loopback
 * interface exists. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "inject/fault.h"

/* On one host every address of one network namespace can be reached from it, whatever interface
 * NCCL is told to take. So this thread moves to a namespace of its own: sockets that are open stay
 * where they are, NCCL's new ones, and its threads, know a loopback that leads nowhere. It ends
 * with the process. */
static int leave_network(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd, rc = 0;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int fire(const struct fault_act *act)
{
	int rc = leave_network();

	if (rc == 0 && setenv("NCCL_SOCKET_IFNAME", "lo", 1) < 0)
		rc = -errno;
	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_init_iface = {
	.name = "init-iface",
	.help = "calls communicator init from an interface that the others cannot reach",
	.source = "NCCL user guide, NCCL_SOCKET_IFNAME: bootstrap over a docker or loopback "
		  "interface",
	.needs = { .machine = NEED_GPU | NEED_NET | NEED_NAMESPACE },
	.where = FAULT_AT_INIT,
	.nccl = "hang|error",
	.why_not = "MPI has connected its ranks before a communicator is made, over shared memory",
	.fire = fire,
};
