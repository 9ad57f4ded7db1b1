/* monitor.c: what an observer does from tick to tick: look, have decide() decide, and do it. */
#include "watch/monitor.h"

#include "base/clock.h"
#include "net/hangup.h"
#include "watch/decide_times.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "answer/answer.h"

#define COMPARE_NS 1000000000ull /* between two comparisons of lines of code */

static void open_pace(struct monitor *m)
{
	pace_watch_open(&m->pace, m->config.slow_percent, m->config.slow_seconds);
	m->pace.metered = m->config.meters;
	m->pace.meter.traces = m->config.traces;
}

int monitor_open(struct monitor *m, const struct monitor_config *config,
		 struct record_memory *memory, int memory_fd, struct error *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->config = *config;
	m->memory = memory;
	m->memory_fd = memory_fd;
	m->launcher_pid = getppid();
	m->listen_fd = m->uplink_fd = m->joining_fd = m->life_fd = m->asking_fd = -1;
	m->up.fd = m->up.passed_fd = -1;
	m->root = NO_NODE;
	decide_open(&m->decide, &config->decide, clock_ns());
	open_pace(m);
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
	pace_watch_release(&m->pace);
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
	pace_watch_release(&m->pace);
	open_pace(m);
	decide_release(&m->decide);
	decide_open(&m->decide, &m->config.decide, clock_ns());
}

void monitor_again(struct monitor *m)
{
	struct usual *usual = must(malloc(sizeof(m->decide.usual)));

	memcpy(usual, m->decide.usual, sizeof(m->decide.usual));
	nodes_release(m);
	decide_release(&m->decide);
	decide_open(&m->decide, &m->config.decide, clock_ns());
	memcpy(m->decide.usual, usual, sizeof(m->decide.usual));
	free(usual);
	m->ended = m->desynced = false;
	m->exit_code = 0;
	m->requests = (struct monitor_requests){ 0 };
}

void monitor_look(struct monitor *m)
{
	members_look(m, NULL, clock_ns());
}

void monitor_ask_hosts(struct monitor *m)
{
	if (m->root.known)
		link_send(&m->root.link, MESSAGE_STATUS, NULL, 0, -1);
	nodes_send_all(m, MESSAGE_STATUS, NULL, 0);
}

/* ---- messages of the root ---- */

/* Datagrams show what passes while something seems wrong. */
static void begin_probes(struct monitor *m)
{
	m->probe_until = m->input.now + decide_times.probe_ns;
}

/* Returns whether the message is one word, which it puts to `word`. */
static bool take_word(const struct link_message *message, void *word)
{
	if (message->bytes == sizeof(int32_t))
		memcpy(word, message->payload, sizeof(int32_t));
	return message->bytes == sizeof(int32_t);
}

/* The verdict's lines, of a hangar_run. */
static void print_lines(const struct link_message *message)
{
	for (uint32_t i = 0; i < message->bytes; i++) {
		char c = ((const char *)message->payload)[i];

		putchar(c == '\n' || (c >= ' ' && c <= '~') ? c : '?');
	}
	fflush(stdout);
}

/* Messages that the root does not send are ignored. */
static void take_from_root(struct monitor *m, const struct link_message *message)
{
	switch (message->type) {
	case MESSAGE_BEAT:
		nodes_take_beat(&m->root, message, m->input.now);
		break;
	case MESSAGE_JOIN:
		nodes_take_root(m, message);
		break;
	case MESSAGE_STATUS:
		nodes_report(m, MESSAGE_JOIN);
		break;
	case MESSAGE_CENSUS:
		m->input.orders.census = true;
		break;
	case MESSAGE_ARRIVALS:
		m->input.orders.arrivals_reported |= take_word(message, &m->input.orders.arrivals);
		break;
	case MESSAGE_PREPARE:
		m->requests.prepare = true;
		begin_probes(m);
		break;
	case MESSAGE_QUERY:
		m->requests.query = true;
		break;
	case MESSAGE_EXTENSION:
		m->input.orders.extended = true;
		begin_probes(m);
		break;
	case MESSAGE_SLOW:
		snprintf(m->requests.folder, sizeof(m->requests.folder), "%.*s",
			 (int)message->bytes, (const char *)message->payload);
		m->requests.slow = m->input.orders.collects = true;
		break;
	case MESSAGE_LINES:
		print_lines(message);
		break;
	case MESSAGE_LEAVE:
		m->root.host.left = true;
		break;
	case MESSAGE_END:
		m->ended = take_word(message, &m->exit_code);
		break;
	}
}

/* Leader elsewhere. Requests are answered once decide() has looked at the ranks. */
static void receive_root(struct monitor *m)
{
	struct link_message message;
	int rc = 0;

	while (!m->ended && (rc = link_receive(&m->root.link, &message)) == 1) {
		m->root.host.heard_ns = m->input.now;
		take_from_root(m, &message);
	}
	if (rc < 0)
		nodes_part(&m->root, rc, m->input.now);
	nodes_take_life(&m->root, m->input.now);
	/* the root may have requested it and not waited: this host was slow, and is worth a look */
	if (m->ended && m->requests.slow)
		nodes_collect(m, m->requests.folder);
	if (m->ended) {
		if (m->input.launcher.hold)
			launcher_hang_up(m->launcher_pid, NULL, 0);
		monitor_send_end(m, m->exit_code);
		shutdown(m->root.link.fd, SHUT_WR);
	}
}

static void carry_out(struct monitor *m, const struct decision *d)
{
	static const enum message orders[DECIDE_REPORT_INIT_OVERDUE + 1] = {
		[DECIDE_PREPARE] = MESSAGE_PREPARE,   [DECIDE_QUERY] = MESSAGE_QUERY,
		[DECIDE_EXTEND] = MESSAGE_EXTENSION,  [DECIDE_CENSUS] = MESSAGE_CENSUS,
		[DECIDE_ARRIVALS] = MESSAGE_ARRIVALS,
	};
	uint32_t how = d->arrivals;

	if (d->action == DECIDE_PREPARE || d->action == DECIDE_EXTEND)
		begin_probes(m);
	if (orders[d->action])
		nodes_send_all(m, orders[d->action], &how,
			       d->action == DECIDE_ARRIVALS ? sizeof(how) : 0);
	if (d->action == DECIDE_PREPARE)
		nodes_prepare(m);
	if (d->action == DECIDE_REPORT_ABNORMAL || d->action == DECIDE_REPORT_DONE)
		nodes_report(m, d->action == DECIDE_REPORT_DONE ? MESSAGE_DONE : MESSAGE_ABNORMAL);
	if (d->action == DECIDE_REPORT_INIT_OVERDUE &&
	    link_send(&m->root.link, MESSAGE_INIT_OVERDUE, NULL, 0, -1) < 0)
		m->decide.init.reported = false; /* again with the next tick */
}

/* Prints, once for a communicator, that ranks of this host made different calls; the run goes
 * on. In a preloaded program one number is not one communicator. */
static void compare_calls(struct monitor *m)
{
	struct progress p = progress_of(&m->ranks->view, sizeof(*m->ranks), m->nranks);
	struct desync found;

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
}

/* The client compares, for a hundredth of the time at most. */
static void compare_lines(struct monitor *m, uint64_t now)
{
	const struct monitor_client *client = &m->config.client;
	struct rank_view *views;
	uint64_t took;

	if (!client->compare || m->nranks < 2 || now < m->compare_ns)
		return;
	views = members_views(m);
	client->compare(client->ctx, views, (const struct record_memory *const *)m->memories,
			m->nranks);
	free(views);
	took = clock_ns() - now;
	m->compare_ns = now + (took > COMPARE_NS / 100 ? 100 * took : COMPARE_NS);
}

/* The root judges; other leaders hand on what they see. */
static void look_at_pace(struct monitor *m)
{
	struct pace_watch *pace = &m->pace;

	pace->sends = m->root.known || (m->nranks && m->memories[0]->header.node > 0);
	pace_watch_look(pace, m->memories, m->nranks, clock_ns());
	if (pace->nsent && m->root.link.fd >= 0)
		link_send(&m->root.link, MESSAGE_PACE, pace->sent,
			  (uint32_t)(pace->nsent * sizeof(*pace->sent)), -1);
	pace->nsent = 0;
}

static void decide_and_act(struct monitor *m)
{
	struct decision d = decide(&m->decide, &m->input);

	nodes_keep(m);
	if (m->requests.prepare)
		nodes_prepare(m);
	if (m->requests.query)
		nodes_collect(m, NULL);
	if (m->requests.slow)
		nodes_collect(m, m->requests.folder);
	if (m->input.orders.census)
		nodes_report(m, MESSAGE_PRESENT);
	m->requests = (struct monitor_requests){ 0 };
	if (d.came_s > 0)
		monitor_say_came(m, d.came_s);
	if (d.action == DECIDE_DIAGNOSE || d.action == DECIDE_END)
		d = monitor_conclude(m, &d);
	carry_out(m, &d);
}

static void step_leader(struct monitor *m, const struct supervised *child, uint64_t now)
{
	m->input = (struct decide_input){ .now = now,
					  .launcher = m->input.launcher,
					  .leader = m->input.leader,
					  .ending = m->leaves };
	members_look(m, child, now);
	if (watchers_replaced(m, child))
		return; /* another supervisor ends the run */
	watchers_look(m, now);
	nodes_open(m);
	nodes_join(m, now);
	m->input.follows = m->root.known;
	if (m->root.known)
		receive_root(m);
	else
		m->input.reported = nodes_receive(m, now);
	if (m->ended)
		return; /* the root has ended the run */
	nodes_beat(m, now);
	compare_calls(m);
	compare_lines(m, clock_ns());
	look_at_pace(m);
	m->input.desync = m->desynced ? &m->desync : NULL;
	m->input.ranks = m->ranks;
	m->input.nranks = m->nranks;
	m->input.name = m->nranks ? m->ranks[0].view.host : "";
	m->input.nhosts = nodes_known(m);
	members_job(m, &m->input.job_ranks, &m->input.job_hosts);
	m->input.expected_hosts = nodes_expected(m);
	members_account(m);
	if (m->nranks > 0)
		decide_and_act(m);
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
			members_take_leader(m, &message);
		if (message.type == MESSAGE_END)
			m->ended = take_word(&message, &m->exit_code);
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
	ADD(m->root.link.fd);
	ADD(m->root.life.fd);
	ADD(m->listen_fd);
	if (nodes_listening(m))
		ADD(m->uplink_fd);
	for (size_t i = 0; i < m->npeers; i++)
		ADD(m->peers[i].link.fd);
	for (size_t i = 0; i < m->nnodes; i++) {
		ADD(m->nodes[i].link.fd);
		ADD(m->nodes[i].life.fd);
	}
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
			link_send(&m->root.link, MESSAGE_LEAVE, NULL, 0, -1);
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
