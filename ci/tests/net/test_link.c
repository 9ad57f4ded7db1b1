/* test_link.c: frames whole, in pieces, hostile; descriptors passed; bounded sends. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include <pthread.h>

#include "base/clock.h"
#include "net/link.h"

#define MAGIC 0x68616e67u /* of a frame: the protocol between hosts, not to change unnoticed */

static struct link a, b;
static int raw; /* a's descriptor, for bytes that link_send would not write */

static void set_up(void)
{
	int pair[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	link_init(&a, pair[0]);
	link_init(&b, pair[1]);
	raw = pair[0];
}

static void tear_down(void)
{
	link_release(&a);
	link_release(&b);
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void write_frame(uint32_t magic, uint32_t type, uint32_t bytes)
{
	const uint32_t frame[3] = { magic, type, bytes };

	CU_ASSERT_EQUAL(write(raw, frame, sizeof(frame)), (ssize_t)sizeof(frame));
}

UNIT_TEST(test_messages, "messages")
{
	struct link_message m;

	set_up();
	UNIT_ALL(link_receive(&b, &m) == 0, link_send(&a, 7, "hangar", 7, -1) == 0,
		 link_send(&a, 8, NULL, 0, -1) == 0);
	CU_ASSERT_EQUAL_FATAL(link_receive(&b, &m), 1);
	UNIT_ALL(m.type == 7, m.bytes == 7, !strcmp((const char *)m.payload, "hangar"));
	CU_ASSERT_EQUAL_FATAL(link_receive(&b, &m), 1);
	UNIT_ALL(m.type == 8, m.bytes == 0, link_receive(&b, &m) == 0,
		 fcntl(a.fd, F_GETFL) & O_NONBLOCK, fcntl(a.fd, F_GETFD) & FD_CLOEXEC);
	tear_down();
}

/* Messages sent before the end still arrive. */
UNIT_TEST(test_end, "the end of a connection")
{
	struct link_message m;

	set_up();
	CU_ASSERT_EQUAL(link_send(&a, 7, "x", 1, -1), 0);
	link_release(&a);
	UNIT_ALL(link_receive(&b, &m) == 1, link_receive(&b, &m) == -EPIPE,
		 link_receive(&b, &m) == -EPIPE);
	CU_ASSERT_EQUAL(link_send(&b, 7, "x", 1, -1), -EPIPE); /* and no SIGPIPE */
	UNIT_ALL(link_send(&a, 7, "x", 1, -1) == -EPIPE, link_receive(&a, &m) == -EPIPE);
	link_release(&a);
	tear_down();
}

UNIT_TEST(test_bytes_one_by_one, "bytes one by one, then a cut")
{
	const uint32_t frame[3] = { MAGIC, 5, 3 };
	char bytes[sizeof(frame) + 3];
	struct link_message m;

	set_up();
	memcpy(bytes, frame, sizeof(frame));
	memcpy(bytes + sizeof(frame), "abc", 3);
	for (size_t i = 0; i < sizeof(bytes); i++)
		UNIT_ALL(link_receive(&b, &m) == 0, write(raw, bytes + i, 1) == 1);
	CU_ASSERT_EQUAL_FATAL(link_receive(&b, &m), 1);
	UNIT_ALL(m.type == 5, m.bytes == 3, memcmp(m.payload, "abc", 3) == 0);
	/* cut within a frame: no rank ends it there */
	UNIT_ALL(write(raw, bytes, 14) == 14, link_receive(&b, &m) == 0);
	link_release(&a);
	CU_ASSERT_EQUAL(link_receive(&b, &m), -ECONNRESET);
	tear_down();
}

UNIT_TEST(test_nonsense, "nonsense and oversized frames")
{
	static const struct {
		uint32_t magic, bytes;
	} frames[] = { { 0, 0 },
		       { MAGIC + 1, 4 },
		       { 0x20544547u, 4 }, /* "GET " */
		       { MAGIC, LINK_MAX + 1 },
		       { MAGIC, UINT32_MAX } };
	struct link_message m;

	UNIT_ROWS(row, frames) {
		set_up();
		write_frame(row->magic, 1, row->bytes);
		CU_ASSERT_EQUAL(link_receive(&b, &m), -EPROTO);
		CU_ASSERT(b.room < 4096); /* nothing was allocated on its word */
		UNIT_ALL(write(raw, "more of it", 10) == 10, link_receive(&b, &m) == -EPROTO);
		tear_down();
	}
}

static void *send_largest(void *payload)
{
	return (void *)(intptr_t)link_send(&a, 9, payload, LINK_MAX, -1);
}

/* More than a socket holds: sender and receiver take turns. */
UNIT_TEST(test_largest, "the largest message")
{
	unsigned char *payload = malloc(LINK_MAX + 1);
	struct link_message m;
	double give_up = unit_until(3);
	pthread_t thread;
	void *sent;
	int rc = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(payload);
	for (size_t i = 0; i <= LINK_MAX; i++)
		payload[i] = (unsigned char)(i * 7 + (i >> 8));
	set_up();
	CU_ASSERT_EQUAL(link_send(&a, 9, payload, LINK_MAX + 1, -1), -EMSGSIZE);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, send_largest, payload), 0);
	while (rc == 0 && clock_seconds() < give_up)
		rc = link_receive(&b, &m);
	UNIT_ALL(rc == 1,
		 rc == 1 && m.bytes == LINK_MAX && memcmp(m.payload, payload, LINK_MAX) == 0,
		 pthread_join(thread, &sent) == 0, sent == NULL);
	tear_down();
	free(payload);
}

/* Makes room for some of it again and again. */
static void *drip(void *done)
{
	static char bytes[180 * 1024];

	while (!*(_Atomic int *)done) {
		clock_sleep(0.45);
		(void)!read(b.fd, bytes, sizeof(bytes));
	}
	return NULL;
}

/* Does not hold the sender for longer than a second, and what was cut is no message. */
UNIT_TEST(test_slow_reader, "a reader that does not read")
{
	char *payload = calloc(1, LINK_MAX);
	_Atomic int done = 0;
	struct link_message m;
	pthread_t thread;
	double begin;
	int rc = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(payload);
	set_up();
	while (rc == 0)
		rc = (int)write(raw, payload, LINK_MAX) < 0 ? -errno : 0;
	CU_ASSERT_EQUAL(rc, -EAGAIN);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, drip, &done), 0);
	begin = clock_seconds();
	UNIT_ALL(link_send(&a, 1, payload, LINK_MAX, -1) == -ETIMEDOUT,
		 clock_seconds() - begin<1.5, clock_seconds() - begin> 0.9);
	done = 1;
	pthread_join(thread, NULL);
	tear_down();

	set_up();
	CU_ASSERT_EQUAL(link_send(&a, 1, payload, LINK_MAX, -1), -ETIMEDOUT);
	CU_ASSERT_EQUAL(link_send(&a, 2, "next", 4, -1), -EPIPE); /* would be read as part of it */
	CU_ASSERT_EQUAL(link_receive(&b, &m), -ECONNRESET);
	tear_down();
	free(payload);
}

UNIT_TEST(test_descriptor, "a descriptor comes along")
{
	int before = open_descriptors(), fd = memfd_create("test", MFD_CLOEXEC);
	struct link_message m;
	char text[4] = "";

	set_up();
	UNIT_ALL(write(fd, "abc", 3) == 3, link_send(&a, 1, "with", 4, fd) == 0,
		 link_receive(&b, &m) == 1);
	CU_ASSERT_FATAL(b.passed_fd >= 0);
	UNIT_ALL(b.passed_fd != fd, pread(b.passed_fd, text, 3, 0) == 3, !strcmp(text, "abc"),
		 fcntl(b.passed_fd, F_GETFD) & FD_CLOEXEC);
	/* no rank took it: the next one replaces it, release closes that */
	UNIT_ALL(link_send(&a, 1, "again", 5, fd) == 0, link_receive(&b, &m) == 1);
	tear_down();
	close(fd);
	CU_ASSERT_EQUAL(open_descriptors(), before);
}

/* Five descriptors along with one frame: all but one at most are closed again. */
UNIT_TEST(test_many_descriptors, "more descriptors than agreed")
{
	int before = open_descriptors(), fds[5];
	const uint32_t frame[3] = { MAGIC, 1, 0 };
	struct iovec part = { (void *)frame, sizeof(frame) };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = { 0 };
	struct msghdr msg = { .msg_iov = &part,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct link_message m;

	set_up();
	for (int i = 0; i < 5; i++)
		fds[i] = raw;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	UNIT_ALL(sendmsg(raw, &msg, 0) == (ssize_t)sizeof(frame), link_receive(&b, &m) == 1);
	tear_down();
	CU_ASSERT_EQUAL(open_descriptors(), before);
}
