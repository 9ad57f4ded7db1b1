/* ras.c: a client of NCCL's RAS service that waits for nothing longer than it was told to. */
#include "probe/probe.h"

#include <netdb.h>

#include "base/clock.h"

#define HELLO_NS 250000000ull /* a process that is stopped never answers: try another */
#define PAUSE	 0.02	      /* s before the next attempt */

/* No call on the socket takes longer than to `deadline`. */
static int limit(int fd, uint64_t deadline)
{
	int64_t left = (int64_t)(deadline - clock_ns());
	struct timeval time = { .tv_sec = left / 1000000000, .tv_usec = left / 1000 % 1000000 };

	if (left < 1000)
		return -ETIMEDOUT;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
	return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time)) < 0 ? -errno : 0;
}

/* A negative errno of a call that has failed, perhaps because its time was over. */
static int failure(void)
{
	return errno == EAGAIN || errno == EINPROGRESS ? -ETIMEDOUT : -errno;
}

/* Returns how many bytes have come, 0 at the end. */
static ssize_t take(int fd, char *buf, size_t len, uint64_t deadline)
{
	int rc = limit(fd, deadline);
	ssize_t n = rc < 0 ? rc : recv(fd, buf, len, 0);

	return n < 0 && rc == 0 ? failure() : n;
}

/* Sends a line, and reads one that starts with `wanted`, in any case: no byte behind it. */
static int exchange(int fd, const char *line, const char *wanted, uint64_t deadline)
{
	char answer[1024];
	size_t n = 0;
	int rc = limit(fd, deadline);

	if (rc == 0 && send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		rc = failure();
	while (rc == 0 && (n == 0 || answer[n - 1] != '\n')) {
		ssize_t got = n < sizeof(answer) ? take(fd, answer + n, 1, deadline) : -EPROTO;

		rc = got > 0 ? 0 : got == 0 ? -ECONNRESET : (int)got;
		n += got > 0;
	}
	if (rc == 0 && (n <= strlen(wanted) || strncasecmp(answer, wanted, strlen(wanted)) != 0))
		rc = -EPROTO;
	return rc;
}

/* "HOST:PORT" or "[HOST]:PORT" to addresses. */
static int find_addresses(const char *address, struct addrinfo **list)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;
	char host[256];

	if (n >= 2 && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof(host) || !colon[1])
		return -EINVAL;
	snprintf(host, sizeof(host), "%.*s", (int)n, address);
	return getaddrinfo(host, colon + 1, &hints, list) == 0 ? 0 : -EADDRNOTAVAIL;
}

/* Connects and shakes hands. Returns the socket, or a negative errno. */
static int greet_one(const struct addrinfo *to, uint64_t deadline)
{
	int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, 0);
	int rc = fd < 0 ? -errno : limit(fd, deadline);

	if (rc == 0 && connect(fd, to->ai_addr, to->ai_addrlen) < 0)
		rc = failure();
	if (rc == 0)
		rc = exchange(fd, "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL ", deadline);
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* A silent server is asked again: another process may take the call. */
static int greet(const struct addrinfo *list, uint64_t deadline)
{
	for (;;) {
		uint64_t until = clock_ns() + HELLO_NS;
		int rc = -EADDRNOTAVAIL;

		for (const struct addrinfo *to = list; to && rc < 0; to = to->ai_next)
			rc = greet_one(to, until < deadline ? until : deadline);
		if (rc >= 0 || rc == -ECONNREFUSED || rc == -EPROTO ||
		    clock_ns() + (uint64_t)(PAUSE * 1e9) >= deadline)
			return rc;
		clock_sleep(PAUSE);
	}
}

/* 0 at its end. One that never pauses is not waited for, and yet has to end. */
static int copy_answer(int from, int to, uint64_t deadline)
{
	char part[4096];
	ssize_t n;

	while ((n = take(from, part, sizeof(part), deadline)) > 0)
		if (write(to, part, (size_t)n) < 0)
			return -errno;
	return (int)n;
}

static const char *reason(int rc)
{
	return rc == -EPROTO ? "what answers is not NCCL RAS" : strerror(-rc);
}

void ras_ask(int to, const void *arg)
{
	const struct ras_order *order = arg;
	uint64_t deadline = clock_ns() + (uint64_t)(order->seconds * 1e9);
	struct addrinfo *list = NULL;
	int rc = find_addresses(order->address, &list), fd = rc < 0 ? rc : greet(list, deadline);

	rc = fd < 0 ? fd : exchange(fd, "TIMEOUT 1\n", "OK", deadline);
	if (rc == 0) /* "OK"; else it knows text alone */
		rc = exchange(fd, "SET FORMAT json\n", "", deadline);
	if (rc == 0 && send(fd, "VERBOSE STATUS\n", 15, MSG_NOSIGNAL) < 0)
		rc = -errno;
	if (rc < 0)
		dprintf(to, "[no answer from %s: %s]\n", order->address, reason(rc));
	else if ((rc = copy_answer(fd, to, deadline)) < 0)
		dprintf(to, "\n[cut: %s after %.1f s]\n", reason(rc), order->seconds);
	if (fd >= 0)
		close(fd);
	if (list)
		freeaddrinfo(list);
}
