/* test_path.c: datagrams beside a connection, and the verdict on their counts. */
#include "rig/unit.h"

#include <netinet/in.h>

#include "base/clock.h"
#include "net/path.h"

static const struct {
	const char *what;
	struct path path;
	enum path_way there, here;
} rows[] = {
	{ "nothing yet", { .sent = 4 }, PATH_UNKNOWN, PATH_UNKNOWN },
	{ "nothing at all: filtered, or cut both ways",
	  { .sent = 90 },
	  PATH_UNKNOWN,
	  PATH_UNKNOWN },
	{ "all passes", { .sent = 20, .got = 19, .told = 18 }, PATH_OPEN, PATH_OPEN },
	{ "few", { .sent = 20, .got = 7, .told = 7 }, PATH_UNKNOWN, PATH_UNKNOWN },
	{ "what is sent there does not arrive", { .sent = 20, .got = 9 }, PATH_LOST, PATH_OPEN },
	{ "it has only begun", { .sent = 9, .got = 9 }, PATH_UNKNOWN, PATH_OPEN },
};

UNIT_TEST(test_judge, "what counts say")
{
	UNIT_ROWS(row, rows) {
		bool right =
			path_there(&row->path) == row->there && path_here(&row->path) == row->here;

		CU_ASSERT(right);
		if (!right)
			printf("%s\n", row->what);
	}
}

/* Two ends of a connection of this host. Foreign datagrams do not count. */
UNIT_TEST(test_probe, "two ends")
{
	struct path a = { .fd = -1 }, b = { .fd = -1 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	socklen_t len = sizeof(to);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0), two;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	UNIT_ALL(bind(listener, (struct sockaddr *)&to, len) == 0, listen(listener, 1) == 0,
		 getsockname(listener, (struct sockaddr *)&to, &len) == 0,
		 connect(one, (struct sockaddr *)&to, len) == 0);
	two = accept(listener, NULL, NULL);
	CU_ASSERT_FATAL(two >= 0);
	for (int i = 0; i < 2 * PATH_ENOUGH + 4; i++) {
		path_probe(&a, one, 7);
		path_probe(&b, two, i < 4 ? 8 : 7);
		clock_sleep(0.001);
	}
	UNIT_ALL(path_there(&a) == PATH_OPEN, path_here(&a) == PATH_OPEN,
		 path_there(&b) == PATH_OPEN, a.got >= PATH_ENOUGH, a.got <= 2 * PATH_ENOUGH);
	/* one end restarts: old counts of the other end do not apply */
	path_close(&a);
	path_probe(&a, one, 7);
	UNIT_ALL(a.got <= 1, a.told == 0, path_there(&a) == PATH_UNKNOWN);
	/* another connection: the next datagrams go beside it */
	path_probe(&b, one, 7);
	UNIT_ALL(b.sent == 1, b.got == 0, path_there(&b) == PATH_UNKNOWN);
	path_close(&a);
	path_close(&b);
	close(one);
	close(two);
	close(listener);
}
