/* monitor.c: what an observer does from tick to tick: look, have decide() say what is to be
 * done, and do it. */
#include "watch/monitor.h"

#include "base/clock.h"
#include "net/hangup.h"
#include "watch/decide_times.h"
#include "watch/monitor_end.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "record/verdict.h"

int monitor_open(struct monitor *m, const struct monitor_config *config,
		 struct record_memory *memory, int memory_fd, struct error *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->config = *config;
	m->memory = memory;
	m->memory_fd = memory_fd;
	m->launcher_pid = getppid();
	m->listen_fd = m->uplink_fd = m->joining_fd = m->asking_fd = -1;
	m->up.fd = m->up.passed_fd = m->root.path.fd = -1;
	decide_open(&m->decide, &config->decide, clock_ns());
	rc = members_join(m, memory_fd);
	if (rc < 0) {
		monitor_close(m);
		return error_set(err, OUTCOME_INTERNAL, rc, "monitor of run %s: %s", config->key,
				 strerror(-rc));
	}
	return 0;
}

void monitor_close(struct monitor *m)
{
	members_release(m);
	nodes_release(m);
	decide_release(&m->decide);
	if (m->asking_fd >= 0)
		close(m->asking_fd);
}

void monitor_forget(struct monitor *m)
{
	int listen_fd = m->listen_fd;

	m->listen_fd = -1;
	members_release(m);
	nodes_release(m);
	m->listen_fd = listen_fd;
	m->ended = m->desynced = false;
	decide_release(&m->decide);
	decide_open(&m->decide, &m->config.decide, clock_ns());
}

void monitor_look(struct monitor *m)
{
	members_look(m, NULL, clock_ns());
}

void monitor_ask_hosts(struct monitor *m)
{
	if (m->root.known)
		link_send(&m->up, MESSAGE_STATUS, NULL, 0, -1);
	nodes_send_all(m, MESSAGE_STATUS, NULL, 0);
}

/* ---- messages of the root ---- */

/* Datagrams show what passes while something seems wrong. */
static void begin_probes(struct monitor *m)
{
	m->probe_until = m->input.now + decide_times.probe_ns;
}

static void take_prepare(struct monitor *m, const struct link_message *message)
{
	(void)message;
	m->requests.prepare = true;
	begin_probes(m);
}

static void take_query(struct monitor *m, const struct link_message *message)
{
	(void)message;
	m->requests.query = true;
}

static void take_slow(struct monitor *m, const struct link_message *message)
{
	snprintf(m->requests.folder, sizeof(m->requests.folder), "%.*s", (int)message->bytes,
		 (const char *)message->payload);
	m->requests.slow = m->input.orders.collects = true;
}

static void take_extension(struct monitor *m, const struct link_message *message)
{
	(void)message;
	m->input.orders.extended = true;
	begin_probes(m);
}

static void take_beat(struct monitor *m, const struct link_message *message)
{
	nodes_take_beat(&m->root, message, m->input.now);
}

static void take_census(struct monitor *m, const struct link_message *message)
{
	(void)message;
	m->input.orders.census = true;
}

static void take_arrivals(struct monitor *m, const struct link_message *message)
{
	uint32_t word;

	if (message->bytes != sizeof(word))
		return;
	memcpy(&word, message->payload, sizeof(word));
	m->input.orders.arrivals = (enum arrivals)word;
	m->input.orders.arrivals_reported = true;
}

static void take_status(struct monitor *m, const struct link_message *message)
{
	(void)message;
	nodes_report(m, MESSAGE_JOIN);
}

/* The verdict's lines, of a hangar_run. */
static void take_lines(struct monitor *m, const struct link_message *message)
{
	(void)m;
	for (uint32_t i = 0; i < message->bytes; i++) {
		char c = ((const char *)message->payload)[i];

		putchar(c == '\n' || (c >= ' ' && c <= '~') ? c : '?');
	}
	fflush(stdout);
}

static void take_leave(struct monitor *m, const struct link_message *message)
{
	(void)message;
	m->root.host.left = true;
}

static void take_end(struct monitor *m, const struct link_message *message)
{
	if (message->bytes != sizeof(int32_t))
		return;
	memcpy(&m->exit_code, message->payload, sizeof(int32_t));
	m->ended = true;
}

/* Messages that the root may send. The rest is ignored. */
static void (*const from_root[MESSAGE_TYPES])(struct monitor *, const struct link_message *) = {
	[MESSAGE_PREPARE] = take_prepare, [MESSAGE_QUERY] = take_query,
	[MESSAGE_SLOW] = take_slow,	  [MESSAGE_EXTENSION] = take_extension,
	[MESSAGE_BEAT] = take_beat,	  [MESSAGE_JOIN] = nodes_take_root,
	[MESSAGE_CENSUS] = take_census,	  [MESSAGE_ARRIVALS] = take_arrivals,
	[MESSAGE_STATUS] = take_status,	  [MESSAGE_LINES] = take_lines,
	[MESSAGE_END] = take_end,	  [MESSAGE_LEAVE] = take_leave,
};

/* Leader elsewhere. Requests are answered once decide() has looked at the ranks. */
static void receive_root(struct monitor *m)
{
	struct link_message message;
	int rc = 0;

	while (!m->ended && (rc = link_receive(&m->up, &message)) == 1) {
		m->root.host.heard_ns = m->input.now;
		if (message.type < MESSAGE_TYPES && from_root[message.type])
			from_root[message.type](m, &message);
	}
	if (rc < 0)
		nodes_part(&m->root, &m->up, rc, m->input.now);
	/* the root may have requested it and not waited: this host was slow, and is worth a look */
	if (m->ended && m->requests.slow)
		nodes_collect_slow(m, m->requests.folder);
	if (m->ended) {
		if (m->input.launcher.hold)
			launcher_hang_up(m->launcher_pid, NULL, 0);
		monitor_send_end(m, m->exit_code);
		shutdown(m->up.fd, SHUT_WR);
	}
}

static void answer_root(struct monitor *m)
{
	if (m->requests.prepare)
		nodes_prepare(m);
	if (m->requests.query)
		nodes_collect(m);
	if (m->requests.slow)
		nodes_collect_slow(m, m->requests.folder);
	if (m->input.orders.census)
		nodes_report(m, MESSAGE_PRESENT);
	m->requests = (struct monitor_requests){ 0 };
}

static void carry_out(struct monitor *m, const struct decision *d)
{
	uint32_t how = d->arrivals;

	if (d->action == DECIDE_PREPARE || d->action == DECIDE_EXTEND)
		begin_probes(m);
	switch (d->action) {
	case DECIDE_NOTHING:
		break;
	case DECIDE_PREPARE:
		nodes_send_all(m, MESSAGE_PREPARE, NULL, 0);
		nodes_prepare(m);
		break;
	case DECIDE_QUERY:
		nodes_ask(m, MESSAGE_QUERY, "");
		break;
	case DECIDE_EXTEND:
		nodes_send_all(m, MESSAGE_EXTENSION, NULL, 0);
		break;
	case DECIDE_CENSUS:
		nodes_census(m);
		break;
	case DECIDE_ARRIVALS:
		nodes_arrivals(m, how);
		break;
	case DECIDE_REPORT_ABNORMAL:
		nodes_report(m, MESSAGE_ABNORMAL);
		break;
	case DECIDE_REPORT_DONE:
		nodes_report(m, MESSAGE_DONE);
		break;
	case DECIDE_REPORT_INIT_OVERDUE:
		if (link_send(&m->up, MESSAGE_INIT_OVERDUE, NULL, 0, -1) < 0)
			m->decide.init.reported = false; /* again with the next tick */
		break;
	case DECIDE_DIAGNOSE:
	case DECIDE_END:
		break; /* monitor_conclude() */
	}
}

/* ---- a leader's tick ---- */

static bool look_at_ranks(struct monitor *m, const struct supervised *child)
{
	members_look(m, child, m->input.now);
	return !watchers_replaced(m, child);
}

static bool look_at_watchers(struct monitor *m, const struct supervised *child)
{
	(void)child;
	watchers_look(m, m->input.now);
	return true;
}

static bool meet_hosts(struct monitor *m, const struct supervised *child)
{
	(void)child;
	nodes_open(m);
	nodes_join(m, m->input.now);
	m->input.follows = m->root.known;
	return true;
}

static bool hear_hosts(struct monitor *m, const struct supervised *child)
{
	(void)child;
	if (m->input.follows)
		receive_root(m);
	else
		m->input.reported = nodes_receive(m, m->input.now);
	return !m->ended;
}

static bool send_beats(struct monitor *m, const struct supervised *child)
{
	(void)child;
	nodes_beat(m, m->input.now);
	return true;
}

/* Prints, once for a communicator, that ranks of this host made different calls; the run goes
 * on. In a preloaded program one number is not one communicator. */
static bool compare_calls(struct monitor *m, const struct supervised *child)
{
	struct progress p = progress_of(&m->ranks->view, sizeof(*m->ranks), m->nranks);
	struct desync found;

	(void)child;
	for (size_t i = 0; i < m->nranks; i++)
		p.ranks[i].memory = m->memories[i];
	while (m->memory && progress_desync(&p, m->desync_states, &found) == PROGRESS_YES) {
		printf("# %s\n", found.text);
		fflush(stdout);
		if (!m->desynced)
			m->desync = found;
		m->desynced = true;
	}
	free(p.ranks);
	return true;
}

static bool complete_input(struct monitor *m, const struct supervised *child)
{
	(void)child;
	m->input.desync = m->desynced ? &m->desync : NULL;
	m->input.ranks = m->ranks;
	m->input.nranks = m->nranks;
	m->input.name = m->nranks ? m->ranks[0].view.host : "";
	m->input.nhosts = nodes_known(m);
	members_job(m, &m->input.job_ranks, &m->input.job_hosts);
	m->input.expected_hosts = nodes_expected(m);
	members_account(m);
	return m->nranks > 0;
}

static bool decide_and_act(struct monitor *m, const struct supervised *child)
{
	struct decision d = decide(&m->decide, &m->input);

	(void)child;
	nodes_keep(m);
	answer_root(m);
	if (d.action == DECIDE_DIAGNOSE || d.action == DECIDE_END)
		d = monitor_conclude(m, &d);
	carry_out(m, &d);
	return true;
}

/* The steps of a tick, in their order. A step that returns false ends the tick. */
static bool (*const steps[])(struct monitor *, const struct supervised *) = {
	look_at_ranks, /* members' messages, memories, processes; not where another one ends the run */
	look_at_watchers, /* the other supervisors of this host, its launcher */
	meet_hosts,	  /* listen for the other leaders, or connect to the root */
	hear_hosts,	  /* what these sent; not further where the root has ended the run */
	send_beats,	  /* heartbeats; datagrams, while something seems wrong */
	compare_calls,	  /* the desync check */
	complete_input,	  /* for decide(); not further before a rank has come */
	decide_and_act,
};

static void step_leader(struct monitor *m, const struct supervised *child, uint64_t now)
{
	m->input = (struct decide_input){ .now = now,
					  .launcher = m->input.launcher,
					  .leader = m->input.leader,
					  .ending = m->leaves };
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && steps[i](m, child); i++)
		;
}

/* ---- a member ---- */

/* Member: sends its own rank's state, receives the end. Without a leader the run is over. */
static void follow_leader(struct monitor *m, const struct supervised *child)
{
	struct link_message message;
	int rc;

	if (child->changed)
		members_report(m, child);
	while ((rc = link_receive(&m->up, &message)) == 1) {
		if (message.type == MESSAGE_HELLO)
			members_take_leader(m);
		if (message.type == MESSAGE_END)
			take_end(m, &message);
		if (m->ended)
			return;
	}
	if (!watchers_replace_leader(m, child, rc < 0, clock_ns())) {
		fprintf(stderr, "hangar: the monitor of this node is gone; ending rank %d\n",
			m->memory->header.rank);
		m->exit_code = OUTCOME_DIED;
		m->ended = true;
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
		ADD(m->uplink_fd);
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
	uint64_t tick = m->leader ? decide_times.leader_tick_ns : decide_times.member_tick_ns;

	return (int)(tick / MS);
}

static bool monitor_step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct monitor *m = ctx;

	if (m->leader)
		step_leader(m, child, clock_ns());
	else
		follow_leader(m, child);
	*exit_code = m->exit_code;
	return m->ended;
}

/* Tells the other leaders; where one of them ended without such a word a verdict is due. */
static bool monitor_ending(void *ctx)
{
	struct monitor *m = ctx;

	if (!m->leader)
		return false;
	if (!m->leaves) {
		if (m->root.known)
			link_send(&m->up, MESSAGE_LEAVE, NULL, 0, -1);
		nodes_send_all(m, MESSAGE_LEAVE, NULL, 0);
	}
	m->leaves = true;
	for (size_t i = 0; i < m->input.nhosts; i++)
		if (m->input.hosts[i].ended_ns && !m->input.hosts[i].left &&
		    !m->input.hosts[i].done)
			return true;
	return false;
}

struct supervisor_hooks monitor_hooks(struct monitor *monitor)
{
	return (struct supervisor_hooks){
		.ctx = monitor,
		.fds = monitor_fds,
		.step = monitor_step,
		.interval_ms = monitor_interval,
		.ending = monitor_ending,
	};
}
