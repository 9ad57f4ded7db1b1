/* monitor_members.c: place among the observers of a host, and what its leader sees of the host's
 * ranks. */
#include "watch/monitor_members.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "watch/monitor_nodes.h"
#include "watch/monitor_deadline.h"

struct state {
	int32_t process, status;
	uint32_t oom_kills;
};

static struct sockaddr_un run_address(const char *key, socklen_t *len)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hangar-%u-%.80s",
			 (unsigned int)geteuid(), key);

	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return address;
}

/* ---- place ---- */

static int add_peer(struct monitor *m, int fd, struct record_memory *memory)
{
	struct monitor_peer *peers = realloc(m->peers, (m->npeers + 1) * sizeof(*peers));

	if (!peers)
		return -ENOMEM;
	m->peers = peers;
	memset(&peers[m->npeers], 0, sizeof(*peers));
	peers[m->npeers].link.fd = peers[m->npeers].link.passed_fd = -1;
	if (fd >= 0)
		link_init(&peers[m->npeers].link, fd);
	peers[m->npeers].memory = memory;
	peers[m->npeers].view.rank = -1;
	peers[m->npeers].view.local = (int32_t)m->npeers;
	peers[m->npeers].view.outcome = -1;
	m->npeers++;
	return 0;
}

/* Names of the abstract namespace are anybody's: no rank's memory goes to another user's
 * process. */
static bool same_user(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid == geteuid();
}

int members_join(struct monitor *m, int memory_fd)
{
	socklen_t len;
	struct sockaddr_un address = run_address(m->config.key, &len);
	uint64_t give_up = clock_ns() + 5000 * MS;
	int32_t pid = getpid();

	while (clock_ns() < give_up) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		if (bind(fd, (struct sockaddr *)&address, len) == 0) {
			if (listen(fd, 1024) < 0) {
				close(fd);
				return -errno;
			}
			fcntl(fd, F_SETFL, O_NONBLOCK);
			m->listen_fd = fd;
			m->leader = true;
			return add_peer(m, -1, m->memory);
		}
		if (connect(fd, (struct sockaddr *)&address, len) == 0) {
			link_init(&m->up, fd);
			if (!same_user(fd))
				return -EPERM;
			return link_send(&m->up, MESSAGE_HELLO, &pid, sizeof(pid), memory_fd);
		}
		close(fd);
		clock_nap(0.005); /* the leader has bound but does not listen yet */
	}
	return -ETIMEDOUT;
}

void members_release(struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++) {
		link_release(&m->peers[i].link);
		if (m->peers[i].memory && m->peers[i].memory != m->memory)
			munmap(m->peers[i].memory, sizeof(struct record_memory));
	}
	free(m->peers);
	m->peers = NULL;
	m->npeers = 0;
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	m->listen_fd = -1;
}

/* ---- own rank ---- */

static struct state child_state(const struct supervised *child)
{
	struct state s = { child->stopped ? PROCESS_STOPPED : PROCESS_ALIVE, 0, 0 };

	if (child->running)
		return s;
	s.process = WIFEXITED(child->wait_status) ? PROCESS_EXITED : PROCESS_KILLED;
	s.status = WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status)
						 : WTERMSIG(child->wait_status);
	s.oom_kills = child->oom_kills;
	return s;
}

int members_report(struct monitor *m, const struct supervised *child)
{
	struct state state = child_state(child);

	return link_send(&m->up, MESSAGE_STATE, &state, sizeof(state), -1);
}

/* ---- leader: its members ---- */

static void accept_members(struct monitor *m)
{
	int fd;

	while ((fd = accept4(m->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (!same_user(fd) || add_peer(m, fd, NULL) < 0)
			close(fd);
}

static void drop_peer(struct monitor *m, size_t i)
{
	link_release(&m->peers[i].link);
	memmove(&m->peers[i], &m->peers[i + 1], (m->npeers - i - 1) * sizeof(*m->peers));
	m->npeers--;
}

static void adopt_memory(struct monitor_peer *peer)
{
	struct stat st;
	void *map = MAP_FAILED;

	if (peer->link.passed_fd < 0 || peer->memory)
		return;
	if (fstat(peer->link.passed_fd, &st) == 0 &&
	    st.st_size == (off_t)sizeof(struct record_memory))
		map = mmap(NULL, sizeof(struct record_memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			   peer->link.passed_fd, 0);
	close(peer->link.passed_fd);
	peer->link.passed_fd = -1;
	if (map != MAP_FAILED)
		peer->memory = map;
}

static void receive_member(struct monitor_peer *peer)
{
	struct link_message message;
	int rc;

	while ((rc = link_receive(&peer->link, &message)) == 1) {
		if (message.type == MESSAGE_HELLO)
			adopt_memory(peer);
		if (!peer->memory) {
			rc = -EPROTO;
			break;
		}
		if (message.type == MESSAGE_STATE && message.bytes == sizeof(struct state)) {
			struct state s;

			memcpy(&s, message.payload, sizeof(s));
			peer->view.process = s.process;
			peer->view.status = s.status;
			peer->view.oom_kills = s.oom_kills;
		}
	}
	if (rc == 0)
		return;
	/* The supervisor, if it is one, is gone and its rank with it (PR_SET_PDEATHSIG). */
	link_release(&peer->link);
	if (peer->memory && peer->view.process < PROCESS_EXITED) {
		peer->view.process = PROCESS_KILLED;
		peer->view.status = SIGKILL;
	}
}

/* Time in which nobody looked is no delay of the rank's, unless it was waiting already. */
static void excuse(struct monitor_peer *peer, uint64_t paused_from, uint64_t now)
{
	uint64_t since = atomic_load(&peer->memory->header.wait.since_ns);

	if (since != peer->wait_since)
		peer->grace_ns = 0;
	peer->wait_since = since;
	if (paused_from < now && since < now)
		peer->grace_ns += now - (since > paused_from ? since : paused_from);
}

void members_note_end(struct monitor *m, const struct rank_view *view, uint64_t now)
{
	if (m->death_ns == 0 && view_died(view))
		m->death_ns = now;
	if (m->error_ns == 0 && view_failed(view))
		m->error_ns = now;
}

void members_look(struct monitor *m, const struct supervised *child, uint64_t paused_from,
		  uint64_t now)
{
	struct state own = child_state(child);

	accept_members(m);
	m->peers[0].view.process = own.process;
	m->peers[0].view.status = own.status;
	m->peers[0].view.oom_kills = own.oom_kills;
	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		if (i > 0 && peer->link.fd >= 0)
			receive_member(peer);
		if (!peer->memory) {
			if (peer->link.fd < 0)
				drop_peer(m, i--);
			continue;
		}
		excuse(peer, paused_from, now);
		view_read(&peer->view, peer->memory, now, peer->grace_ns);
		peer->view.pid = peer->memory->header.pid;
		members_note_end(m, &peer->view, now);
	}
	deadline_apply(m, now);
}

/* ---- what is seen ---- */

size_t monitor_local_views(const struct monitor *m, struct rank_view *views)
{
	size_t n = 0;

	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory)
			views[n++] = m->peers[i].view;
	return n;
}

bool members_all_done(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && !view_finished(&m->peers[i].view))
			return false;
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && !m->nodes[i].done)
			return false;
	return true;
}

static bool any_abnormal(const struct monitor *m, bool deadlines)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && views_abnormal(&m->peers[i].view, 1, deadlines))
			return true;
	return false;
}

bool members_abnormal(const struct monitor *m)
{
	return any_abnormal(m, m->config.deadlines);
}

bool members_worse(const struct monitor *m)
{
	return any_abnormal(m, false);
}

bool members_overdue(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].view.overdue)
			return true;
	return false;
}

static const struct record_header *informed_header(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].memory->header.nnodes >= 1)
			return &m->peers[i].memory->header;
	return NULL;
}

int members_nranks(const struct monitor *m)
{
	const struct record_header *h = informed_header(m);

	return h ? h->nranks : -1;
}

int members_nnodes(const struct monitor *m)
{
	const struct record_header *h = informed_header(m);

	return h ? h->nnodes : -1;
}

size_t monitor_all_views(const struct monitor *m, struct rank_view **views)
{
	size_t n = m->npeers;

	for (size_t i = 0; i < m->nnodes; i++)
		n += m->nodes[i].nviews;
	*views = calloc(n, sizeof(**views));
	if (!*views)
		return 0;
	n = monitor_local_views(m, *views);
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t j = 0; j < m->nodes[i].nviews; j++)
			(*views)[n++] = m->nodes[i].views[j];
	return n;
}
