/* monitor.c: what an observer does from tick to tick: look, have decide() decide, and do it. */
#include "watch/monitor.h"

#include "base/clock.h"
#include "net/hangup.h"
#include "process/leftovers.h"
#include "decide/decide_times.h"
#include "record/recorder.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "answer/answer.h"

#define COMPARE_NS    1000000000ull  /* between two comparisons of lines of code */
#define LAST_LINES_NS 300000000ull   /* of all members of a host, once the end is known */
#define CLOSE_NS      10000000000ull /* a leader has so long for its end */
#define LEAVE_NS      2000000000ull  /* a signal to end comes to all members in this time */
#define MAX_FDS	      512

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
	rc = members_join(m);
	if (rc < 0) {
		monitor_close(m);
		return error_set(err, OUTCOME_INTERNAL, rc, "monitor of run %s: %s", config->key,
				 strerror(-rc));
	}
	return 0;
}

/* Reads a link to its end, which its other side makes when it has printed all. */
static void await_end(int fd, uint64_t until)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char unread[4096];

	while (clock_ns() < until && recv(fd, unread, sizeof(unread), MSG_DONTWAIT) != 0)
		poll(&ready, 1, 10);
}

/* Launchers end all and drop what is printed when the first supervisor leaves with a code: none leaves before the others of its
 * host have printed their last lines. The leader ends when all members have shut their links. */
static void part_together(struct monitor *m)
{
	uint64_t until = clock_ns() + LAST_LINES_NS;

	if (!m->ended || m->config.preloaded)
		return;
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].rank >= 0 && m->peers[i].link.fd >= 0)
			await_end(m->peers[i].link.fd, until);
	if (m->up.fd < 0)
		return;
	fflush(NULL);
	shutdown(m->up.fd, SHUT_WR);
	await_end(m->up.fd, until);
}

/* The end of a process whose parent prints nothing after it. */
static void await_leader(struct monitor *m)
{
	uint64_t until = clock_ns() + CLOSE_NS;

	link_release(&m->up); /* it may wait for the last member */
	while (m->forked > 0 && waitpid(m->forked, NULL, WNOHANG) == 0) {
		if (clock_ns() > until)
			kill(m->forked, SIGKILL);
		clock_sleep(0.002);
	}
	while (waitpid(-1, NULL, WNOHANG) > 0) /* a first leader, if it has forked both */
		;
}

void monitor_close(struct monitor *m)
{
	part_together(m);
	if (!m->leader)
		await_leader(m);
	members_release(m);
	nodes_release(m);
	decide_release(&m->decide);
	pace_watch_release(&m->pace);
	if (m->asking_fd >= 0)
		close(m->asking_fd);
}

void monitor_forget(struct monitor *m)
{
	members_forget(m);
	nodes_release(m);
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
	members_look(m, clock_ns());
}

void monitor_ask_hosts(struct monitor *m)
{
	const struct collect ask = { COLLECT_VIEWS, m->round };

	if (m->root.known)
		link_send(&m->root.link, MESSAGE_COLLECT, &ask, sizeof(ask), -1);
	nodes_send_all(m, MESSAGE_COLLECT, &ask, sizeof(ask), NULL);
}

/* ---- messages of the root ---- */

/* Datagrams show what passes while something seems wrong. */
static void begin_probes(struct monitor *m)
{
	m->probe_until = m->input.now + decide_times.probe_ns;
}

/* Returns true for the end of the run, with its exit code. */
static bool take_end(struct monitor *m, const struct link_message *message)
{
	if (message->bytes == sizeof(m->exit_code))
		memcpy(&m->exit_code, message->payload, sizeof(m->exit_code));
	return message->bytes == sizeof(m->exit_code);
}

/* The verdict's lines, of a hangar_run. */
static void print_lines(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		putchar(text[i] == '\n' || (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?');
	fflush(stdout);
}

static void take_answer(struct monitor *m, const struct link_message *message)
{
	struct answer_head head;

	if (message->bytes < sizeof(head))
		return;
	memcpy(&head, message->payload, sizeof(head));
	if (head.what == TOLD_LINES)
		print_lines((const char *)message->payload + sizeof(head),
			    message->bytes - sizeof(head));
	if (head.what != TOLD_ARRIVALS)
		return;
	m->input.orders.arrivals_reported = true;
	m->input.orders.arrivals = head.arrivals;
}

/* It is carried out once decide() has looked at the ranks. */
static void take_request(struct monitor *m, const struct link_message *message)
{
	struct monitor_requests *wanted = &m->requests;
	struct collect ask;

	if (message->bytes < sizeof(ask))
		return;
	memcpy(&ask, message->payload, sizeof(ask));
	wanted->what |= ask.what;
	wanted->round = ask.round;
	if (ask.what & COLLECT_PREPARE)
		begin_probes(m);
	m->input.orders.census |= ask.what & COLLECT_VIEWS;
	m->input.orders.collects |= (ask.what & COLLECT_SLOW) > 0;
	if (ask.what & COLLECT_SLOW)
		snprintf(wanted->folder, sizeof(wanted->folder), "%.*s",
			 (int)(message->bytes - sizeof(ask)),
			 (const char *)message->payload + sizeof(ask));
}

/* Messages that the root does not send are ignored. */
static void take_from_root(struct monitor *m, const struct link_message *message)
{
	switch (message->type) {
	case MESSAGE_BEAT:
		nodes_take_beat(&m->root, message, m->input.now);
		break;
	case MESSAGE_VIEWS:
		nodes_take_root(m, message);
		break;
	case MESSAGE_COLLECT:
		take_request(m, message);
		break;
	case MESSAGE_ANSWER:
		take_answer(m, message);
		break;
	case MESSAGE_END:
		m->ended = take_end(m, message);
		m->root.host.left |= !m->ended;
		break;
	}
}

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
	if (m->ended && m->requests.what & COLLECT_SLOW)
		nodes_answer(m);
	if (m->ended) {
		if (m->input.launcher.hold)
			launcher_hang_up(m->launcher_pid, NULL, 0);
		monitor_send_end(m, m->exit_code);
		shutdown(m->root.link.fd, SHUT_WR);
	}
}

static void carry_out(struct monitor *m, const struct decision *d)
{
	static const uint32_t requests[DECIDE_REPORT + 1] = {
		[DECIDE_PREPARE] = COLLECT_PREPARE,
		[DECIDE_QUERY] = COLLECT_EVIDENCE,
		[DECIDE_CENSUS] = COLLECT_VIEWS,
	};
	const struct answer_head how = { TOLD_ARRIVALS, d->arrivals };

	if (d->action == DECIDE_PREPARE) {
		begin_probes(m);
		nodes_prepare(m);
	}
	if (requests[d->action])
		nodes_ask_all(m, requests[d->action], NULL);
	if (d->action == DECIDE_ARRIVALS)
		nodes_send_all(m, MESSAGE_ANSWER, &how, sizeof(how), NULL);
	if (d->action == DECIDE_REPORT)
		nodes_report(m, 0);
}

/* Prints, once for a communicator, that ranks of this host made different calls; the run goes
 * on. In a preloaded program one number is not one communicator. */
static void compare_calls(struct monitor *m, uint64_t now)
{
	struct progress p;
	struct desync found;

	if (m->config.preloaded || m->nranks == 0)
		return;
	p = progress_of(&m->ranks->view, sizeof(*m->ranks), m->nranks);
	for (size_t i = 0; i < m->nranks; i++)
		p.ranks[i].memory = m->memories[i];
	while (progress_desync(&p, m->desync_states, &found) == PROGRESS_YES) {
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
	uint64_t began = clock_ns(), took;

	if (!client->compare || m->nranks < 2 || now < m->compare_ns)
		return;
	views = members_views(m);
	client->compare(client->ctx, views, (const struct record_memory *const *)m->memories,
			m->nranks);
	free(views);
	took = clock_ns() - began;
	m->compare_ns = now + (took > COMPARE_NS / 100 ? 100 * took : COMPARE_NS);
}

/* The root judges; other leaders hand on what they see. */
static void look_at_pace(struct monitor *m, uint64_t now)
{
	struct pace_watch *pace = &m->pace;

	pace->sends = m->root.known || (m->nranks && m->memories[0]->header.node > 0);
	pace_watch_look(pace, m->memories, m->nranks, now);
	if (pace->nsent && m->root.link.fd >= 0)
		link_send(&m->root.link, MESSAGE_PACE, pace->sent,
			  (uint32_t)(pace->nsent * sizeof(*pace->sent)), -1);
	pace->nsent = 0;
}

static void receive(struct monitor *m, uint64_t now)
{
	m->input.follows = m->root.known;
	if (m->root.known)
		receive_root(m);
	else
		nodes_receive(m, now);
}

static void gather(struct monitor *m, uint64_t now)
{
	m->input.desync = m->desynced ? &m->desync : NULL;
	m->input.ranks = m->ranks;
	m->input.nranks = m->nranks;
	m->input.name = m->nranks ? m->ranks[0].view.host : "";
	m->input.nhosts = nodes_known(m);
	members_job(m, &m->input.job_ranks, &m->input.job_hosts);
	m->input.expected_hosts = nodes_expected(m);
	members_account(m);
}

/* Where another leader ended, and not because a signal told it to, a verdict is due. */
static bool any_ended(const struct monitor *m)
{
	for (size_t i = 0; i < m->input.nhosts; i++)
		if (m->input.hosts[i].ended_ns && !m->input.hosts[i].left &&
		    !m->input.hosts[i].done)
			return true;
	return false;
}

/* A signal tells members to end: the other leaders learn of it, and members are let go. */
static void leave(struct monitor *m, uint64_t now)
{
	bool any = false;

	for (size_t i = 0; i < m->npeers; i++)
		any |= m->peers[i].left;
	if (any && !m->leaves_ns) {
		m->leaves_ns = now;
		if (m->root.known)
			link_send(&m->root.link, MESSAGE_END, NULL, 0, -1);
		nodes_send_all(m, MESSAGE_END, NULL, 0, NULL);
	}
	m->input.ending = m->leaves_ns != 0;
}

static void decide_and_act(struct monitor *m, uint64_t now)
{
	struct decision d;

	if (m->leaves_ns && now - m->leaves_ns < LEAVE_NS && !any_ended(m)) {
		members_let_go(m);
		return;
	}
	if (m->nranks == 0)
		return;
	d = decide(&m->decide, &m->input);
	nodes_keep(m);
	nodes_answer(m);
	if (d.came_s > 0)
		monitor_say_came(m, d.came_s);
	if (d.action == DECIDE_DIAGNOSE || d.action == DECIDE_END)
		d = monitor_conclude(m, &d);
	carry_out(m, &d);
}

/* A leader's tick, step by step. */
static void (*const steps[])(struct monitor *m, uint64_t now) = {
	members_look,	/* members that come or report; the views of this host's ranks */
	watchers_look,	/* supervisors and the launcher of this host that are held or gone */
	nodes_open,	/* rank 0's host: listens, once rank 0 wants it */
	nodes_join,	/* another host: connects to the root, and anew where it hears nothing */
	receive,	/* messages of the root, or of the other leaders */
	nodes_beat,	/* heartbeats; the kernel's word on silent connections */
	compare_calls,	/* a line where calls of ranks here differ */
	compare_lines,	/* the same of lines of code, for a hundredth of the time */
	look_at_pace,	/* a line about a slow rank; another host: its samples, to the root */
	gather,		/* all that decide() reads */
	leave,		/* a signal has told members to end */
	decide_and_act, /* the decision; answers to the root; the verdict */
};

static void step_leader(struct monitor *m, uint64_t now)
{
	m->input = (struct decide_input){ .now = now,
					  .launcher = m->input.launcher,
					  .leader = m->input.leader,
					  .orphaned = m->orphaned };
	for (size_t i = 0; i < LENGTH(steps) && !m->ended; i++)
		steps[i](m, now);
}

/* The member's rank could not be forked: its supervisor writes its end. */
static void note_unborn(struct monitor *m)
{
	struct recorder recorder = { .memory = m->memory };

	recorder_finish(&recorder, m->child->unborn->outcome, "", m->child->unborn);
}

/* Member: sends its own rank's state, receives the end. Without a leader the run is over. */
static void follow_leader(struct monitor *m)
{
	struct link_message message;
	int rc;

	if (m->child->changed && m->child->unborn)
		note_unborn(m);
	if (m->child->changed)
		members_report(m);
	while ((rc = link_receive(&m->up, &message)) == 1) {
		if (message.type == MESSAGE_END)
			m->ended = take_end(m, &message);
		if (m->ended)
			return;
	}
	if (m->leaves_ns) {
		if (rc < 0)
			link_release(&m->up);
	} else if (rc < 0 && m->came_late && run_folder_ended(m->config.key, &m->exit_code)) {
		m->ended = true; /* this member came after the end */
	} else if (!watchers_replace_leader(m, rc < 0, clock_ns())) {
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

	m->child = child;
	if (m->leader)
		step_leader(m, clock_ns());
	else
		follow_leader(m);
	*exit_code = m->exit_code;
	return m->ended;
}

/* Tells the leader, which closes the connection unless a verdict is due. */
static bool monitor_ending(void *ctx)
{
	struct monitor *m = ctx;

	if (!m->leaves_ns)
		link_send(&m->up, MESSAGE_END, NULL, 0, -1);
	m->leaves_ns = m->leaves_ns ? m->leaves_ns : clock_ns();
	return m->up.fd >= 0;
}

bool monitor_tick(struct monitor *m)
{
	struct pollfd fds[MAX_FDS];
	bool any, gone;

	poll(fds, monitor_fds(m, fds, MAX_FDS), monitor_interval(m));
	step_leader(m, clock_ns());
	any = members_any(m) || (m->nranks == 0 && getppid() == m->parent);
	m->any_ns = any ? clock_ns() : m->any_ns;
	/* a verdict about members that are gone has its time */
	gone = m->nranks > 0 && !m->leaves_ns && clock_ns() - m->any_ns < CLOSE_NS;
	return !m->ended && (any || gone);
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
