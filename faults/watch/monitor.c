/* monitor.c: what an observer does from tick to tick: watch, let things settle, ask, judge, or
 * follow who does. */
#include "watch/monitor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "watch/monitor_end.h"
#include "watch/monitor_rendezvous.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "record/verdict.h"

#define LEADER_TICK_MS 20
#define MEMBER_TICK_MS 40	  /* a rank that begins to end is found by asking */
#define SETTLE_NS      (100 * MS) /* other ranks' deaths and errors arrive in this time */
#define ERROR_NS       (600 * MS) /* a death that a rank reports as an error is seen in this time */
#define QUERY_NS       (300 * MS) /* other nodes answer in this time, or are judged without */
#define ROOT_NS	       (3000 * MS) /* a leader that reported waits so long for the root's decision */
#define PATIENCE_NS    (3600000 * MS) /* the root may ask for so much */
#define SAVE_NS	       (10000 * MS)   /* once the verdict is out the root takes its time to save */
#define PAUSE_NS       (500 * MS) /* not run for so long: stopped with the whole job, or starved */

int monitor_open(struct monitor *m, const struct monitor_config *config,
		 struct record_memory *memory, int memory_fd, struct error *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	m->config = *config;
	m->memory = memory;
	m->listen_fd = m->uplink_fd = -1;
	m->up.fd = m->up.passed_fd = -1;
	m->last_step = clock_ns();
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
	link_release(&m->up);
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
		nodes_collect(m);
		break;
	case MESSAGE_SLOW:
		snprintf(folder, sizeof(folder), "%.*s", (int)message->bytes,
			 (const char *)message->payload);
		nodes_collect_slow(m, folder);
		m->stage_until = clock_ns() + SAVE_NS;
		break;
	case MESSAGE_EXTENSION:
		if (message->bytes != sizeof(more))
			break;
		memcpy(&more, message->payload, sizeof(more));
		m->stage_until = clock_ns() + (more < PATIENCE_NS ? more : PATIENCE_NS) + ROOT_NS;
		m->patient = !members_worse(m);
		break;
	case MESSAGE_CENSUS:
	case MESSAGE_RENDEZVOUS:
		rendezvous_handle_message(m, message);
		break;
	case MESSAGE_END:
		if (message->bytes != sizeof(int32_t))
			break;
		memcpy(&m->exit_code, message->payload, sizeof(int32_t));
		monitor_send_end(m, m->exit_code);
		m->stage = STAGE_END;
		break;
	default:
		break;
	}
}

/* Leader without rank 0, connected: report once, then follow the root. */
static void follow_root(struct monitor *m, uint64_t now)
{
	bool abnormal = members_abnormal(m);
	struct link_message message;
	int rc;

	while ((rc = link_receive(&m->up, &message)) == 1) {
		obey(m, &message);
		if (m->stage == STAGE_END)
			return;
	}
	rendezvous_follow(m);
	if (!abnormal && !members_all_done(m))
		m->reported = false;
	/* while time is granted for a wait, a death is news */
	if (m->reported && m->patient && members_worse(m)) {
		m->reported = false;
		m->patient = false;
	}
	if (!m->reported && (abnormal || members_all_done(m))) {
		nodes_report(m, abnormal ? MESSAGE_ABNORMAL : MESSAGE_DONE);
		m->reported = true;
		m->stage_until = now + ROOT_NS;
	}
	/* Without the root, or when it does not decide, this node ends on its own judgement; a node
	 * that is done waits, since others may take as long as they like. */
	if (rc < 0 || (m->reported && abnormal && now > m->stage_until))
		monitor_conclude(m, rc < 0, now);
}

/* A first error has just been seen: a death may be behind it, unless somebody here had hung before. */
static void note_error(struct monitor *m)
{
	if (m->error_ns && !m->error_until)
		m->error_until = m->error_ns + (members_overdue(m) ? 0 : ERROR_NS);
}

/* May a death be behind the error that was seen? */
static bool awaits_death(const struct monitor *m, uint64_t now)
{
	return !m->death_ns && now < m->error_until;
}

/* Has what else may be wrong had its time to come in? */
static bool is_settled(const struct monitor *m, uint64_t now)
{
	if (m->death_ns)
		return now >= m->death_ns + SETTLE_NS;
	return now >= m->stage_until && !awaits_death(m, now);
}

/* Was time granted for just what is wrong now: a wait? */
static bool bears(const struct monitor *m, uint64_t now)
{
	struct rank_view *views;
	size_t n;
	bool worse;

	if (!extension_holds(&m->extension, now))
		return false;
	n = monitor_all_views(m, &views);
	worse = views_abnormal(views, n, false);
	free(views);
	return !worse;
}

static void lead(struct monitor *m, uint64_t now)
{
	bool abnormal = nodes_receive(m, now) || members_abnormal(m);

	note_error(m);
	switch (m->stage) {
	case STAGE_WATCH:
		if (members_all_done(m)) {
			monitor_conclude(m, false, now);
		} else if (extension_over(&m->extension, now) || (abnormal && !bears(m, now))) {
			m->stage = STAGE_SETTLE;
			nodes_send_all(m, MESSAGE_PREPARE, NULL, 0);
			nodes_prepare(m);
			m->stage_until = now + SETTLE_NS;
			m->extension.until_ns = 0;
		} else {
			rendezvous_lead(m, now);
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
		if (!nodes_answered(m) && now <= m->stage_until)
			break;
		if (awaits_death(m, now)) /* an answer told of the error */
			m->stage = STAGE_SETTLE;
		else
			monitor_conclude(m, false, now);
		break;
	case STAGE_END:
		break;
	}
}

/* Member: tell of the own rank, hear of the end. Without a leader the run is over. */
static void follow_leader(struct monitor *m, const struct supervised *child)
{
	struct link_message message;
	int rc;

	if (child->changed)
		members_report(m, child);
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

	return m->leader ? LEADER_TICK_MS : MEMBER_TICK_MS;
}

static bool monitor_step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct monitor *m = ctx;
	uint64_t now = clock_ns();
	uint64_t paused_from = now - m->last_step > PAUSE_NS ? m->last_step : now;

	m->last_step = now;
	if (m->leader) {
		members_look(m, child, paused_from, now);
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
