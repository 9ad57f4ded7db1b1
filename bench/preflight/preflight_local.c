/* preflight_local.c: the ranks of a host, and the process beside them. */
#include "preflight/preflight_local.h"

#include "base/clock.h"
#include "base/error.h"
#include "net/link.h"

static struct sockaddr_un local_address(const struct launch *launch, socklen_t *len)
{
	char key[64];

	snprintf(key, sizeof(key), "preflight-%s", launch->key);
	return link_address(key, 0, len);
}

int local_join(const struct launch *launch, double seconds)
{
	uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9);
	socklen_t len;
	struct sockaddr_un address = local_address(launch, &len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	while (connect(fd, (struct sockaddr *)&address, len) < 0 && clock_ns() < until)
		clock_sleep(0.02);
	if (link_same_user(fd))
		return fd;
	close(fd); /* the name is another user's, or no process listens */
	return -EPERM;
}

int local_open(struct local *local, const struct launch *launch)
{
	socklen_t len;
	struct sockaddr_un address = local_address(launch, &len);

	*local = (struct local){ .listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	return bind(local->listener, (struct sockaddr *)&address, len) < 0 ||
			       listen(local->listener, LOCAL_MOST) < 0
		       ? -errno
		       : 0;
}

void local_give(struct local *local, int ranks, char word)
{
	uint64_t until = clock_ns() + 5000000000ull;
	struct pollfd p = { .fd = local->listener, .events = POLLIN };

	while (local->n < ranks && local->n < LOCAL_MOST &&
	       poll(&p, 1, clock_ms_until(until)) == 1) {
		int fd = accept4(local->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0 && link_same_user(fd))
			local->fds[local->n++] = fd;
		else if (fd >= 0)
			close(fd);
	}
	for (int i = 0; i < local->n; i++)
		send(local->fds[i], &word, 1, MSG_NOSIGNAL);
}

bool local_take(struct local *local, double seconds)
{
	uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9);
	struct pollfd fds[LOCAL_MOST];
	int open = local->n;

	for (int i = 0; i < local->n; i++)
		fds[i] = (struct pollfd){ local->fds[i], POLLIN, 0 };
	while (open > 0 && poll(fds, (nfds_t)local->n, clock_ms_until(until)) > 0)
		for (int i = 0; i < local->n; i++) {
			char block[4096];
			ssize_t n = fds[i].revents ? read(fds[i].fd, block, sizeof(block) - 1) : -1;
			size_t had = local->texts[i] ? strlen(local->texts[i]) : 0;

			if (!fds[i].revents || (n < 0 && errno == EAGAIN))
				continue;
			if (n <= 0) {
				fds[i].fd = -1;
				open--;
				continue;
			}
			local->texts[i] = must(realloc(local->texts[i], had + (size_t)n + 1));
			memcpy(local->texts[i] + had, block, (size_t)n);
			local->texts[i][had + (size_t)n] = '\0';
		}
	return open == 0;
}

void local_close(struct local *local, int code)
{
	char last = (char)code;

	for (int i = 0; i < local->n; i++) {
		send(local->fds[i], &last, 1, MSG_NOSIGNAL);
		close(local->fds[i]);
		free(local->texts[i]);
	}
	close(local->listener);
}
