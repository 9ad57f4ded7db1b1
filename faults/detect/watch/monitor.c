/* monitor.c: what an observer does from tick to tick: look, have decide() say what is to be done, and do it. */
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

/* Takes in what the root says: requests, to be answered once the ranks have been looked at, and what is for
 * decide(). */
static void take_message(struct monitor *m, const struct link_message *message)
{
	struct decide_orders *orders = &m->input.orders;
	uint32_t word;

	switch (message->type) {
	case MESSAGE_PREPARE:
		m->requests.prepare = true;
		m->probe_until = m->input.now + decide_times.probe_ns;
		break;
	case MESSAGE_QUERY:
		m->requests.query = true;
		break;
	case MESSAGE_SLOW:
		snprintf(m->requests.folder, sizeof(m->requests.folder), "%.*s",
			 (int)message->bytes, (const char *)message->payload);
		m->requests.slow = orders->collects = true;
		break;
	case MESSAGE_EXTENSION:
		orders->extended = true;
		m->probe_until = m->input.now + decide_times.probe_ns;
		break;
	case MESSAGE_BEAT:
		nodes_take_beat(&m->root, message, m->input.now);
		break;
	case MESSAGE_JOIN:
		nodes_take_root(m, message);
		break;
	case MESSAGE_CENSUS:
		orders->census = true;
		break;
	case MESSAGE_ARRIVALS:
		if (message->bytes != sizeof(word))
			break;
		memcpy(&word, message->payload, sizeof(word));
		orders->arrivals = (enum arrivals)word;
		orders->arrivals_reported = true;
		break;
	case MESSAGE_STATUS:
		nodes_report(m, MESSAGE_JOIN);
		break;
	case MESSAGE_SAID:
		for (uint32_t i = 0; i < message->bytes; i++) {
			char c = ((const char *)message->payload)[i];

			putchar(c == '\n' || (c >= ' ' && c <= '~') ? c : '?');
		}
		fflush(stdout);
		break;
	case MESSAGE_END:
		if (message->bytes != sizeof(int32_t))
			break;
		memcpy(&m->exit_code, message->payload, sizeof(int32_t));
		m->ended = true;
		break;
	default:
		break;
	}
}

/* Leader without rank 0, connected. */
static void receive_root(struct monitor *m)
{
	struct link_message message;
	int rc = 0;

	while (!m->ended && (rc = link_receive(&m->up, &message)) == 1) {
		m->root.host.heard_ns = m->input.now;
		take_message(m, &message);
	}
	if (rc < 0)
		nodes_part(&m->root, &m->up, rc, m->input.now);
	/* the root may have asked for it and not waited: this host was slow, and is worth a look */
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
		m->probe_until = m->input.now + decide_times.probe_ns;
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

/* Prints, once for a communicator, that ranks of this host made different calls; the run goes on. */
static void compare_calls(struct monitor *m)
{
	struct progress p = { must(calloc(m->nranks + 1, sizeof(*p.ranks))), (int)m->nranks };
	struct desync found;

	for (size_t i = 0; i < m->nranks; i++)
		p.ranks[i] = (struct progress_rank){ .view = &m->ranks[i].view,
						     .memory = m->memories[i] };
	while (progress_differs(&p, m->desync_states, &found) == PROGRESS_YES) {
		printf("# %s\n", found.text);
		fflush(stdout);
		if (!m->desynced)
			m->desync = found;
		m->desynced = true;
	}
	free(p.ranks);
}

/* Leader: everything that is seen, to decide(), and what it says is done. */
static void step_leader(struct monitor *m, const struct supervised *child, uint64_t now)
{
	struct decision d;

	m->input = (struct decide_input){ .now = now,
					  .launcher = m->input.launcher,
					  .leader = m->input.leader };
	members_look(m, child, now);
	if (watchers_replaced(m, child))
		return;
	watchers_look(m, now);
	nodes_open(m);
	nodes_join(m, now);
	m->input.follows = m->root.known;
	if (m->input.follows)
		receive_root(m);
	else
		m->input.reported = nodes_receive(m, now);
	if (m->ended)
		return;
	nodes_beat(m, now);
	if (m->memory) /* else one number is not one communicator */
		compare_calls(m);
	m->input.desync = m->desynced ? &m->desync : NULL;
	m->input.ranks = m->ranks;
	m->input.nranks = m->nranks;
	m->input.name = m->nranks ? m->ranks[0].view.host : "";
	m->input.nhosts = nodes_known(m);
	members_job(m, &m->input.job_ranks, &m->input.job_hosts);
	m->input.expected_hosts = nodes_expected(m);
	members_account(m);
	if (m->nranks == 0) /* nobody has come yet */
		return;
	d = decide(&m->decide, &m->input);
	nodes_keep(m);
	answer_root(m);
	if (d.action == DECIDE_DIAGNOSE || d.action == DECIDE_END)
		d = monitor_conclude(m, &d);
	carry_out(m, &d);
}

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
		if (message.type != MESSAGE_END || message.bytes != sizeof(int32_t))
			continue;
		memcpy(&m->exit_code, message.payload, sizeof(int32_t));
		m->ended = true;
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

struct supervisor_hooks monitor_hooks(struct monitor *monitor)
{
	return (struct supervisor_hooks){
		.ctx = monitor,
		.fds = monitor_fds,
		.step = monitor_step,
		.interval_ms = monitor_interval,
	};
}
