/* path.c: datagrams of two sizes beside a TCP connection, counted at both ends. */
#include "net/path.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <arpa/inet.h>
#include <sys/socket.h>

#define HEADERS_V4 28 /* bytes of IP and UDP headers */
#define HEADERS_V6 48
#define LARGEST	   65507

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* A datagram. A full-size one continues with zeros. */
struct probe {
	uint64_t token;
	uint32_t window, answers; /* the sender's window, and the window that `got` counts */
	struct path_counts got;
	uint32_t no_full, unused;
};

enum path_way path_there(const struct path *path)
{
	if (path->told.small >= PATH_ENOUGH)
		return path->told.full == 0 ? PATH_LARGE_LOST : PATH_OPEN;
	return path->told.small == 0 && path->got.small >= PATH_ENOUGH &&
			       path->sent >= 2 * PATH_ENOUGH
		       ? PATH_LOST
		       : PATH_UNKNOWN;
}

enum path_way path_here(const struct path *path)
{
	if (path->got.small < PATH_ENOUGH)
		return PATH_UNKNOWN;
	return path->got.full == 0 && !path->no_full ? PATH_LARGE_LOST : PATH_OPEN;
}

static bool is_v6(const union address *a)
{
	return a->any.sa_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr);
}

/* Both ends bind the address and port of their TCP connection, so no port has to be exchanged.
 * Where several connections share one local port the kernel finds the connected socket. */
static void open_beside(struct path *path, int tcp)
{
	union address own, other;
	socklen_t len = sizeof(own), len2 = sizeof(other);
	int one = 1, on = IP_PMTUDISC_DO;

	path->window++;
	path->sent = 0;
	path->got = path->told = (struct path_counts){ 0 };
	if (getsockname(tcp, &own.any, &len) < 0 || getpeername(tcp, &other.any, &len2) < 0)
		return;
	path->fd = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (path->fd < 0)
		return;
	setsockopt(path->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(path->fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
	setsockopt(path->fd, IPPROTO_IP, IP_MTU_DISCOVER, &on, sizeof(on));
	if (own.any.sa_family == AF_INET6)
		setsockopt(path->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &on, sizeof(on));
	if (bind(path->fd, &own.any, len) < 0 || connect(path->fd, &other.any, len2) < 0)
		path_close(path);
}

/* The path MTU this host assumes, headers included; 0: unknown. */
static uint32_t full_size(int fd, uint32_t *headers)
{
	union address other;
	socklen_t len = sizeof(other), n = sizeof(int);
	int mtu = 0;

	if (getpeername(fd, &other.any, &len) < 0)
		return 0;
	*headers = is_v6(&other) ? HEADERS_V6 : HEADERS_V4;
	if (getsockopt(fd, is_v6(&other) ? IPPROTO_IPV6 : IPPROTO_IP,
		       is_v6(&other) ? IPV6_MTU : IP_MTU, &mtu, &n) < 0)
		return 0;
	return mtu > LARGEST ? LARGEST : (uint32_t)mtu;
}

static void take(struct path *path, const struct probe *probe, size_t bytes)
{
	if (probe->window != path->theirs)
		path->got = (struct path_counts){ 0 };
	path->theirs = probe->window;
	path->no_full = probe->no_full;
	if (bytes > sizeof(*probe)) {
		path->got.full++;
		return;
	}
	path->got.small++;
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
	static const char zeros[LARGEST];
	struct iovec parts[2] = { { &probe, sizeof(probe) }, { (void *)zeros, 0 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	uint32_t headers = 0, full;
	bool came = false;
	ssize_t n;

	if (path->fd >= 0 && !is_beside(path->fd, tcp))
		path_close(path);
	if (path->fd < 0)
		open_beside(path, tcp);
	if (path->fd < 0)
		return false;
	while ((n = recv(path->fd, &probe, sizeof(probe), MSG_TRUNC)) >= 0 || errno == ECONNREFUSED)
		if (n >= (ssize_t)sizeof(probe) && probe.token == token) {
			take(path, &probe, (size_t)n);
			came = true;
		}
	full = full_size(path->fd, &headers);
	probe = (struct probe){ token, path->window, path->theirs, path->got, 0, 0 };
	if (full > headers + sizeof(probe)) {
		parts[1].iov_len = full - headers - sizeof(probe);
		probe.no_full = sendmsg(path->fd, &message, 0) < 0 && errno == EMSGSIZE;
	}
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

static bool address_of(const struct sockaddr *a, struct in6_addr *to)
{
	if (a->sa_family == AF_INET6)
		*to = ((const struct sockaddr_in6 *)a)->sin6_addr;
	else if (a->sa_family == AF_INET)
		*to = (struct in6_addr){
			.s6_addr32 = { 0, 0, htonl(0xffff),
				       ((const struct sockaddr_in *)a)->sin_addr.s_addr }
		};
	return a->sa_family == AF_INET6 || a->sa_family == AF_INET;
}

bool path_peer(int fd, struct in6_addr *peer)
{
	union address other;
	socklen_t len = sizeof(other);

	return getpeername(fd, &other.any, &len) == 0 && address_of(&other.any, peer);
}

bool path_unplugged(int tcp)
{
	const unsigned int works = IFF_UP | IFF_RUNNING;
	union address own;
	socklen_t len = sizeof(own);
	struct in6_addr address, one;
	struct ifaddrs *list;
	bool runs = false;

	if (getsockname(tcp, &own.any, &len) < 0 || !address_of(&own.any, &address) ||
	    getifaddrs(&list) < 0)
		return false;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		runs |= i->ifa_addr && (i->ifa_flags & works) == works &&
			address_of(i->ifa_addr, &one) && IN6_ARE_ADDR_EQUAL(&one, &address);
	freeifaddrs(list);
	return !runs;
}
