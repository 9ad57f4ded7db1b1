/* hearing.c: partners by distance; half-open connections of this process' ports. */
#include "net/hearing.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define MOST_FILES 1024
#define MOST_PORTS 16
#define SYN_RECV   3 /* as the kernel's table has it */

int hearing_distance(int ranks, int i)
{
	int distance = ranks <= HEARING_MOST + 1 ? i + 1 : i < 30 ? 1 << i : ranks;

	return i >= 0 && distance < ranks ? distance : 0;
}

static size_t own_ports(unsigned *ports)
{
	size_t n = 0;

	for (int fd = 0; fd < MOST_FILES && n < MOST_PORTS; fd++) {
		struct sockaddr_in6 own = { 0 }; /* the port has its place in IPv4's, too */
		socklen_t len = sizeof(own);
		int listens = 0;
		socklen_t size = sizeof(listens);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
		    getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
		    (own.sin6_family == AF_INET || own.sin6_family == AF_INET6))
			ports[n++] = ntohs(own.sin6_port);
	}
	return n;
}

static bool any_half_open(const char *table, const unsigned *ports, size_t n)
{
	FILE *in = fopen(table, "re");
	bool found = false;
	unsigned port, state;
	char line[256];

	while (in && !found && fgets(line, sizeof(line), in))
		if (sscanf(line, " %*d: %*[0-9A-F]:%x %*s %x", &port, &state) == 2)
			for (size_t i = 0; i < n; i++)
				found |= state == SYN_RECV && port == ports[i];
	if (in)
		fclose(in);
	return found;
}

bool hearing_unanswered(void)
{
	unsigned ports[MOST_PORTS];
	size_t n = own_ports(ports);

	return any_half_open("/proc/self/net/tcp", ports, n) ||
	       any_half_open("/proc/self/net/tcp6", ports, n);
}
