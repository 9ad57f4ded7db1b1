/* uplink.c: TCP listener and connector that never waits. */
#include "net/uplink.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

/* On every interface, both families where the host has both. */
static int listen_on(int family, int *port)
{
	/* the port is where that of an IPv4 address is, and zero is any address in both */
	struct sockaddr_in6 address = { .sin6_family = (sa_family_t)family,
					.sin6_port = htons((uint16_t)*port) };
	struct sockaddr *any = (struct sockaddr *)&address;
	socklen_t len = family == AF_INET6 ? sizeof(address) : sizeof(struct sockaddr_in);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0, on = 1, rc;

	if (fd < 0)
		return -errno;
	if ((*port && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0) ||
	    (family == AF_INET6 &&
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0) ||
	    bind(fd, any, len) < 0 || listen(fd, 1024) < 0 || getsockname(fd, any, &len) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*port = ntohs(address.sin6_port);
	return fd;
}

int uplink_listen(int *port)
{
	int fd = listen_on(AF_INET6, port);

	return fd < 0 ? listen_on(AF_INET, port) : fd;
}

static size_t append(char *buf, size_t len, size_t at, const struct sockaddr *address, int port)
{
	bool six = address->sa_family == AF_INET6;
	socklen_t bytes = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	char text[INET6_ADDRSTRLEN] = "";
	int n;

	getnameinfo(address, bytes, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	n = snprintf(buf + at, len - at, "%s%s%s%s:%d", at ? " " : "", six ? "[" : "", text,
		     six ? "]" : "", port);
	if (n < 0 || (size_t)n >= len - at) {
		buf[at] = '\0';
		return at;
	}
	return at + (size_t)n;
}

/* Returns true for an address of that family, up, and loopback or not; none that is link-local. */
static bool is_wanted(const struct ifaddrs *i, int family, bool loopback)
{
	if (!i->ifa_addr || i->ifa_addr->sa_family != family || !(i->ifa_flags & IFF_UP) ||
	    !!(i->ifa_flags & IFF_LOOPBACK) != loopback)
		return false;
	return family != AF_INET6 ||
	       !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr);
}

char *uplink_addresses(int port, char *buf, size_t len)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct ifaddrs *list;
	size_t at = 0;

	buf[0] = '\0';
	if (getifaddrs(&list) < 0)
		return buf;
	for (int k = 0; k < 4; k++) /* loopback last */
		for (struct ifaddrs *i = list; i; i = i->ifa_next)
			if (is_wanted(i, families[k % 2], k >= 2))
				at = append(buf, len, at, i->ifa_addr, port);
	freeifaddrs(list);
	return buf;
}

/* "a.b.c.d:port" or "[a:b::c]:port", numbers only: no name is looked up. */
static int connect_entry(char *entry)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	char *colon = strrchr(entry, ':'), *end;
	struct addrinfo *to;
	int fd, one = 1;
	long port;

	if (!colon || colon == entry)
		return -EINVAL;
	*colon = '\0';
	port = strtol(colon + 1, &end, 10);
	if (end == colon + 1 || *end || port < 1 || port > 65535)
		return -EINVAL;
	if (entry[0] == '[' && colon[-1] == ']') {
		entry++;
		colon[-1] = '\0';
	}
	if (getaddrinfo(entry, colon + 1, &hints, &to) != 0)
		return -EINVAL;
	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS)) {
		int rc = -errno;

		if (fd >= 0)
			close(fd);
		fd = rc;
	} else {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	freeaddrinfo(to);
	return fd;
}

int uplink_begin(const char *addresses, size_t attempt)
{
	char list[256], *save, *one;
	size_t n = 0;

	snprintf(list, sizeof(list), "%s", addresses);
	for (one = strtok_r(list, " ", &save); one; one = strtok_r(NULL, " ", &save))
		n++;
	if (n == 0)
		return -EADDRNOTAVAIL;
	snprintf(list, sizeof(list), "%s", addresses);
	one = strtok_r(list, " ", &save);
	for (attempt %= n; attempt > 0; attempt--)
		one = strtok_r(NULL, " ", &save);
	return connect_entry(one);
}

int uplink_connected(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(int);
	int failed = 0;

	if (poll(&p, 1, 0) < 1)
		return 0;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0 ? -errno
	       : failed						       ? -failed
								       : 1;
}
