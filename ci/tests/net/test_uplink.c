/* test_uplink.c: listening, the list of addresses, and connecting within bounded time. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "net/uplink_rig.h"

UNIT_TEST(test_listen, "listen")
{
	int ports[2] = { 0, 0 }, fds[2];

	for (int i = 0; i < 2; i++) {
		fds[i] = uplink_listen(&ports[i]);
		CU_ASSERT_FATAL(fds[i] >= 0);
		UNIT_ALL(ports[i] > 0 && ports[i] < 65536, fcntl(fds[i], F_GETFL) & O_NONBLOCK,
			 fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	}
	UNIT_ALL(ports[0] != ports[1], accept(fds[0], NULL, NULL) == -1, errno == EAGAIN);
	close(fds[0]);
	close(fds[1]);
}

UNIT_TEST(test_addresses, "addresses of this host")
{
	char list[256], *save, *one;
	int n = 0, loopback_at = -1;

	CU_ASSERT_PTR_EQUAL(uplink_addresses(4711, list, sizeof(list)), list);
	for (one = strtok_r(list, " ", &save); one; one = strtok_r(NULL, " ", &save)) {
		char *colon = strrchr(one, ':');
		bool six = one[0] == '[';
		struct in6_addr address;

		CU_ASSERT_PTR_NOT_NULL_FATAL(colon);
		CU_ASSERT_STRING_EQUAL(colon, ":4711");
		*(six ? colon - 1 : colon) = '\0';
		CU_ASSERT_EQUAL(inet_pton(six ? AF_INET6 : AF_INET, one + six, &address), 1);
		CU_ASSERT(!six || !IN6_IS_ADDR_LINKLOCAL(&address));
		if (strcmp(one, "[::1") == 0)
			CU_ASSERT(loopback_at >= 0);
		if (strncmp(one, "127.", 4) == 0 && loopback_at < 0)
			loopback_at = n;
		else if (strcmp(one, "[::1") != 0)
			CU_ASSERT(loopback_at < 0); /* nothing better comes behind loopback */
		n++;
	}
	CU_ASSERT(n > 0);
}

/* A list that does not fit ends with a whole entry. */
UNIT_TEST(test_addresses_short, "addresses in little room")
{
	char whole[256], list[256];

	uplink_addresses(4711, whole, sizeof(whole));
	for (size_t len = 1; len < strlen(whole) + 2; len++) {
		size_t n;

		memset(list, 'x', sizeof(list));
		uplink_addresses(4711, list, len);
		n = strlen(list);
		UNIT_ALL(n < len, list[len] == 'x',
			 n == 0 || strncmp(list + n - 5, ":4711", 5) == 0);
	}
}

UNIT_TEST(test_connect, "connect")
{
	int port = 0, listener = uplink_listen(&port), fd, one = 0;
	socklen_t len = sizeof(one);
	char list[256];
	double begin;

	CU_ASSERT_FATAL(listener >= 0);
	/* the first that answers: words that are no address, and a closed port, are passed over */
	snprintf(list, sizeof(list), "nonsense 1.2.3:9 127.0.0.1: :5 127.0.0.1:1 127.0.0.1:%d",
		 port);
	begin = clock_seconds();
	fd = connect_to(list, 0.5);
	CU_ASSERT_FATAL(fd >= 0);
	UNIT_ALL(clock_seconds() - begin < 0.5, fcntl(fd, F_GETFD) & FD_CLOEXEC,
		 getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, &len) == 0, one != 0);
	close(fd);
	uplink_addresses(port, list, sizeof(list));
	fd = connect_to(list, 0.5);
	CU_ASSERT(fd >= 0);
	close(fd);
	close(listener);
	CU_ASSERT(connect_to(list, 0.5) < 0);
}

/* Where the host has IPv6 at all. */
UNIT_TEST(test_connect_six, "connect over IPv6")
{
	int port = 0, listener = uplink_listen(&port), fd;
	int probe = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 loopback = { .sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool has = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof(loopback)) == 0;
	char list[64];

	CU_ASSERT_FATAL(listener >= 0);
	snprintf(list, sizeof(list), "[::1]:%d", port);
	fd = connect_to(list, 0.5);
	CU_ASSERT_EQUAL(fd >= 0, has);
	if (fd >= 0)
		close(fd);
	if (probe >= 0)
		close(probe);
	close(listener);
}

#define NOWHERE                                                                                    \
	"", " ", "127.0.0.1", "127.0.0.1:1", "localhost:1", "127.0.0.1:-1", "127.0.0.1:0", ":",    \
		"127.0.0.1:65537", "[::1]", "[::1:1", "[]:1", "]:1", "[::1]:0"

UNIT_TEST(test_refused, "lists that lead nowhere")
{
	static const char *const lists[] = { NOWHERE };

	for (size_t i = 0; i < LENGTH(lists); i++)
		CU_ASSERT(connect_to(lists[i], 0.2) < 0);
	CU_ASSERT_EQUAL(connect_to("127.0.0.1:1", 0.2), -ECONNREFUSED);
}

/* A listener whose queue is full answers no rank: the time is bounded. */
UNIT_TEST(test_silence, "no answer")
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fds[8], n = 0, fd = 0;
	double begin, seconds = 0;
	char list[64];

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 0), 0);
	getsockname(listener, (struct sockaddr *)&address, &len);
	snprintf(list, sizeof(list), "127.0.0.1:%d", ntohs(address.sin_port));
	while (n < 8 && fd >= 0) {
		begin = clock_seconds();
		fd = connect_to(list, 0.2);
		seconds = clock_seconds() - begin;
		if (fd >= 0)
			fds[n++] = fd;
	}
	UNIT_ALL(fd == -ETIMEDOUT, seconds > 0.19 && seconds < 4);
	while (n > 0)
		close(fds[--n]);
	close(listener);
}
