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
#include "monitor_nodes.h"
#include "verdict.h"

#define LEADER_TICK_MS 20
#define MEMBER_TICK_MS 40 /* a rank that begins to end is found by asking */
#define QUIET_NS (500 * MS)  /* nobody is overdue while some rank of the node still moves */
#define STARVED_NS (5000 * MS) /* nor for so long while the host keeps one from running */
#define SETTLE_NS (100 * MS) /* other ranks' deaths and errors arrive in this time */
#define ERROR_NS (600 * MS)  /* a death that a rank reports as an error is seen in this time */
#define QUERY_NS (300 * MS)  /* other nodes answer in this time, or are judged without */
#define SLOW_NS (2500 * MS)  /* their slow evidence, after the verdict, in this */
#define ROOT_NS (3000 * MS)  /* a leader that reported waits so long for the root's decision */
#define PATIENCE_NS (3600000 * MS) /* the root may ask for so much */
#define SAVE_NS (10000 * MS) /* once the verdict is out the root takes its time to save */
#define PAUSE_NS (500 * MS)  /* not run for so long: stopped with the whole job, or starved */

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
	nodes_release(m);
	free(m->peers);
	link_release(&m->up);
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	m->peers = NULL;
	m->npeers = 0;
	m->listen_fd = -1;
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

/* A deadline that passed is no hang while a rank of this node has made a step lately, or is kept from
 * making one by the host, which is an excuse for so long only: on a crowded host somebody is always
 * kept. The accounts are read before they are needed: a window must have passed. */
static void forgive(struct monitor *m, uint64_t now)
{
	bool moving = false, waiting = false, overdue = false;

	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		if (!peer->memory || peer->view.process >= PROCESS_EXITED)
			continue;
		progress_note(&peer->progress, peer->view.heartbeat, now);
		waiting |= peer->view.waited > (double)QUIET_NS * 0.5e-9;
		overdue |= peer->view.overdue != 0;
		moving |= now - peer->progress.moved_ns < QUIET_NS;
	}
	if (!overdue || moving)
		m->overdue_ns = now;
	if (now - m->overdue_ns > STARVED_NS)
		return;
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
		if (view_died(&peer->view) && m->death_ns == 0)
			m->death_ns = now;
	}
	forgive(m, now);
}

size_t monitor_local_views(const struct monitor *m, struct rank_view *views)
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

/* ---- the end ---- */

static void tell_end(struct monitor *m, int32_t code)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].link.fd >= 0)
			link_send(&m->peers[i].link, MESSAGE_END, &code, sizeof(code), -1);
	nodes_tell(m, MESSAGE_END, &code, sizeof(code));
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
	n = monitor_local_views(m, *views);
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

/* The other nodes keep their evidence and send what is slow to find out; so does this one meanwhile. */
static void gather_slow(struct monitor *m, const char *folder)
{
	const struct monitor_judge *judge = &m->config.judge;
	uint64_t until = clock_ns() + SLOW_NS;

	for (size_t i = 0; i < m->nnodes; i++)
		m->nodes[i].silent = !m->nodes[i].answered;
	nodes_ask(m, MESSAGE_SLOW, folder);
	if (judge->slow)
		judge->slow(judge->ctx);
	do
		nodes_hear(m, clock_ns());
	while (!nodes_answered(m) && clock_ns() < until && (clock_nap(0.002), true));
	if (judge->save)
		judge->save(judge->ctx);
}

/* Who has waited longest past a deadline, in seconds. */
static double longest_wait(const struct rank_view *views, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		if (views[i].overdue && views[i].waited > most)
			most = views[i].waited;
	return most;
}

/* The judge found no cause: does the run get more time? */
static bool doubted(struct monitor *m, const struct verdict *verdict, const struct rank_view *views,
                    size_t n)
{
	uint64_t now = clock_ns(), more;

	if (!m->config.doubts || !m->config.judge.sharpen || verdict->outcome != OUTCOME_HANG ||
	    strcmp(verdict->class, VERDICT_UNEXPLAINED) != 0 ||
	    !doubt_grant(&m->doubt, longest_wait(views, n), now))
		return false;
	more = m->doubt.until_ns - now;
	nodes_tell(m, MESSAGE_PATIENCE, &more, sizeof(more));
	m->stage_until = m->doubt.until_ns;
	m->stage = STAGE_WATCH;
	return true;
}

/* Say so, and end the run everywhere; unless a closer look gives it more time. */
static void end(struct monitor *m, struct verdict *verdict, const struct rank_view *views, size_t n)
{
	const struct monitor_judge *judge = &m->config.judge;
	bool closer = unexpected_end(verdict->outcome);
	uint64_t began = clock_ns();

	if (closer)
		sharpen(m, verdict, views, n);
	if (doubted(m, verdict, views, n))
		return;
	if (closer && judge->place)
		judge->place(judge->ctx, verdict);
	verdict->detect_ms += (double)(clock_ns() - began) * 1e-6; /* a closer look takes its time */
	if (speaks(verdict->outcome))
		verdict_print(stdout, verdict, views, n);
	if (closer)
		gather_slow(m, strcmp(verdict->evidence, "-") ? verdict->evidence : "");
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
		m->doubt = (struct doubt){ 0 };
	} else {
		end(m, &verdict, views, n);
	}
	free(views);
}

/* What the root wants. */
static void obey(struct monitor *m, const struct link_message *message)
{
	char folder[256];
	uint64_t more;

	switch (message->type) {
	case MESSAGE_PREPARE:
		nodes_prepare(m);
		break;
	case MESSAGE_QUERY:
		nodes_testify(m);
		break;
	case MESSAGE_SLOW:
		snprintf(folder, sizeof(folder), "%.*s", (int)message->bytes,
		         (const char *)message->payload);
		nodes_testify_slow(m, folder);
		m->stage_until = clock_ns() + SAVE_NS;
		break;
	case MESSAGE_PATIENCE:
		if (message->bytes != sizeof(more))
			break;
		memcpy(&more, message->payload, sizeof(more));
		m->stage_until = clock_ns() + (more < PATIENCE_NS ? more : PATIENCE_NS) + ROOT_NS;
		break;
	case MESSAGE_END:
		if (message->bytes != sizeof(int32_t))
			break;
		memcpy(&m->exit_code, message->payload, sizeof(int32_t));
		tell_end(m, m->exit_code);
		m->stage = STAGE_END;
		break;
	default:
		break;
	}
}

/* Leader without rank 0, connected: report once, then follow the root. */
static void follow_root(struct monitor *m, uint64_t now)
{
	bool abnormal = local_abnormal(m);
	struct link_message message;
	int rc;

	while ((rc = link_receive(&m->up, &message)) == 1) {
		obey(m, &message);
		if (m->stage == STAGE_END)
			return;
	}
	if (!abnormal && !all_done(m))
		m->reported = false;
	if (!m->reported && (abnormal || all_done(m))) {
		nodes_report(m, abnormal ? MESSAGE_ABNORMAL : MESSAGE_DONE);
		m->reported = true;
		m->stage_until = now + ROOT_NS;
	}
	/* Without the root, or when it does not decide, this node ends on its own judgement; a node
	 * that is done waits, since others may take as long as they like. */
	if (rc < 0 || (m->reported && abnormal && now > m->stage_until))
		conclude(m, rc < 0, now);
}

static bool any_overdue(const struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].view.overdue)
			return true;
	return false;
}

/* Something is wrong: until when what else is wrong may come in. */
static uint64_t settle_until(const struct monitor *m, uint64_t now)
{
	return now + (m->death_ns || any_overdue(m) ? SETTLE_NS : ERROR_NS);
}

static bool is_settled(const struct monitor *m, uint64_t now)
{
	return now >= m->stage_until || (m->death_ns && now >= m->death_ns + SETTLE_NS);
}

/* Was time granted for just what is wrong now: a wait? */
static bool bears(const struct monitor *m, uint64_t now)
{
	struct rank_view *views;
	size_t n;
	bool worse;

	if (!doubt_holds(&m->doubt, now))
		return false;
	n = gather_views(m, &views);
	worse = views_abnormal(views, n, false);
	free(views);
	return !worse;
}

static void lead(struct monitor *m, uint64_t now)
{
	bool abnormal = nodes_hear(m, now) || local_abnormal(m);

	switch (m->stage) {
	case STAGE_WATCH:
		if (all_done(m)) {
			conclude(m, false, now);
		} else if (doubt_over(&m->doubt, now) || (abnormal && !bears(m, now))) {
			m->stage = STAGE_SETTLE;
			nodes_tell(m, MESSAGE_PREPARE, NULL, 0);
			nodes_prepare(m);
			m->stage_until = settle_until(m, now);
			m->doubt.until_ns = 0;
		}
		break;
	case STAGE_SETTLE:
		if (!is_settled(m, now))
			break;
		nodes_ask(m, MESSAGE_QUERY, "");
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
	if (nodes_listening(m))
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
		nodes_open(m);
		nodes_join(m);
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
