/* monitor.c: place among the observers, exchange of views, and the order in which a run is ended. */
#include "monitor.h"

#include <errno.h>
#include <fcntl.h>
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

#include "clock.h"
#include "star.h"
#include "verdict.h"

#define MS 1000000ull
#define LEADER_TICK_MS 20
#define MEMBER_TICK_MS 200
#define QUIET_NS (500 * MS)  /* nobody is overdue while some rank of the node still moves */
#define SETTLE_NS (100 * MS) /* other ranks' deaths and errors arrive in this time */
#define QUERY_NS (300 * MS)  /* other nodes answer in this time, or are judged without */
#define ROOT_NS (3000 * MS)  /* a leader that reported waits so long for the root's decision */
#define PAUSE_NS (500 * MS)  /* not run for so long: stopped with the whole job, or starved */

enum message {
	MESSAGE_HELLO = 1, /* member: its memory's descriptor comes along; payload: pid */
	MESSAGE_STATE,     /* member: struct state */
	MESSAGE_END,       /* from above: int32 exit code */
	MESSAGE_JOIN,      /* leader to root: token, then views */
	MESSAGE_VIEWS,     /* leader to root: views in answer to a query */
	MESSAGE_ABNORMAL,  /* leader to root: views, something is wrong */
	MESSAGE_DONE,      /* leader to root: views, all finished by themselves */
	MESSAGE_QUERY      /* root to leader */
};

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

/* Names of the abstract namespace are anybody's: no rank's memory goes to another user's process. */
static bool same_user(int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 && cred.uid == geteuid();
}

/* Bind or connect, whichever works: the kernel lets exactly one bind. */
static int take_place(struct monitor *m, int memory_fd)
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

int monitor_open(struct monitor *m, const struct monitor_config *config,
                 struct record_memory *memory, int memory_fd, struct error *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->config = *config;
	m->memory = memory;
	m->listen_fd = m->star_fd = -1;
	m->up.fd = m->up.passed_fd = -1;
	m->last_step = clock_ns();
	rc = take_place(m, memory_fd);
	if (rc < 0) {
		monitor_close(m);
		return error_set(err, OUTCOME_INTERNAL, rc, "monitor of run %s: %s", config->key,
		                 strerror(-rc));
	}
	return 0;
}

void monitor_close(struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++) {
		link_release(&m->peers[i].link);
		if (m->peers[i].memory && m->peers[i].memory != m->memory)
			munmap(m->peers[i].memory, sizeof(struct record_memory));
	}
	for (size_t i = 0; i < m->nnodes; i++) {
		link_release(&m->nodes[i].link);
		free(m->nodes[i].views);
	}
	free(m->peers);
	free(m->nodes);
	link_release(&m->up);
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	if (m->star_fd >= 0)
		close(m->star_fd);
	m->peers = NULL;
	m->nodes = NULL;
	m->npeers = m->nnodes = 0;
	m->listen_fd = m->star_fd = -1;
}

/* ---- own rank ---- */

static struct state child_state(const struct supervised *child)
{
	struct state s = { child->stopped ? PROCESS_STOPPED : PROCESS_ALIVE, 0, 0 };

	if (child->running)
		return s;
	s.process = WIFEXITED(child->wait_status) ? PROCESS_EXITED : PROCESS_KILLED;
	s.status = WIFEXITED(child->wait_status) ? WEXITSTATUS(child->wait_status) :
	                                           WTERMSIG(child->wait_status);
	s.oom_kills = child->oom_kills;
	return s;
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

static void hear_member(struct monitor_peer *peer)
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

static bool died(const struct rank_view *view)
{
	return view->process >= PROCESS_EXITED && !view_finished(view);
}

/* A deadline that passed is no hang while a rank of this node has made a step lately, or is kept from
 * making one by the host. The accounts are read before they are needed: a window must have passed. */
static void forgive(struct monitor *m, uint64_t now)
{
	bool moving = false, waiting = false;

	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		if (!peer->memory || peer->view.process >= PROCESS_EXITED)
			continue;
		progress_note(&peer->progress, peer->view.heartbeat, now);
		waiting |= peer->view.waited > (double)QUIET_NS * 0.5e-9;
		moving |= now - peer->progress.moved_ns < QUIET_NS;
	}
	for (size_t i = 0; waiting && !moving && i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].view.process == PROCESS_ALIVE)
			moving |= progress_starved(&m->peers[i].progress, m->peers[i].view.pid, now);
	for (size_t i = 0; moving && i < m->npeers; i++)
		m->peers[i].view.overdue = 0;
}

/* Refresh all views of this node. Nobody has looked since `paused_from`. */
static void look(struct monitor *m, const struct supervised *child, uint64_t paused_from,
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
			hear_member(peer);
		if (!peer->memory) {
			if (peer->link.fd < 0)
				drop_peer(m, i--);
			continue;
		}
		excuse(peer, paused_from, now);
		view_read(&peer->view, peer->memory, now, peer->grace_ns);
		peer->view.pid = peer->memory->header.pid;
		if (died(&peer->view) && m->death_ns == 0)
			m->death_ns = now;
	}
	forgive(m, now);
}

/* The views of this node's ranks, of which there are npeers at most, to `views`; how many they are. */
static size_t copy_views(const struct monitor *m, struct rank_view *views)
{
	size_t n = 0;

	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory)
			views[n++] = m->peers[i].view;
	return n;
}

static bool all_done(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && !view_finished(&m->peers[i].view))
			return false;
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && !m->nodes[i].done)
			return false;
	return true;
}

static bool local_abnormal(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory &&
		    views_abnormal(&m->peers[i].view, 1, m->config.deadlines))
			return true;
	return false;
}

/* ---- several nodes ---- */

/* The header of the local rank that knows the star, or NULL. Only the node of rank 0 listens. */
static struct record_header *find_header(const struct monitor *m, bool rank0)
{
	for (size_t i = 0; i < m->npeers; i++) {
		struct record_header *h = m->peers[i].memory ? &m->peers[i].memory->header : NULL;

		if (h && (rank0 ? atomic_load(&h->star_wanted) : atomic_load(&h->star_ready)))
			return h;
	}
	return NULL;
}

static void open_star(struct monitor *m)
{
	struct record_header *h = m->star_fd < 0 ? find_header(m, true) : NULL;
	int port = 0;

	if (!h)
		return;
	m->star_fd = star_listen(&port);
	atomic_store(&h->star_port, m->star_fd < 0 ? -1 : port);
}

static int send_views(struct monitor *m, enum message type)
{
	struct { uint64_t token; struct rank_view views[]; } *payload;
	struct record_header *h = find_header(m, false);
	size_t bytes = sizeof(*payload);
	int rc;

	payload = calloc(1, bytes + m->npeers * sizeof(struct rank_view));
	if (!payload)
		return -ENOMEM;
	payload->token = h ? h->star_token : 0;
	bytes += copy_views(m, payload->views) * sizeof(struct rank_view);
	rc = link_send(&m->up, type, payload, (uint32_t)bytes, -1);
	free(payload);
	return rc;
}

/* Leader of a node without rank 0: connect as soon as the address is known. */
static void join_star(struct monitor *m)
{
	struct record_header *h = find_header(m, false);
	int fd;

	if (m->up_is_root || !h || atomic_load(&h->star_wanted) || find_header(m, true))
		return;
	m->up_is_root = true; /* one attempt: the job cannot go on for long without a network */
	fd = star_connect(h->star_address, 1.0);
	if (fd < 0)
		return;
	link_init(&m->up, fd);
	send_views(m, MESSAGE_JOIN);
}

/* Before the own ranks have the token nobody can be told from a stranger: callers wait in the queue. */
static bool star_open(const struct monitor *m)
{
	return m->star_fd >= 0 && find_header(m, false) != NULL;
}

static void accept_nodes(struct monitor *m)
{
	int fd;

	while (star_open(m) && m->nnodes < MONITOR_NODES &&
	       (fd = accept4(m->star_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct monitor_node *nodes = realloc(m->nodes, (m->nnodes + 1) * sizeof(*nodes));

		if (!nodes) {
			close(fd);
			return;
		}
		m->nodes = nodes;
		memset(&nodes[m->nnodes], 0, sizeof(*nodes));
		link_init(&nodes[m->nnodes].link, fd);
		m->nnodes++;
	}
}

static int take_views(struct monitor *m, struct monitor_node *node,
                      const struct link_message *message)
{
	struct record_header *h = find_header(m, false);
	uint64_t token;
	size_t bytes = message->bytes - sizeof(token);
	struct rank_view *views;

	if (message->bytes < sizeof(token) || bytes % sizeof(*views) != 0 || !h)
		return -EPROTO;
	memcpy(&token, message->payload, sizeof(token));
	if (token != h->star_token)
		return -EPERM;
	views = malloc(bytes ? bytes : 1);
	if (!views)
		return -ENOMEM;
	memcpy(views, (const char *)message->payload + sizeof(token), bytes);
	free(node->views);
	node->views = views;
	node->nviews = bytes / sizeof(*views);
	node->known = true;
	for (size_t i = 0; i < node->nviews; i++) {
		views[i].what[sizeof(views[i].what) - 1] = '\0';
		views[i].host[sizeof(views[i].host) - 1] = '\0';
		views[i].error[sizeof(views[i].error) - 1] = '\0';
	}
	return 0;
}

static void drop_node(struct monitor *m, size_t i)
{
	link_release(&m->nodes[i].link);
	free(m->nodes[i].views);
	memmove(&m->nodes[i], &m->nodes[i + 1], (m->nnodes - i - 1) * sizeof(*m->nodes));
	m->nnodes--;
}

/* A node whose monitor is gone took its ranks along. */
static void lose_node(struct monitor_node *node)
{
	link_release(&node->link);
	for (size_t i = 0; i < node->nviews; i++) {
		struct rank_view *view = &node->views[i];

		if (view->process >= PROCESS_EXITED)
			continue;
		view->process = PROCESS_KILLED;
		view->status = SIGKILL;
		/* the view is as old as the node's last message: its calls since are not known */
		view->issued = UINT64_MAX;
		view->last.ticket = 0;
	}
}

static bool any_died(const struct monitor_node *node)
{
	for (size_t i = 0; i < node->nviews; i++)
		if (died(&node->views[i]))
			return true;
	return false;
}

/* Returns true when a node has reported something abnormal. */
static bool hear_nodes(struct monitor *m, uint64_t now)
{
	bool abnormal = false;

	accept_nodes(m);
	for (size_t i = 0; i < m->nnodes; i++) {
		struct monitor_node *node = &m->nodes[i];
		struct link_message message;
		int rc = 0;

		while (node->link.fd >= 0 && (rc = link_receive(&node->link, &message)) == 1) {
			rc = take_views(m, node, &message);
			if (rc < 0)
				break;
			abnormal |= message.type == MESSAGE_ABNORMAL;
			node->answered |= message.type != MESSAGE_JOIN;
			node->done = message.type == MESSAGE_DONE;
		}
		if (rc < 0 && !node->known) {
			drop_node(m, i--); /* a stranger */
			continue;
		}
		if (rc < 0 && !node->done) {
			lose_node(node);
			abnormal = true;
		} else if (rc < 0) {
			link_release(&node->link);
		}
		if (m->death_ns == 0 && any_died(node))
			m->death_ns = now;
	}
	return abnormal;
}

static bool nodes_answered(const struct monitor *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && m->nodes[i].link.fd >= 0 && !m->nodes[i].answered)
			return false;
	return true;
}

/* ---- the end ---- */

static void tell_end(struct monitor *m, int32_t code)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].link.fd >= 0)
			link_send(&m->peers[i].link, MESSAGE_END, &code, sizeof(code), -1);
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && m->nodes[i].link.fd >= 0)
			link_send(&m->nodes[i].link, MESSAGE_END, &code, sizeof(code), -1);
}

/* Of all nodes. The caller frees; 0 without memory. */
static size_t gather_views(const struct monitor *m, struct rank_view **views)
{
	size_t n = m->npeers;

	for (size_t i = 0; i < m->nnodes; i++)
		n += m->nodes[i].nviews;
	*views = calloc(n, sizeof(**views));
	if (!*views)
		return 0;
	n = copy_views(m, *views);
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t j = 0; j < m->nodes[i].nviews; j++)
			(*views)[n++] = m->nodes[i].views[j];
	return n;
}

/* A rank that knows more about its own outcome (wrong data: whose) has left class and ranks. */
static void refine(struct monitor *m, struct verdict *verdict)
{
	for (size_t i = 0; i < m->npeers; i++) {
		struct record_header *h = m->peers[i].memory ? &m->peers[i].memory->header : NULL;

		if (!h || h->outcome != (int32_t)verdict->outcome || !h->guilty[0])
			continue;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%.63s", h->guilty);
		return;
	}
}

static bool speaks(enum outcome outcome)
{
	return outcome != OUTCOME_OK && outcome != OUTCOME_USAGE && outcome != OUTCOME_UNSUPPORTED;
}

static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank) :
	                            (x->local > y->local) - (x->local < y->local);
}

static const struct record_memory *memory_of(const struct monitor *m, const struct rank_view *view)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && view->pid == m->peers[i].view.pid &&
		    view->rank == m->peers[i].view.rank)
			return m->peers[i].memory;
	return NULL;
}

/* Let the judge see what this node has, if there is one and something is wrong. */
static void sharpen(struct monitor *m, struct verdict *verdict, const struct rank_view *views,
                    size_t n)
{
	const struct monitor_judge *judge = &m->config.judge;
	const struct record_memory **memories;

	if (!judge->sharpen)
		return;
	memories = calloc(n ? n : 1, sizeof(*memories));
	if (!memories)
		return;
	for (size_t i = 0; i < n; i++)
		memories[i] = memory_of(m, &views[i]);
	judge->sharpen(judge->ctx, views, memories, n, verdict);
	free(memories);
}

static bool unexpected_end(enum outcome outcome)
{
	return outcome == OUTCOME_HANG || outcome == OUTCOME_DIED || outcome == OUTCOME_ERROR;
}

/* Say so, and end the run everywhere. */
static void end(struct monitor *m, struct verdict *verdict, const struct rank_view *views, size_t n)
{
	bool closer = unexpected_end(verdict->outcome);

	if (closer)
		sharpen(m, verdict, views, n);
	if (speaks(verdict->outcome))
		verdict_print(stdout, verdict, views, n);
	if (closer && m->config.judge.save)
		m->config.judge.save(m->config.judge.ctx);
	m->exit_code = expect_exit_code(m->config.expect, verdict->outcome, verdict->class,
	                                strcmp(verdict->ranks, "-") ? verdict->ranks : "");
	tell_end(m, m->exit_code);
	m->stage = STAGE_END;
}

/* Judge. Whoever was only late may be back by now: then the run goes on. */
static void conclude(struct monitor *m, bool root_lost, uint64_t now)
{
	struct rank_view *views = NULL;
	size_t n = gather_views(m, &views);
	bool unfinished = !all_done(m) && !views_abnormal(views, n, m->config.deadlines);
	struct verdict verdict;

	if (n > 0)
		qsort(views, n, sizeof(*views), compare_views);
	verdict_judge(&verdict, views, n, m->death_ns ? (double)(now - m->death_ns) * 1e-9 : 0);
	refine(m, &verdict);
	if (unfinished && root_lost) { /* and rank 0 with it */
		verdict.outcome = OUTCOME_DIED;
		verdict.class = "rank-died";
		verdict.confidence = "inconclusive";
	}
	if (unfinished && !root_lost) {
		m->stage = STAGE_WATCH;
		m->reported = false;
	} else {
		end(m, &verdict, views, n);
	}
	free(views);
}

/* Leader without rank 0, connected: report once, then follow the root. */
static void follow_root(struct monitor *m, uint64_t now)
{
	bool abnormal = local_abnormal(m);
	struct link_message message;
	int rc;

	while ((rc = link_receive(&m->up, &message)) == 1) {
		if (message.type == MESSAGE_QUERY) {
			send_views(m, MESSAGE_VIEWS);
		} else if (message.type == MESSAGE_END && message.bytes == sizeof(int32_t)) {
			memcpy(&m->exit_code, message.payload, sizeof(int32_t));
			tell_end(m, m->exit_code);
			m->stage = STAGE_END;
			return;
		}
	}
	if (!abnormal && !all_done(m))
		m->reported = false;
	if (!m->reported && (abnormal || all_done(m))) {
		send_views(m, abnormal ? MESSAGE_ABNORMAL : MESSAGE_DONE);
		m->reported = true;
		m->stage_until = now + ROOT_NS;
	}
	/* Without the root, or when it does not decide, this node ends on its own judgement; a node
	 * that is done waits, since others may take as long as they like. */
	if (rc < 0 || (m->reported && abnormal && now > m->stage_until))
		conclude(m, rc < 0, now);
}

static void lead(struct monitor *m, uint64_t now)
{
	bool abnormal = hear_nodes(m, now) || local_abnormal(m);

	switch (m->stage) {
	case STAGE_WATCH:
		if (all_done(m)) {
			conclude(m, false, now);
		} else if (abnormal) {
			m->stage = STAGE_SETTLE;
			m->stage_until = now + SETTLE_NS;
		}
		break;
	case STAGE_SETTLE:
		if (now < m->stage_until)
			break;
		for (size_t i = 0; i < m->nnodes; i++) {
			m->nodes[i].answered = m->nodes[i].done;
			if (m->nodes[i].known && m->nodes[i].link.fd >= 0 && !m->nodes[i].done)
				link_send(&m->nodes[i].link, MESSAGE_QUERY, NULL, 0, -1);
		}
		m->stage = STAGE_QUERY;
		m->stage_until = now + QUERY_NS;
		break;
	case STAGE_QUERY:
		if (nodes_answered(m) || now > m->stage_until)
			conclude(m, false, now);
		break;
	case STAGE_END:
		break;
	}
}

/* Member: tell of the own rank, hear of the end. Without a leader the run is over. */
static void follow_leader(struct monitor *m, const struct supervised *child)
{
	struct link_message message;
	struct state state = child_state(child);
	int rc;

	if (child->changed)
		link_send(&m->up, MESSAGE_STATE, &state, sizeof(state), -1);
	while ((rc = link_receive(&m->up, &message)) == 1) {
		if (message.type != MESSAGE_END || message.bytes != sizeof(int32_t))
			continue;
		memcpy(&m->exit_code, message.payload, sizeof(int32_t));
		m->stage = STAGE_END;
		return;
	}
	if (rc < 0) {
		fprintf(stderr, "hangar: the monitor of this node is gone; ending rank %d\n",
		        m->memory->header.rank);
		m->exit_code = OUTCOME_DIED;
		m->stage = STAGE_END;
	}
}

/* ---- hooks ---- */

static size_t monitor_fds(void *ctx, struct pollfd *fds, size_t room)
{
	struct monitor *m = ctx;
	size_t n = 0;

#define ADD(descriptor)                                                                            \
	if ((descriptor) >= 0 && n < room)                                                         \
	fds[n++] = (struct pollfd){ .fd = (descriptor), .events = POLLIN }
	ADD(m->up.fd);
	ADD(m->listen_fd);
	if (star_open(m))
		ADD(m->star_fd);
	for (size_t i = 0; i < m->npeers; i++)
		ADD(m->peers[i].link.fd);
	for (size_t i = 0; i < m->nnodes; i++)
		ADD(m->nodes[i].link.fd);
#undef ADD
	return n;
}

static int monitor_interval(void *ctx)
{
	const struct monitor *m = ctx;

	return m->leader ? LEADER_TICK_MS : MEMBER_TICK_MS;
}

static bool monitor_step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct monitor *m = ctx;
	uint64_t now = clock_ns();
	uint64_t paused_from = now - m->last_step > PAUSE_NS ? m->last_step : now;

	m->last_step = now;
	if (m->leader) {
		look(m, child, paused_from, now);
		open_star(m);
		join_star(m);
		if (m->up.fd >= 0)
			follow_root(m, now);
		else
			lead(m, now);
	} else {
		follow_leader(m, child);
	}
	*exit_code = m->exit_code;
	return m->stage == STAGE_END;
}

struct supervisor_hooks monitor_hooks(struct monitor *monitor)
{
	return (struct supervisor_hooks){
		.ctx = monitor,
		.fds = monitor_fds,
		.step = monitor_step,
		.interval_ms = monitor_interval,
	};
}
