/* path.c: datagrams beside a TCP connection, counted at both ends. */
#include "net/path.h"

#include <arpa/inet.h>

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A datagram. */
struct probe {
	uint64_t token;
	uint32_t window, answers; /* the sender's window, and the window that `got` counts */
	uint32_t got, unused;
};

enum path_way path_there(const struct path *path)
{
	if (path->told >= PATH_ENOUGH)
		return PATH_OPEN;
	return path->told == 0 && path->got >= PATH_ENOUGH && path->sent >= 2 * PATH_ENOUGH
		       ? PATH_LOST
		       : PATH_UNKNOWN;
}

enum path_way path_here(const struct path *path)
{
	return path->got >= PATH_ENOUGH ? PATH_OPEN : PATH_UNKNOWN;
}

/* Both ends bind the address and port of their TCP connection, so no port has to be exchanged.
 * Where several connections share one local port the kernel finds the connected socket. */
static void open_beside(struct path *path, int tcp)
{
	union address own, other;
	socklen_t len = sizeof(own), len2 = sizeof(other);
	int one = 1;

	path->window++;
	path->sent = 0;
	path->got = path->told = 0;
	if (getsockname(tcp, &own.any, &len) < 0 || getpeername(tcp, &other.any, &len2) < 0)
		return;
	path->fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (path->fd < 0)
		return;
	setsockopt(path->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(path->fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	if (bind(path->fd, &own.any, len) < 0 || connect(path->fd, &other.any, len2) < 0)
		path_close(path);
}

static void take(struct path *path, const struct probe *probe)
{
	if (probe->window != path->theirs)
		path->got = 0;
	path->theirs = probe->window;
	path->got++;
	if (probe->answers == path->window)
		path->told = probe->got;
}

/* Returns false if the TCP connection has changed since. */
static bool is_beside(int fd, int tcp)
{
	union address own = { 0 }, its = { 0 };
	socklen_t len = sizeof(own), len2 = sizeof(its);

	return getsockname(fd, &own.any, &len) == 0 && getsockname(tcp, &its.any, &len2) == 0 &&
	       own.v4.sin_port == its.v4.sin_port; /* the port has the same offset in IPv6 */
}

bool path_probe(struct path *path, int tcp, uint64_t token)
{
	struct probe probe = { .token = token };
	bool came = false;
	ssize_t n;

	if (path->fd >= 0 && !is_beside(path->fd, tcp))
		path_close(path);
	if (path->fd < 0)
		open_beside(path, tcp);
	if (path->fd < 0)
		return false;
	while ((n = recv(path->fd, &probe, sizeof(probe), MSG_TRUNC)) >= 0 || errno == ECONNREFUSED)
		if (n == (ssize_t)sizeof(probe) && probe.token == token) {
			take(path, &probe);
			came = true;
		}
	probe = (struct probe){ token, path->window, path->theirs, path->got, 0 };
	send(path->fd, &probe, sizeof(probe), 0);
	path->sent++;
	return came;
}

void path_close(struct path *path)
{
	if (path->fd >= 0)
		close(path->fd);
	path->fd = -1;
}

bool path_peer(int fd, struct in6_addr *peer)
{
	union address other;
	socklen_t len = sizeof(other);

	if (getpeername(fd, &other.any, &len) < 0)
		return false;
	if (other.any.sa_family == AF_INET6)
		*peer = other.v6.sin6_addr;
	else if (other.any.sa_family == AF_INET)
		*peer = (struct in6_addr){ .s6_addr32 = { 0, 0, htonl(0xffff),
							  other.v4.sin_addr.s_addr } };
	return other.any.sa_family == AF_INET6 || other.any.sa_family == AF_INET;
}
