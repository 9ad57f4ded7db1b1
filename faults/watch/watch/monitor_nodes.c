/* monitor_nodes.c: the links between the nodes' leaders: who is there, what they know. */
#include "watch/monitor_nodes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "watch/monitor_members.h"
#include "net/uplink.h"

/* The header of the local rank that knows the uplink, or NULL. Only the node of rank 0 listens. */
static struct record_header *find_header(const struct monitor *m, bool rank0)
{
	for (size_t i = 0; i < m->nranks; i++) {
		struct record_header *h = &m->memories[i]->header;

		if ((rank0 ? atomic_load(&h->uplink_wanted) : atomic_load(&h->uplink_ready)))
			return h;
	}
	return NULL;
}

void nodes_open(struct monitor *m, uint64_t now)
{
	struct record_header *h = m->uplink_fd < 0 ? find_header(m, true) : NULL;
	int port = h ? atomic_load(&h->uplink_port) : 0, wanted;

	if (!h || port < 0 || (m->replacing && m->input.leader.hold != HOLD_GONE))
		return; /* a held leader has the port */
	wanted = port;
	m->uplink_fd = uplink_listen(&port);
	if (m->uplink_fd >= 0 || !wanted)
		atomic_store(&h->uplink_port, m->uplink_fd < 0 ? -1 : port);
	else if (!m->refused) /* and tries again: the run before this one may still have it */
		fprintf(stderr, "hangar: port %d cannot be listened on yet: %s\n", wanted,
			strerror(-m->uplink_fd));
	m->refused = m->uplink_fd < 0;
}

/* The head, and what is behind it, as one message. */
static int send_both(struct link *link, enum message type, const void *head, size_t nhead,
		     const void *rest, size_t nrest)
{
	char *payload = must(malloc(nhead + nrest + 1));
	int rc;

	memcpy(payload, head, nhead);
	memcpy(payload + nhead, rest, nrest);
	rc = link_send(link, type, payload, (uint32_t)(nhead + nrest), -1);
	free(payload);
	return rc;
}

static void report_to(struct monitor *m, struct link *link, enum message type, uint32_t round)
{
	const struct record_header *h = find_header(m, false);
	const struct views_head head = { .token = h ? h->uplink_token : 0, .round = round };
	struct rank_view *views = members_views(m);

	send_both(link, type, &head, sizeof(head), views, m->nranks * sizeof(*views));
	free(views);
}

void nodes_report(struct monitor *m, uint32_t round)
{
	report_to(m, &m->root.link, MESSAGE_VIEWS, round);
}

/* ---- the way to the root ---- */

void nodes_part(struct monitor_node *node, int rc, uint64_t now)
{
	if (node->link.fd >= 0)
		node->host.ended_ns = rc == -EPIPE || node->life_ended ? now : 0;
	node->told = node->told && rc == -EPIPE;
	link_abort(&node->link);
}

void nodes_take_life(struct monitor_node *node, uint64_t now)
{
	struct link_message message;
	int rc = node->life.fd >= 0 ? link_receive(&node->life, &message) : 0;

	if (rc == 0)
		return;
	node->life_ended = rc == -EPIPE;
	if (node->life_ended && node->link.fd < 0 && node->host.ended_ns == 0)
		node->host.ended_ns = now;
	link_abort(&node->life);
}

/* A host is called by its address before its views give its name. */
static void name_by_address(struct decide_host *host, int fd)
{
	struct in6_addr peer;
	bool v4;

	if (host->name[0] || !path_peer(fd, &peer))
		return;
	v4 = IN6_IS_ADDR_V4MAPPED(&peer);
	inet_ntop(v4 ? AF_INET : AF_INET6, peer.s6_addr + (v4 ? 12 : 0), host->name,
		  sizeof(host->name));
}

static void stop_connecting(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reports over the connection before may not have arrived. */
static void joined(struct monitor *m, uint64_t now)
{
	link_abort(&m->root.link);
	link_abort(&m->root.life);
	stop_connecting(&m->life_fd);
	link_init(&m->root.link, m->joining_fd);
	m->joining_fd = -1;
	m->root.life_ended = m->life_wanted = false;
	m->root.known = true;
	name_by_address(&m->root.host, m->root.link.fd);
	m->root.host.ended_ns = 0;
	m->root.host.heard_ns = m->root.host.heard_ns ? m->root.host.heard_ns : now;
	nodes_report(m, 0);
}

/* Returns true for a leader that is not connected, or hears nothing from the root. */
static bool wants_to_join(const struct monitor *m, uint64_t now)
{
	const struct record_header *h = find_header(m, false);

	/* on rank 0's host the address is the first leader's */
	if (!h || find_header(m, true) || (m->replacing && h->node == 0))
		return false;
	return !m->root.known || m->root.link.fd < 0 ||
	       ((!m->root.host.answers || m->root.host.sends_datagrams) &&
		now - m->root.host.heard_ns > decide_times.rejoin_ns);
}

/* Makes the second connection to a root that has answered over the first one. */
static void join_life(struct monitor *m)
{
	const struct record_header *h = find_header(m, false);
	int rc;

	if (!m->life_wanted || !h || m->root.link.fd < 0 || m->root.life.fd >= 0)
		return;
	if (m->life_fd < 0)
		m->life_fd = uplink_begin(h->uplink_address, m->joining - 1);
	rc = m->life_fd < 0 ? m->life_fd : uplink_connected(m->life_fd);
	m->life_wanted = rc == 0;
	if (rc < 0)
		stop_connecting(&m->life_fd);
	if (rc != 1)
		return;
	link_init(&m->root.life, m->life_fd);
	m->life_fd = -1;
	report_to(m, &m->root.life, MESSAGE_BEAT, 0);
}

void nodes_join(struct monitor *m, uint64_t now)
{
	int rc = 0;

	join_life(m);
	if (m->joining_fd >= 0) {
		rc = uplink_connected(m->joining_fd);
		if (rc == 1)
			joined(m, now);
		else if (rc < 0 || now - m->joining_ns > decide_times.connect_ns ||
			 (m->root.link.fd >= 0 &&
			  now - m->root.host.heard_ns < decide_times.rejoin_ns))
			stop_connecting(&m->joining_fd);
		return;
	}
	/* a new connection has its time to be answered */
	if (!wants_to_join(m, now) ||
	    (m->joining > 0 &&
	     now - m->joining_ns <
		     (m->root.link.fd < 0 ? decide_times.beat_ns : decide_times.rejoin_ns)))
		return;
	m->joining_ns = now;
	m->joining_fd = uplink_begin(find_header(m, false)->uplink_address, m->joining++);
}

/* Takes the views of a host's ranks, behind their head: copied, printable. 0 or a negative errno. */
static int take_host(const struct monitor *m, struct monitor_node *node,
		     const struct link_message *message, struct views_head *head)
{
	const struct record_header *h = find_header(m, false);
	size_t bytes = message->bytes - sizeof(*head), n = bytes / sizeof(struct rank_view);
	struct rank_view *views;

	if (message->bytes < sizeof(*head) || bytes % sizeof(*views) || !h)
		return -EPROTO;
	memcpy(head, message->payload, sizeof(*head));
	if (head->token != h->uplink_token)
		return -EPERM;
	views = must(malloc(bytes + 1));
	memcpy(views, (const char *)message->payload + sizeof(*head), bytes);
	free(node->host.views);
	node->host.views = views;
	node->host.nviews = n;
	node->host.done = n > 0;
	for (size_t i = 0; i < n; i++) {
		node->host.done &= view_finished(&views[i]);
		views[i].lost = views[i].lost < LOST_KINDS ? views[i].lost : LOST_NOT;
		views[i].reported = views[i].lost != LOST_NOT;
		views[i].what[sizeof(views[i].what) - 1] = '\0';
		views[i].host[sizeof(views[i].host) - 1] = '\0';
		views[i].error[sizeof(views[i].error) - 1] = '\0';
	}
	if (n > 0)
		snprintf(node->host.name, sizeof(node->host.name), "%s", views[0].host);
	return 0;
}

void nodes_take_root(struct monitor *m, const struct link_message *message)
{
	struct views_head head;

	if (take_host(m, &m->root, message, &head) < 0)
		return;
	m->root.host.done = false; /* it says itself when the run is over */
	m->life_wanted = true;
}

/* ---- heartbeats ---- */

/* Reads what the kernel knows of the connection to a silent host. A host that has not sent its
 * views yet may never receive a full-size packet: its acknowledgements do not count. */
static void look_at_line(struct decide_host *host, const struct link *link, uint64_t now)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	bool acknowledges;

	host->answers = now - host->heard_ns < decide_times.beat_ns;
	if (host->answers || link->fd < 0 ||
	    getsockopt(link->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return;
	acknowledges = info.tcpi_retransmits == 0 && info.tcpi_probes == 0;
	host->answers = acknowledges && host->nviews > 0;
	host->arrived_ns = acknowledges ? 0 : now - (uint64_t)info.tcpi_last_ack_recv * MS;
}

/* Notes, until the host is heard of again, that enough datagrams have passed both ways in its silence: its connection, and a
 * new one as well, stands still for all that. */
static void note_small(struct monitor_node *node, uint64_t silence)
{
	const struct path *now = &node->path, *then = &node->heard;
	bool same = now->window == then->window && now->theirs == then->theirs;
	uint32_t got = now->got - (same ? then->got : 0),
		 told = now->told - (same ? then->told : 0);

	if (silence < decide_times.progress_ns) {
		node->heard = node->path;
		node->host.small_passes = false;
	} else if (got >= PATH_ENOUGH && told >= PATH_ENOUGH) {
		node->host.small_passes = true;
	}
}

/* Probes the way to a host while something seems wrong, or nothing comes from it. */
static void probe(struct monitor *m, struct monitor_node *node, uint64_t now)
{
	const struct record_header *h = find_header(m, false);
	uint64_t silence = now - node->host.heard_ns;

	if (h && node->link.fd >= 0 &&
	    (now < m->probe_until || now < node->asked_until || silence > decide_times.rejoin_ns)) {
		if (path_probe(&node->path, node->link.fd, h->uplink_token))
			node->datagram_ns = now;
	} else {
		path_close(&node->path);
	}
	note_small(node, silence);
	node->host.sends_datagrams = now - node->datagram_ns < decide_times.rejoin_ns;
	node->host.there = path_there(&node->path);
	node->host.here = path_here(&node->path);
}

/* One heartbeat. With a byte: nothing is heard of the other, whose datagrams perhaps come. */
static void beat(struct monitor *m, struct monitor_node *node, uint64_t now)
{
	bool deaf = now - node->host.heard_ns > decide_times.rejoin_ns;

	if (node->link.fd >= 0)
		link_send(&node->link, MESSAGE_BEAT, "", deaf, -1);
	look_at_line(&node->host, &node->link, now);
	probe(m, node, now);
}

void nodes_take_beat(struct monitor_node *node, const struct link_message *message, uint64_t now)
{
	if (message->bytes > 0)
		node->asked_until = now + decide_times.rejoin_ns;
}

void nodes_beat(struct monitor *m, uint64_t now)
{
	uint64_t each = m->nnodes * decide_times.beat_each_ns;
	uint64_t period = each > decide_times.beat_ns ? each : decide_times.beat_ns;

	if (now - m->beat_ns < period)
		return;
	m->beat_ns = now;
	if (m->root.known)
		beat(m, &m->root, now);
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known)
			beat(m, &m->nodes[i], now);
}

size_t nodes_expected(const struct monitor *m)
{
	int hosts = m->input.job_hosts;

	return hosts <= 1 || !find_header(m, false) ? 0
	       : find_header(m, true)		    ? (size_t)hosts - 1
						    : 1;
}

/* Before the ranks have the token all callers are strangers: they wait in the queue. */
bool nodes_listening(const struct monitor *m)
{
	return m->uplink_fd >= 0 && find_header(m, false) != NULL;
}

/* Returns true if both are leaders of one host: it is here anew, or another one ends the run. */
static bool shares_rank(const struct decide_host *a, const struct decide_host *b)
{
	for (size_t i = 0; i < a->nviews; i++)
		for (size_t k = 0; k < b->nviews; k++)
			if (a->views[i].rank >= 0 && a->views[i].rank == b->views[k].rank)
				return true;
	return false;
}

/* It is the same host as another one, whose connection is of no use any more. */
static void replace_node(struct monitor *m, struct monitor_node *node)
{
	for (size_t i = 0; i < m->nnodes; i++) {
		struct monitor_node *old = &m->nodes[i];

		if (old == node || !old->known || !shares_rank(&old->host, &node->host))
			continue;
		old->replaced = true;
		node->host.id = old->host.id;
		node->host.answered = false;
		node->silent = old->silent;
	}
}

static int take_views(struct monitor *m, struct monitor_node *node,
		      const struct link_message *message)
{
	struct views_head head;
	int rc = take_host(m, node, message, &head);

	if (rc < 0)
		return rc;
	if (!node->known) {
		node->known = true;
		replace_node(m, node);
		report_to(m, &node->link, MESSAGE_VIEWS, 0);
		if (m->decide.stage == STAGE_QUERY) /* the answer may be lost */
			send_both(&node->link, MESSAGE_COLLECT,
				  &(struct collect){ COLLECT_EVIDENCE, m->round },
				  sizeof(struct collect), "", 0);
	}
	node->host.answered |= head.round && head.round == m->round;
	return 0;
}

/* Takes over the second connection of a host that is known. */
static int take_life(struct monitor *m, struct monitor_node *node,
		     const struct link_message *message)
{
	struct views_head head;
	int rc = take_host(m, node, message, &head);

	for (size_t i = 0; rc == 0 && i < m->nnodes; i++) {
		struct monitor_node *host = &m->nodes[i];

		if (host == node || !host->known || host->replaced ||
		    !shares_rank(&host->host, &node->host))
			continue;
		link_abort(&host->life);
		host->life = node->link;
		node->link = NO_NODE.link;
		return 0;
	}
	return rc < 0 ? rc : -ENOENT;
}

static void release_node(struct monitor_node *node, bool abort)
{
	if (abort) {
		link_abort(&node->link);
		link_abort(&node->life);
	}
	link_release(&node->link);
	link_release(&node->life);
	path_close(&node->path);
	free(node->host.views);
}

/* Hands evidence about a rank of that node, and of no other, to the diagnoser. */
static int take_evidence(struct monitor *m, struct monitor_node *node,
			 const struct link_message *message)
{
	const struct monitor_client *client = &m->config.client;
	struct evidence_head head;

	if (message->bytes < sizeof(head))
		return -EPROTO;
	memcpy(&head, message->payload, sizeof(head));
	if (head.kind >= EVIDENCE_KINDS)
		return -EPROTO;
	for (size_t i = 0; client->on_evidence && i < node->host.nviews; i++) {
		if (node->host.views[i].rank != head.rank || head.rank < 0)
			continue;
		client->on_evidence(client->ctx, head.rank, head.kind,
				    (const char *)message->payload + sizeof(head),
				    message->bytes - sizeof(head));
		break;
	}
	return 0;
}

/* ---- messages of the other leaders ---- */

/* Views come with the token, the rest is taken from a leader that has shown it. Returns 0, or a negative errno, which
 * ends the connection. */
static int take_message(struct monitor *m, struct monitor_node *node,
			const struct link_message *message)
{
	if (!node->known && message->type == MESSAGE_BEAT)
		return take_life(m, node, message);
	switch (node->known ? message->type : MESSAGE_VIEWS) {
	case MESSAGE_VIEWS:
		return take_views(m, node, message);
	case MESSAGE_EVIDENCE:
		return take_evidence(m, node, message);
	case MESSAGE_BEAT:
		nodes_take_beat(node, message, m->input.now);
		return 0;
	case MESSAGE_COLLECT:
		report_to(m, &node->link, MESSAGE_VIEWS, 0);
		return 0;
	case MESSAGE_END:
		node->host.left = true;
		return 0;
	case MESSAGE_PACE:
		pace_watch_take(&m->pace, node->host.name, message->payload, message->bytes);
		return 0;
	default:
		return -EPROTO;
	}
}

static int receive_node(struct monitor *m, struct monitor_node *node, uint64_t now)
{
	struct link_message message;
	int rc = 0;

	while (node->link.fd >= 0 && (rc = link_receive(&node->link, &message)) == 1) {
		rc = take_message(m, node, &message);
		if (rc < 0)
			break;
		node->host.heard_ns = now;
	}
	if (rc == 0 && !node->known && now - node->since_ns > NODES_STRANGER_NS)
		return -ETIMEDOUT;
	return rc;
}

void nodes_receive(struct monitor *m, uint64_t now)
{
	int fd;

	while (nodes_listening(m) && m->nnodes < MONITOR_NODES &&
	       (fd = accept4(m->uplink_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		m->hosts = must(realloc(m->hosts, (m->nnodes + 1) * sizeof(*m->hosts)));
		m->nodes = must(realloc(m->nodes, (m->nnodes + 1) * sizeof(*m->nodes)));
		m->nodes[m->nnodes] = NO_NODE;
		m->nodes[m->nnodes].since_ns = now;
		m->nodes[m->nnodes].host.id = ++m->host_ids;
		link_init(&m->nodes[m->nnodes++].link, fd);
	}
	for (size_t i = 0; i < m->nnodes; i++) {
		struct monitor_node *node = &m->nodes[i];
		int rc = receive_node(m, node, now);

		if (rc < 0)
			nodes_part(node, rc, now);
		nodes_take_life(node, now);
	}
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].replaced || (m->nodes[i].link.fd < 0 && !m->nodes[i].known)) {
			release_node(&m->nodes[i], true); /* or a stranger */
			memmove(&m->nodes[i], &m->nodes[i + 1],
				(m->nnodes - i - 1) * sizeof(*m->nodes));
			m->nnodes--;
			i--;
		}
}

void nodes_send_all(struct monitor *m, enum message type, const void *head, size_t bytes,
		    const char *text)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && m->nodes[i].link.fd >= 0)
			send_both(&m->nodes[i].link, type, head, bytes, text ? text : "",
				  text ? strlen(text) : 0);
}

void nodes_ask_all(struct monitor *m, uint32_t what, const char *folder)
{
	const struct collect ask = { what, m->round += what != COLLECT_PREPARE };

	for (size_t i = 0; i < m->nnodes && what != COLLECT_PREPARE; i++)
		m->nodes[i].host.answered = what != COLLECT_VIEWS && m->nodes[i].silent;
	nodes_send_all(m, MESSAGE_COLLECT, &ask, sizeof(ask), folder);
}

size_t nodes_known(struct monitor *m)
{
	size_t n = 0;

	m->input.hosts = m->hosts;
	if (m->root.known) {
		m->input.hosts = &m->root.host;
		return 1;
	}
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known)
			m->hosts[n++] = m->nodes[i].host;
	return n;
}

static void say_news(const struct decide_host *host, const struct host_state *state)
{
	if (state->news == NEWS_SILENT)
		printf("# host %s: nothing heard of its monitor for %.1f s: %s\n", host->name,
		       state->silence_s,
		       host->sends_datagrams ? "small datagrams of it arrive"
		       : host->answers	     ? "its kernel answers; the monitor does not run"
					     : "no answer from the host either");
	else if (state->news == NEWS_HEARD)
		printf("# host %s: heard of again, after %.1f s of silence; the run goes on\n",
		       host->name, state->silence_s);
	else if (state->news == NEWS_UNWATCHED)
		printf("# host %s: its monitor is gone; the run goes on without it\n", host->name);
	fflush(stdout);
}

void nodes_keep(struct monitor *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->input.nhosts; i++)
		say_news(&m->input.hosts[i], &m->decide.hosts[i]);
	if (m->root.known)
		m->root.lost = m->decide.hosts[0].lost;
	for (size_t i = 0; i < m->nnodes && !m->root.known; i++)
		if (m->nodes[i].known)
			m->nodes[i].lost = m->decide.hosts[n++].lost;
}

void nodes_send_end(struct monitor *m, int32_t code)
{
	for (size_t i = 0; i < m->nnodes; i++) {
		struct monitor_node *node = &m->nodes[i];

		if (!node->known || node->told || node->link.fd < 0)
			continue;
		link_send(&node->link, MESSAGE_END, &code, sizeof(code), -1);
		shutdown(node->link.fd, SHUT_WR);
		node->told = true;
	}
}

/* Returns true while a leader may come again, or has not read the last message; or a caller may be one. */
static bool awaits_goodbye(const struct monitor *m)
{
	bool waits = false;

	for (size_t i = 0; i < m->nnodes; i++) {
		const struct monitor_node *node = &m->nodes[i];

		waits |= !node->lost && !node->host.left && !node->host.ended_ns &&
			 (!node->told || node->link.fd >= 0);
	}
	return waits;
}

void nodes_farewell(struct monitor *m)
{
	uint64_t until = clock_ns() + decide_times.connect_ns;

	for (;;) {
		nodes_receive(m, clock_ns());
		nodes_send_end(m, m->exit_code);
		if (!awaits_goodbye(m) || clock_ns() > until)
			return;
		clock_sleep(0.002);
	}
}

void nodes_release(struct monitor *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		release_node(&m->nodes[i], false);
	release_node(&m->root, m->root.lost); /* this leader ends since nothing comes from there */
	m->root = NO_NODE;
	free(m->nodes);
	free(m->hosts);
	m->hosts = NULL;
	m->joining = m->input.nhosts = 0;
	stop_connecting(&m->joining_fd);
	stop_connecting(&m->life_fd);
	if (m->uplink_fd >= 0)
		close(m->uplink_fd);
	m->nodes = NULL;
	m->nnodes = 0;
	m->uplink_fd = -1;
}

/* ---- leader of another node ---- */

void monitor_send_evidence(struct monitor *m, int32_t rank, enum evidence_kind kind,
			   const void *data, size_t bytes)
{
	struct evidence_head head = { rank, kind };

	if (m->root.silent || bytes > LINK_MAX - sizeof(head))
		return;
	m->root.silent =
		send_both(&m->root.link, MESSAGE_EVIDENCE, &head, sizeof(head), data, bytes) < 0;
}

/* Sends the evidence of this node's ranks; the slow part where there is a folder's name, "" for none. */
static void collect(struct monitor *m, const char *folder)
{
	const struct monitor_client *client = &m->config.client;
	const struct record_memory *const *memories =
		(const struct record_memory *const *)m->memories;
	struct rank_view *views = members_views(m);

	m->root.silent = false;
	if (folder && client->save_local)
		client->save_local(client->ctx, views, memories, m->nranks, folder, m);
	else if (!folder && client->collect)
		client->collect(client->ctx, views, memories, m->nranks, m);
	free(views);
}

void nodes_answer(struct monitor *m)
{
	struct monitor_requests wanted = m->requests;

	m->requests = (struct monitor_requests){ 0 };
	if (wanted.what & COLLECT_PREPARE)
		nodes_prepare(m);
	if (wanted.what & COLLECT_EVIDENCE)
		collect(m, NULL);
	if (wanted.what & COLLECT_SLOW)
		collect(m, wanted.folder);
	if (wanted.what & ~(uint32_t)COLLECT_PREPARE)
		nodes_report(m, wanted.round);
}

void nodes_prepare(struct monitor *m)
{
	const struct monitor_client *client = &m->config.client;
	struct rank_view *views = members_views(m);

	if (client->begin)
		client->begin(client->ctx, views, m->nranks);
	free(views);
}
