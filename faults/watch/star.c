/* star.c: TCP listener and connector with bounded waits. */
#include "star.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int star_listen(int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static size_t append(char *buf, size_t len, size_t at, const struct sockaddr *address, int port)
{
	char text[INET_ADDRSTRLEN];
	int n;

	inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof(text));
	n = snprintf(buf + at, len - at, "%s%s:%d", at ? " " : "", text, port);
	if (n < 0 || (size_t)n >= len - at) {
		buf[at] = '\0';
		return at;
	}
	return at + (size_t)n;
}

char *star_addresses(int port, char *buf, size_t len)
{
	struct ifaddrs *list;
	size_t at = 0;

	buf[0] = '\0';
	if (getifaddrs(&list) < 0)
		return buf;
	for (int loopback = 0; loopback < 2; loopback++)
		for (struct ifaddrs *i = list; i; i = i->ifa_next)
			if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
			    (i->ifa_flags & IFF_UP) &&
			    !!(i->ifa_flags & IFF_LOOPBACK) == loopback)
				at = append(buf, len, at, i->ifa_addr, port);
	freeifaddrs(list);
	return buf;
}

static int connect_one(const char *host, int port, double seconds)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct pollfd p = { .events = POLLOUT };
	int one = 1, failed = 0;
	socklen_t len = sizeof(failed);

	if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
		return -EINVAL;
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (p.fd < 0)
		return -errno;
	if (connect(p.fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno != EINPROGRESS || poll(&p, 1, (int)(seconds * 1000)) != 1 ||
		    getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &failed, &len) < 0 || failed) {
			close(p.fd);
			return failed ? -failed : -ETIMEDOUT;
		}
	}
	setsockopt(p.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return p.fd;
}

int star_connect(const char *addresses, double seconds)
{
	char list[256], *save, *one;
	int rc = -EADDRNOTAVAIL;

	snprintf(list, sizeof(list), "%s", addresses);
	for (one = strtok_r(list, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
		char *colon = strrchr(one, ':');

		if (!colon)
			continue;
		*colon = '\0';
		rc = connect_one(one, atoi(colon + 1), seconds);
		if (rc >= 0)
			return rc;
	}
	return rc;
}
