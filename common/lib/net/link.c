/* link.c: framing, descriptor passing and bounded sends over stream sockets. */
#include "net/link.h"

#include <sys/uio.h>

#include "base/clock.h"

#define LINK_MAGIC 0x68616e67u
#define SEND_NS	   1000000000ull
#define ROOM_STEP  (64 * 1024)

struct frame {
	uint32_t magic, type, bytes;
};

struct sockaddr_un link_address(const char *key, int taken, socklen_t *len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
			 taken ? "hangar-%u-%.80s.%d" : "hangar-%u-%.80s", (unsigned int)geteuid(),
			 key, taken);

	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return address;
}

struct ucred link_peer(int fd)
{
	struct ucred cred = { .pid = 0, .uid = (uid_t)-1 };
	socklen_t len = sizeof(cred);

	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len);
	return cred;
}

bool link_same_user(int fd)
{
	return link_peer(fd).uid == geteuid();
}

int link_connect(const char *key, int flags, int *taken)
{
	for (int name = 0; name < LINK_NAMES; name++) {
		socklen_t len;
		struct sockaddr_un address = link_address(key, name, &len);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), rc;

		if (fd < 0)
			return -errno;
		if (taken)
			*taken = name;
		rc = connect(fd, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
		if (rc == 0 && link_same_user(fd))
			return fd;
		close(fd);
		if (rc < 0)
			return rc;
	}
	return -EPERM;
}

void link_init(struct link *link, int fd)
{
	memset(link, 0, sizeof(*link));
	link->fd = fd;
	link->passed_fd = -1;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void link_release(struct link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	if (link->passed_fd >= 0)
		close(link->passed_fd);
	free(link->in);
	link->in = NULL;
	link->have = link->room = 0;
	link->fd = link->passed_fd = -1;
}

void link_abort(struct link *link)
{
	const struct linger at_once = { .l_onoff = 1 };

	setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	link_release(link);
}

static void attach_fd(struct msghdr *msg, void *control, size_t room, int fd)
{
	struct cmsghdr *c;

	msg->msg_control = control;
	msg->msg_controllen = room;
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
}

/* Waits to `give_up` (clock_ns) at most. */
static int wait_writable(int fd, uint64_t give_up)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	for (;;) {
		uint64_t now = clock_ns();
		int rc = now < give_up ? poll(&p, 1, (int)((give_up - now) / 1000000) + 1) : 0;

		if (rc >= 0 || errno != EINTR)
			return rc == 1 ? 0 : -ETIMEDOUT;
	}
}

int link_send(struct link *link, uint32_t type, const void *payload, uint32_t bytes, int pass_fd)
{
	struct frame frame = { LINK_MAGIC, type, bytes };
	size_t whole = sizeof(frame) + bytes, sent = 0;
	uint64_t give_up = clock_ns() + SEND_NS;
	char *image;
	int rc = 0;

	if (link->fd < 0)
		return -EPIPE;
	if (bytes > LINK_MAX)
		return -EMSGSIZE;
	image = malloc(whole);
	if (!image)
		return -ENOMEM;
	memcpy(image, &frame, sizeof(frame));
	if (bytes > 0)
		memcpy(image + sizeof(frame), payload, bytes);
	while (rc == 0 && sent < whole) {
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
		struct iovec part = { image + sent, whole - sent };
		struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n;

		if (pass_fd >= 0 && sent == 0)
			attach_fd(&msg, control, sizeof(control), pass_fd);
		n = sendmsg(link->fd, &msg, MSG_NOSIGNAL);
		if (n >= 0) {
			sent += (size_t)n;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			rc = wait_writable(link->fd, give_up);
		} else if (errno != EINTR) {
			rc = -errno;
			link->broken |= errno != EPIPE;
		}
	}
	free(image);
	if (rc < 0 && sent > 0) /* nothing readable is behind a frame that was cut */
		shutdown(link->fd, SHUT_WR);
	return rc;
}

void link_job(char *name, size_t len, const char *key, int nth)
{
	if (nth > 1)
		snprintf(name, len, "%.32s+%d", key, nth);
	else
		snprintf(name, len, "%.40s", key);
}

static int note(const char *key, uint32_t type, const void *payload, uint32_t bytes)
{
	struct frame frame = { LINK_MAGIC, type, bytes };
	struct iovec parts[] = { { &frame, sizeof(frame) }, { (void *)payload, bytes } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	int fd = link_connect(key, SOCK_NONBLOCK, NULL), rc;

	if (fd < 0)
		return fd;
	rc = sendmsg(fd, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int link_note(const char *key, uint32_t type, const void *payload, uint32_t bytes)
{
	char name[48];
	int rc = note(key, type, payload, bytes);

	for (int job = 2; job <= LINK_JOBS; job++) {
		link_job(name, sizeof(name), key, job);
		note(name, type, payload, bytes);
	}
	return rc;
}

static int make_room(struct link *link, size_t bytes)
{
	unsigned char *in;

	if (link->room >= bytes)
		return 0;
	in = realloc(link->in, bytes);
	if (!in)
		return -ENOMEM;
	link->in = in;
	link->room = bytes;
	return 0;
}

static void take_fd(struct link *link, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		/* the padding behind one descriptor has room for another */
		for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
			if (link->passed_fd >= 0)
				close(link->passed_fd);
			memcpy(&link->passed_fd, CMSG_DATA(c) + at, sizeof(int));
		}
	}
}

/* Read until `want` bytes are there: 1, or 0 for not yet, or a negative errno. */
static int read_up_to(struct link *link, size_t want)
{
	while (link->have < want) {
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		/* room for bytes that come, not for an announced length */
		size_t room = want < link->have + ROOM_STEP ? want : link->have + ROOM_STEP;
		struct iovec part;
		struct msghdr msg = { .msg_iov = &part,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };
		ssize_t n;

		if (make_room(link, room) < 0)
			return -ENOMEM;
		part = (struct iovec){ link->in + link->have, room - link->have };
		n = recvmsg(link->fd, &msg, MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n <= 0)
			return n < 0 || link->have > 0 || link->broken ? -ECONNRESET : -EPIPE;
		take_fd(link, &msg);
		link->have += (size_t)n;
	}
	return 1;
}

uint32_t link_next(const struct link *link)
{
	struct frame frame;

	if (link->have >= sizeof(frame))
		memcpy(&frame, link->in, sizeof(frame));
	else if (link->have ||
		 recv(link->fd, &frame, sizeof(frame), MSG_PEEK | MSG_DONTWAIT) != sizeof(frame))
		return 0;
	return frame.type;
}

int link_receive(struct link *link, struct link_message *message)
{
	struct frame frame;
	int rc;

	if (link->fd < 0)
		return -EPIPE;
	rc = read_up_to(link, sizeof(frame));
	if (rc <= 0)
		return rc;
	memcpy(&frame, link->in, sizeof(frame));
	if (frame.magic != LINK_MAGIC || frame.bytes > LINK_MAX)
		return -EPROTO;
	rc = read_up_to(link, sizeof(frame) + frame.bytes);
	if (rc <= 0)
		return rc;
	message->type = frame.type;
	message->bytes = frame.bytes;
	message->payload = link->in + sizeof(frame);
	link->have = 0;
	return 1;
}
