/* ras.c: a client of NCCL's RAS service that waits for nothing longer than it was told to. */
#include "probe/ras.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"

#define HELLO_NS 250000000ull /* a process that is stopped never answers: try another */
#define PAUSE	 0.02	      /* s before the next attempt */

struct asking {
	int to, fd;
	uint64_t deadline;
	char held[1024]; /* came, but belongs to the next line */
	size_t nheld;
};

/* 0 when ready, else a negative errno. */
static int wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = events };
	int rc;

	do
		rc = poll(&p, 1, clock_ms_until(deadline));
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : rc == 0 ? -ETIMEDOUT : 0;
}

static int connect_one(struct asking *a, const struct addrinfo *to, uint64_t deadline)
{
	socklen_t len = sizeof(int);
	int error = 0, rc;

	a->fd = socket(to->ai_family, to->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		return -errno;
	rc = connect(a->fd, to->ai_addr, to->ai_addrlen) < 0 ? -errno : 0;
	if (rc == -EINPROGRESS)
		rc = wait_for(a->fd, POLLOUT, deadline);
	if (rc == 0 && getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error)
		rc = -error;
	if (rc < 0) {
		close(a->fd);
		a->fd = -1;
	}
	return rc;
}

static int send_line(struct asking *a, const char *line)
{
	size_t n = strlen(line);

	return send(a->fd, line, n, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EPIPE;
}

/* The end of the first line that is held, NULL: it is not all there. */
static char *line_end(struct asking *a)
{
	return memchr(a->held, '\n', a->nheld);
}

static int await_line(struct asking *a, uint64_t deadline)
{
	while (!line_end(a)) {
		ssize_t n;
		int rc = wait_for(a->fd, POLLIN, deadline);

		if (rc < 0)
			return rc;
		if (a->nheld == sizeof(a->held))
			return -EPROTO;
		n = recv(a->fd, a->held + a->nheld, sizeof(a->held) - a->nheld, 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0)
			a->nheld += (size_t)n;
	}
	return 0;
}

/* One line that starts with `wanted`, without regard to case. */
static int expect_line(struct asking *a, const char *wanted, uint64_t deadline)
{
	int rc = await_line(a, deadline);
	char *end = line_end(a);

	if (rc < 0)
		return rc;
	if ((size_t)(end - a->held) < strlen(wanted) ||
	    strncasecmp(a->held, wanted, strlen(wanted)) != 0)
		return -EPROTO;
	a->nheld -= (size_t)(end + 1 - a->held);
	memmove(a->held, end + 1, a->nheld);
	return 0;
}

/* Sends `line`, and reads a line that starts with `wanted`. */
static int exchange(struct asking *a, const char *line, const char *wanted, uint64_t deadline)
{
	int rc = send_line(a, line);

	return rc < 0 ? rc : expect_line(a, wanted, deadline);
}

/* "HOST:PORT" or "[HOST]:PORT" in two. */
static int split_address(const char *address, char *host, size_t len, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t n;

	if (!colon || !colon[1])
		return -EINVAL;
	*port = colon + 1;
	n = (size_t)(colon - address);
	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n == 0 || n >= len)
		return -EINVAL;
	memcpy(host, address, n);
	host[n] = '\0';
	return 0;
}

static int connect_any(struct asking *a, const struct addrinfo *list, uint64_t deadline)
{
	int rc = -EADDRNOTAVAIL;

	for (; list && rc < 0; list = list->ai_next)
		rc = connect_one(a, list, deadline);
	return rc;
}

/* Connect and shake hands; again when whoever took the call is silent. */
static int greet(struct asking *a, const struct addrinfo *list)
{
	int rc;

	for (;;) {
		uint64_t until = clock_ns() + HELLO_NS;

		if (until > a->deadline)
			until = a->deadline;
		a->nheld = 0;
		rc = connect_any(a, list, until);
		if (rc == 0)
			rc = exchange(a, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ", until);
		if (rc == 0 || rc == -ECONNREFUSED || rc == -EPROTO)
			return rc;
		if (a->fd >= 0)
			close(a->fd);
		a->fd = -1;
		if (clock_ns() + (uint64_t)(PAUSE * 1e9) >= a->deadline)
			return rc;
		clock_nap(PAUSE);
	}
}

/* 0 at its end. */
static int copy_answer(struct asking *a)
{
	char part[4096];

	if (a->nheld > 0 && write(a->to, a->held, a->nheld) < 0)
		return -errno;
	for (;;) {
		ssize_t n;
		int rc = wait_for(a->fd, POLLIN, a->deadline);

		/* one that never pauses is not waited for, and yet has to end */
		if (rc < 0 || clock_ns() >= a->deadline)
			return rc < 0 ? rc : -ETIMEDOUT;
		n = recv(a->fd, part, sizeof(part), 0);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0 && write(a->to, part, (size_t)n) < 0)
			return -errno;
	}
}

static const char *reason(int rc)
{
	return rc == -EPROTO ? "what answers is not NCCL RAS" : strerror(-rc);
}

void ras_ask(int fd, const struct ras_order *order)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct asking a = { .to = fd, .fd = -1 };
	struct addrinfo *list = NULL;
	const char *port;
	char host[256];
	int rc;

	a.deadline = clock_ns() + (uint64_t)(order->seconds * 1e9);
	rc = split_address(order->address, host, sizeof(host), &port);
	if (rc == 0 && getaddrinfo(host, port, &hints, &list) != 0)
		rc = -EADDRNOTAVAIL;
	if (rc == 0)
		rc = greet(&a, list);
	if (rc == 0)
		rc = exchange(&a, "TIMEOUT 1\n", "OK", a.deadline);
	if (rc == 0) /* "OK"; else it knows text alone */
		rc = exchange(&a, "SET FORMAT json\n", "", a.deadline);
	if (rc == 0)
		rc = send_line(&a, "VERBOSE STATUS\n");
	if (rc < 0) {
		dprintf(fd, "[no answer from %s: %s]\n", order->address, reason(rc));
	} else {
		rc = copy_answer(&a);
		if (rc < 0)
			dprintf(fd, "\n[cut: %s after %.1f s]\n", reason(rc), order->seconds);
	}
	if (a.fd >= 0)
		close(a.fd);
	if (list)
		freeaddrinfo(list);
}
