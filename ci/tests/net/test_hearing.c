/* test_hearing.c: who sends whom a word, and connections that nobody completes. */
#include "rig/unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "net/hearing.h"

UNIT_TEST(test_distances, "distances")
{
	static const struct {
		int ranks, words, last;
	} cases[] = {
		{ 0, 0, 0 },	   { 1, 0, 0 },	       { 2, 1, 1 },
		{ 3, 2, 2 },	   { 64, 63, 63 },     { 65, 7, 64 },
		{ 1024, 10, 512 }, { 1025, 11, 1024 }, { INT_MAX, 30, 1 << 29 },
		{ -1, 0, 0 },
	};

	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		int n = 0, last = 0, distance;

		for (; n <= HEARING_MOST && (distance = hearing_distance(cases[k].ranks, n)); n++) {
			CU_ASSERT_TRUE(distance > last && distance < cases[k].ranks);
			last = distance;
		}
		UNIT_ALL(n == cases[k].words, last == cases[k].last,
			 hearing_distance(cases[k].ranks, n) == 0);
	}
	CU_ASSERT_EQUAL(hearing_distance(4, -1), 0);
}

/* A listener that wants data before it takes a connection leaves it half-open. Another one's is none of ours. */
UNIT_TEST(test_unanswered, "half-open connections")
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof(at);
	int seconds = 5;

	CU_ASSERT_FALSE(hearing_unanswered());
	UNIT_ALL(bind(fd, (struct sockaddr *)&at, len) == 0, listen(fd, 4) == 0,
		 setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof(seconds)) == 0,
		 getsockname(fd, (struct sockaddr *)&at, &len) == 0, !hearing_unanswered(),
		 connect(to, (struct sockaddr *)&at, len) == 0, hearing_unanswered());
	close(fd);
	CU_ASSERT_FALSE(hearing_unanswered());
	close(to);
}
