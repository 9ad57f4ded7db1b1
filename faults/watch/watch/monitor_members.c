/* monitor_members.c: place among a host's observers, and what its leader sees of its ranks. */
#include "watch/monitor_members.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/proc_stat.h"
#include "process/leftovers.h"
#include "process/python.h"
#include "watch/monitor_nodes.h"

struct state {
	int32_t process, status;
	uint32_t oom_kills;
};

/* ---- place ---- */

static struct monitor_peer *add_peer(struct monitor *m, int fd)
{
	struct monitor_peer *peer;

	m->peers = must(realloc(m->peers, (m->npeers + 1) * sizeof(*peer)));
	peer = &m->peers[m->npeers++];
	*peer = (struct monitor_peer){ .link = { .fd = -1, .passed_fd = -1 },
				       .rank = -1,
				       .pidfd = -1 };
	if (fd >= 0)
		link_init(&peer->link, fd);
	return peer;
}

/* The peer is a rank of this host: this is its memory. */
static void add_rank(struct monitor *m, struct monitor_peer *peer, struct record_memory *memory)
{
	size_t n = m->nranks + 1;

	m->ranks = must(realloc(m->ranks, n * sizeof(*m->ranks)));
	m->desync_states = must(realloc(m->desync_states, n * sizeof(*m->desync_states)));
	m->memories = must(realloc(m->memories, n * sizeof(struct record_memory *)));
	m->memories[m->nranks] = memory;
	m->desync_states[m->nranks] = (struct desync_state){ 0 };
	m->ranks[m->nranks] =
		(struct decide_rank){ .view = { .rank = -1,
						.local = (int32_t)m->nranks,
						.outcome = -1,
						.pid = peer->foreign ? 0 : memory->header.pid } };
	peer->rank = (int)m->nranks++;
}

pid_t members_peer_pid(int fd)
{
	return link_peer(fd).pid;
}

/* The leader leaves the rank's core and process group. Launchers' signals are for supervisors, which say that they leave. */
static _Noreturn void become_leader(struct monitor *m, int listen_fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cpu_set_t all;

	setsid();
	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(0, sizeof(all), &all);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	close(m->memory_fd);
	m->memory = NULL;
	m->leader = true;
	m->parent = getppid();
	m->any_ns = clock_ns();
	decide_open(&m->decide, &m->config.decide, clock_ns());
	m->listen_fd = listen_fd;
	if (listen(listen_fd, 1024) < 0) /* the kernel tells members which process did so */
		exit(1);
	m->config.watch(m->config.watch_arg, m);
	exit(0);
}

static int fork_leader(struct monitor *m, int listen_fd)
{
	fflush(NULL);
	m->forked = fork();
	if (m->forked == 0)
		become_leader(m, listen_fd);
	return m->forked < 0 ? -errno : 0;
}

int members_join(struct monitor *m)
{
	char key[64];
	uint64_t give_up = clock_ns() + 5000 * MS;
	int32_t pid = getpid();
	int name = 0, rc = 0;

	snprintf(key, sizeof(key), m->replacing ? "%.48s.end" : "%.48s", m->config.key);
	while (clock_ns() < give_up) {
		socklen_t len;
		struct sockaddr_un address = link_address(key, name, &len);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -errno;
		if (bind(fd, (struct sockaddr *)&address, len) == 0) {
			fcntl(fd, F_SETFL, O_NONBLOCK);
			rc = m->memory ? fork_leader(m, fd) : listen(fd, 1024) < 0 ? -errno : 0;
			m->leader = !m->memory && rc == 0;
			m->listen_fd = m->leader ? fd : -1;
			if (!m->leader)
				close(fd);
			if (m->leader || (rc < 0 && rc != -EAGAIN))
				return rc;
			if (rc < 0) /* another member may be able to */
				clock_sleep(0.05);
			continue;
		}
		close(fd);
		fd = link_connect(key, 0, &name);
		if (fd == -EPERM || (fd >= 0 && !m->memory)) {
			if (fd >= 0)
				close(fd);
			return fd < 0 ? fd : -EADDRINUSE;
		}
		if (fd >= 0) {
			int code;

			link_init(&m->up, fd);
			m->came_late = run_folder_ended(m->config.key, &code);
			rc = link_send(&m->up, MESSAGE_HELLO, &pid, sizeof(pid), m->memory_fd);
			return rc < 0 || !m->child ? rc : members_report(m);
		}
		clock_sleep(0.005); /* the leader has bound but does not listen yet */
	}
	return rc == -EAGAIN ? rc : m->memory ? -ETIMEDOUT : -EADDRINUSE;
}

/* Maps the memory that came along with a message; NULL: none did, or no flight recorder. */
static struct record_memory *take_memory(struct link *link, ino_t *node)
{
	struct stat st;
	void *map = MAP_FAILED;

	if (link->passed_fd < 0)
		return NULL;
	if (fstat(link->passed_fd, &st) == 0 && st.st_size == (off_t)sizeof(struct record_memory))
		map = mmap(NULL, sizeof(struct record_memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			   link->passed_fd, 0);
	*node = map == MAP_FAILED ? 0 : st.st_ino;
	close(link->passed_fd);
	link->passed_fd = -1;
	return map == MAP_FAILED ? NULL : map;
}

static void release_peer(struct monitor_peer *peer)
{
	link_release(&peer->link);
	if (peer->pidfd >= 0)
		close(peer->pidfd);
	peer->pidfd = -1;
}

void members_forget(struct monitor *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].rank < 0)
			m->peers[kept++] = m->peers[i];
		else
			release_peer(&m->peers[i]);
	for (size_t i = 0; i < m->nranks; i++)
		munmap(m->memories[i], sizeof(struct record_memory));
	free(m->ranks);
	free(m->desync_states);
	free(m->memories);
	m->ranks = NULL;
	m->desync_states = NULL;
	m->memories = NULL;
	m->npeers = kept;
	m->nranks = 0;
}

void members_release(struct monitor *m)
{
	link_release(&m->up);
	members_forget(m);
	for (size_t i = 0; i < m->npeers; i++)
		release_peer(&m->peers[i]);
	free(m->peers);
	m->peers = NULL;
	m->npeers = 0;
	if (m->listen_fd >= 0)
		close(m->listen_fd);
	m->listen_fd = -1;
}

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

int members_report(struct monitor *m)
{
	struct state state = child_state(m->child);

	return link_send(&m->up, MESSAGE_STATE, &state, sizeof(state), -1);
}

/* ---- leader: its members ---- */

static void take_state(struct rank_view *view, const struct state *state)
{
	view->process = state->process;
	view->status = state->status;
	view->oom_kills = state->oom_kills;
}

void monitor_admit(struct monitor *m, int fd)
{
	add_peer(m, fd);
}

static void accept_members(struct monitor *m)
{
	int fd;

	while ((fd = accept4(m->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		if (link_same_user(fd))
			add_peer(m, fd);
		else
			close(fd);
}

/* Returns true if the sender of a HELLO has another number for itself than here. */
static bool is_foreign(const struct link *link, const struct link_message *hello)
{
	int32_t own = 0;

	if (hello->bytes == sizeof(own))
		memcpy(&own, hello->payload, sizeof(own));
	return own != members_peer_pid(link->fd);
}

static void adopt_memory(struct monitor *m, struct monitor_peer *peer,
			 const struct link_message *hello)
{
	struct record_memory *memory =
		peer->rank < 0 ? take_memory(&peer->link, &peer->memory) : NULL;

	if (!memory)
		return;
	peer->pid = members_peer_pid(peer->link.fd);
	peer->foreign = is_foreign(&peer->link, hello);
	peer->group = getpgid(peer->pid);
	if (m->config.preloaded && peer->pid > 0)
		peer->pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	add_rank(m, peer, memory);
}

/* It may have been put into a cgroup by now. */
static void observe_cgroup(struct monitor_peer *peer, pid_t pid)
{
	uint64_t now = clock_ns();
	char path[CGROUP_PATH];

	if (now - peer->cgroup_ns < 40 * MS)
		return;
	peer->cgroup_ns = now;
	if (cgroup_of(pid, path, sizeof(path)) < 0 || strcmp(path, peer->cgroup) == 0)
		return;
	snprintf(peer->cgroup, sizeof(peer->cgroup), "%s", path);
	peer->oom_kills = cgroup_oom_kills(path);
}

/* Returns true if the process, whose number another one may have by now, has ended. */
static bool has_ended(const struct monitor_peer *peer, pid_t pid)
{
	struct pollfd p = { .fd = peer->pidfd, .events = POLLIN };

	return peer->pidfd >= 0 ? poll(&p, 1, 0) == 1 : proc_gone(pid);
}

/* Returns true if the process runs another program, which has no place in the job: exec() left the record behind. */
static bool has_become_another(const struct monitor_peer *peer, pid_t pid)
{
	unsigned long node;
	char path[64], line[512];
	bool mapped = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	while (maps && !mapped && fgets(line, sizeof(line), maps))
		mapped = strstr(line, "/memfd:") &&
			 sscanf(line, "%*s %*s %*s %*s %lu", &node) == 1 && node == peer->memory;
	if (maps)
		fclose(maps);
	return maps && !mapped;
}

/* Reads the state of a process that is no child of a supervisor that is heard of. The kernel
 * keeps its exit status for its parent; after that its record has what it handed to exit, or
 * reported. Without either its signal is unknown (0). Its end is looked for first: what is read then is
 * its last. */
static void observe_process(struct monitor *m, struct monitor_peer *peer, bool gone)
{
	struct rank_view *view = &m->ranks[peer->rank].view;
	const struct record_header *h = &m->memories[peer->rank]->header;
	struct proc_stat stat;
	int32_t exit_status;
	bool seen, ended;
	int status;

	if (view->process >= PROCESS_EXITED)
		return;
	ended = has_ended(peer, view->pid);
	seen = proc_stat_read(&stat, view->pid, 0);
	if (exit_seen(view->pid, &peer->exit_again, &status) ||
	    (gone && exit_seen(view->pid, &peer->exit_again, &status))) {
		view->process = WIFEXITED(status) ? PROCESS_EXITED : PROCESS_KILLED;
		view->status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
		return;
	}
	ended = ended || (gone && !seen);
	exit_status = h->preloaded ? h->exit_status : h->outcome;
	if (gone && exit_status < 0 && !ended && has_become_another(peer, view->pid))
		exit_status = 0;
	if (ended || (gone && exit_status >= 0)) {
		view->process = exit_status >= 0 ? PROCESS_EXITED : PROCESS_KILLED;
		view->status = exit_status >= 0 ? exit_status : 0;
	} else if (seen) {
		view->process =
			stat.state == 'T' || stat.state == 't' ? PROCESS_STOPPED : PROCESS_ALIVE;
		observe_cgroup(peer, view->pid);
	}
	if (view->process == PROCESS_KILLED && peer->cgroup[0] &&
	    cgroup_oom_kills(peer->cgroup) > peer->oom_kills)
		view->oom_kills = 1;
}

/* Numbers of another namespace mean others here. */
void monitor_tell(struct monitor *m, int32_t target)
{
	for (size_t i = 0; i < m->npeers; i++) {
		const struct monitor_peer *p = &m->peers[i];
		bool own = !p->foreign && (target == p->pid || target == -p->group);

		if (p->rank >= 0 && (own || target == -1))
			m->ranks[p->rank].told_ns = clock_ns();
	}
}

/* A process of the run is about to end others. */
static void take_signal(struct monitor *m, const struct link *link,
			const struct link_message *message)
{
	struct signal_sent sent;

	if (message->bytes != sizeof(sent))
		return;
	memcpy(&sent, message->payload, sizeof(sent));
	if (sent.pid == members_peer_pid(link->fd))
		monitor_tell(m, sent.target);
}

/* The supervisor, if it is one, is gone and its rank with it (PR_SET_PDEATHSIG). */
static void part(struct monitor *m, struct monitor_peer *peer)
{
	struct decide_rank *rank = peer->rank >= 0 ? &m->ranks[peer->rank] : NULL;

	if (rank && m->config.preloaded)
		observe_process(m, peer, true);
	link_release(&peer->link);
	if (rank && !m->config.preloaded && !view_finished(&rank->view))
		rank->supervisor =
			(struct decide_watcher){ .hold = HOLD_GONE, .pid = (int)peer->pid };
	if (rank && !m->config.preloaded && rank->view.process < PROCESS_EXITED) {
		rank->view.process = PROCESS_KILLED;
		rank->view.status = SIGKILL;
	}
}

void monitor_signal(struct monitor *m, int number)
{
	for (size_t i = 0; i < m->npeers; i++) {
		const struct monitor_peer *p = &m->peers[i];
		bool lives = p->rank >= 0 && m->ranks[p->rank].view.process < PROCESS_EXITED;

		if (lives && p->pidfd >= 0)
			syscall(SYS_pidfd_send_signal, p->pidfd, number, NULL, 0);
		else if (lives && m->config.preloaded && p->pid > 0 && p->link.fd >= 0)
			kill(p->pid, number); /* pidfds are refused; its connection is open */
	}
}

void members_let_go(struct monitor *m)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].left && m->peers[i].link.fd >= 0)
			part(m, &m->peers[i]);
}

static void receive_member(struct monitor *m, struct monitor_peer *peer)
{
	struct link_message message;
	int rc;

	while ((rc = link_receive(&peer->link, &message)) == 1) {
		if (message.type == MESSAGE_HELLO)
			adopt_memory(m, peer, &message);
		else if (message.type == MESSAGE_STATUS && peer->rank < 0 && m->config.preloaded &&
			 m->asking_fd < 0) { /* one question at a time */
			m->asking_fd = fcntl(peer->link.fd, F_DUPFD_CLOEXEC, 0);
			m->asking_json = message.bytes > 0;
		} else if (message.type == MESSAGE_SIGNAL && peer->rank < 0 && m->config.preloaded)
			take_signal(m, &peer->link, &message);
		if (peer->rank < 0) {
			rc = -EPROTO;
			break;
		}
		if (message.type == MESSAGE_END)
			peer->left = true;
		if (message.type == MESSAGE_STATE && message.bytes == sizeof(struct state)) {
			struct state state;

			memcpy(&state, message.payload, sizeof(state));
			take_state(&m->ranks[peer->rank].view, &state);
		}
	}
	if (rc < 0)
		part(m, peer);
}

/* Returns true if the rank destroyed all its communicators: what it exits with is none of the
 * others' business. */
static bool has_left(const struct record_header *header)
{
	for (int c = 0; c < RECORD_COMMS; c++)
		if (header->inits[c].state != RECORD_COMM_NONE &&
		    header->inits[c].state != RECORD_COMM_LEFT)
			return false;
	return true;
}

/* A preloaded program: when a wait is worth a look, and whether it has ended as it should. */
static void members_expect(struct monitor *m, struct rank_view *view, struct record_memory *memory)
{
	double look = m->config.decide.patience.look;
	const struct record_header *header = &memory->header;
	struct record_program *program = &memory->program;

	if (view->process >= PROCESS_EXITED && !program->left_ns)
		record_publish(&program->left_ns, view->seen_ns);
	view->deadline_ns = view->waiting ? view->since_ns + (uint64_t)(look * 1e9) : 0;
	if (view->process == PROCESS_EXITED &&
	    ((view->status == 0 && !view->oldest.ticket) || has_left(header))) {
		view->outcome = OUTCOME_OK;
		view->status = 0;
	}
}

/* Returns true if all ranks of a preloaded program are gone. */
static bool all_gone(const struct monitor *m)
{
	size_t gone = 0;

	for (size_t i = 0; i < m->nranks; i++)
		gone += m->ranks[i].view.process >= PROCESS_EXITED;
	return m->config.preloaded && gone > 0 && gone == m->nranks;
}

/* Returns true if the process has started after the last call of all ranks here; also where that cannot be read. */
static bool started_after(const struct monitor *m, pid_t pid)
{
	struct timespec boot, now;
	struct proc_stat stat;
	uint64_t last = 0, tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK), since_boot;

	for (size_t i = 0; i < m->nranks; i++) {
		const struct record_memory *memory = m->memories[i];
		uint64_t newest = record_get(&memory->header.issued_ticket);

		last = newest && memory->ring[newest % RECORD_RING].enqueued_ns > last
			       ? memory->ring[newest % RECORD_RING].enqueued_ns
			       : last;
	}
	if (!proc_stat_read(&stat, pid, 0))
		return true;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &now);
	/* both are this process' time namespace's */
	since_boot = (uint64_t)((boot.tv_sec - now.tv_sec) * 1000000000 + boot.tv_nsec -
				now.tv_nsec + clock_namespace_ns);
	return (stat.started + 1) * tick >= last + since_boot;
}

/* Ranks that come once all are gone, of processes that have started since, are of the program's next attempt: they wait until
 * these are forgotten. A rank that is older was only slow. */
static bool is_early(const struct monitor *m, const struct monitor_peer *peer)
{
	return peer->rank < 0 && all_gone(m) && link_next(&peer->link) == MESSAGE_HELLO &&
	       started_after(m, link_peer(peer->link.fd).pid);
}

/* Returns true if it joins another monitor, that of its job: the message waits in its connection for that one. */
static bool joins_elsewhere(struct monitor *m, struct monitor_peer *peer)
{
	bool gone = m->config.elsewhere && peer->rank < 0 && peer->link.fd >= 0 &&
		    peer->link.have == 0 && link_next(&peer->link) == MESSAGE_HELLO &&
		    m->config.elsewhere(m->config.elsewhere_arg, peer->link.fd);

	if (gone)
		link_release(&peer->link);
	return gone;
}

/* Those that are ranks, or (`others`) those that are not yet. */
static void receive_members(struct monitor *m, bool others)
{
	for (size_t i = 0; i < m->npeers; i++) {
		if ((m->peers[i].rank < 0) != others ||
		    (!joins_elsewhere(m, &m->peers[i]) && is_early(m, &m->peers[i])))
			continue;
		if (m->peers[i].link.fd >= 0)
			receive_member(m, &m->peers[i]);
		if (m->peers[i].rank < 0 && m->peers[i].link.fd < 0) {
			link_release(&m->peers[i].link);
			memmove(&m->peers[i], &m->peers[i + 1],
				(m->npeers - i - 1) * sizeof(*m->peers));
			m->npeers--;
			i--;
		} else if (m->peers[i].rank >= 0 && m->config.preloaded) {
			observe_process(m, &m->peers[i], false);
		}
	}
}

/* A launcher's word comes before the end of the rank that it ends, and is read after that end is seen: it counts for it. */
void members_look(struct monitor *m, uint64_t now)
{
	receive_members(m, false);
	accept_members(m);
	receive_members(m, true);
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].rank >= 0 && !m->peers[i].foreign)
			m->ranks[m->peers[i].rank].view.pid =
				m->memories[m->peers[i].rank]->header.pid;
	if (m->config.preloaded)
		record_number_ranks(m->memories, m->nranks);
	for (size_t i = 0; i < m->nranks; i++) {
		struct decide_rank *rank = &m->ranks[i];

		view_read(&rank->view, m->memories[i], now);
		if (m->config.preloaded)
			members_expect(m, &rank->view, m->memories[i]);
	}
}

bool members_any(const struct monitor *m)
{
	bool any = false;

	for (size_t i = 0; i < m->npeers; i++)
		any |= m->peers[i].rank >= 0 && m->peers[i].link.fd >= 0;
	return any;
}

/* A debugger is waited for elsewhere. A rank that ran lately is not asked about. */
static bool is_held(pid_t pid, uint64_t ran_ns)
{
	enum proc_hold hold = clock_ns() - ran_ns < 1000000000 ? HOLD_NONE : proc_hold_read(pid);

	return hold == HOLD_STOPPED || hold == HOLD_FROZEN;
}

void members_account(struct monitor *m)
{
	for (size_t i = 0; i < m->nranks; i++) {
		struct rank_account *account = &m->ranks[i].account;
		pid_t pid = m->ranks[i].view.pid;
		const struct python_process python = python_of(m->memories[i], pid);
		struct proc_stat stat;

		account->known = pid > 0 && decide_wants_account(&m->decide, &m->input, i) &&
				 proc_account_read(&account->used, pid);
		account->moved = account->known && m->config.preloaded ? proc_moved_read(pid) : 0;
		account->place = account->known && m->config.preloaded ? python_place(&python) : 0;
		account->ready =
			account->known && proc_stat_read(&stat, pid, 0) && stat.state == 'R';
		account->traced = account->known && proc_tracer(pid) > 0;
		account->held = account->known && !m->config.preloaded && i < m->decide.nranks &&
				is_held(pid, m->decide.ranks[i].track.ran_seen_ns);
	}
}

void members_job(const struct monitor *m, int *nranks, int *nnodes)
{
	*nranks = *nnodes = -1;
	for (size_t i = 0; i < m->nranks && *nnodes < 1; i++) {
		const struct record_header *h = &m->memories[i]->header;

		if (h->nnodes < 1)
			continue;
		*nranks = h->nranks;
		*nnodes = h->nnodes;
	}
}

struct rank_view *members_views(const struct monitor *m)
{
	struct rank_view *views = must(calloc(m->nranks + 1, sizeof(*views)));

	for (size_t i = 0; i < m->nranks; i++)
		views[i] = i < m->decide.nranks ? m->decide.ranks[i].view : m->ranks[i].view;
	return views;
}
