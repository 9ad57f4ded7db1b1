/* nccl_log_line.c: what each kind of message says. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

static bool is_rank(int rank)
{
	return rank >= 0 && rank < NCCL_LOG_RANKS;
}

static bool is_rank_or_none(int rank)
{
	return rank == -1 || is_rank(rank);
}

static bool is_channel(int channel)
{
	return channel >= 0 && channel < NCCL_LOG_CHANNELS;
}

/* ---- rings and trees ---------------------------------------------------------------------- */

/* "Channel 00/24 : 0 1 2 3", after the colon; only rank 0 prints it. NCCL overwrites the end of a
 * line that is too long with "...": then the last number may lack digits. */
static void on_order(struct nccl_log *log, const struct message *message, int channel,
		     const char *p)
{
	struct nccl_log_raw *raw = log->raw;
	struct raw_order order = { .channel = channel, .first = raw->n_pool };
	const char *next;
	int rank, member = nccl_log_builder(log, message, 0);

	if (member < 0)
		return;
	order.comm = log->members[member].comm;
	while ((next = nccl_match(p, " %d", &rank)) != NULL && is_rank(rank)) {
		order.cut = strncmp(next, "...", 3) == 0;
		p = next;
		if (order.cut || !raw_add(log, raw->pool, raw->n_pool, rank))
			break;
	}
	order.cut = order.cut || nccl_match(p, " ...") || message->may_be_cut;
	order.n = raw->n_pool - order.first;
	if (order.n > 0)
		raw_add(log, raw->orders, raw->n_orders, order);
}

/* "Channel 00/0 : 3[3] -> 0[0] via P2P/CUMEM", "Channel 00 : 1[1000] -> 0[0] [send] via ...". */
static void on_link(struct nccl_log *log, const struct message *message, struct nccl_link *link,
		    const char *p)
{
	const char *via, *end;
	uint64_t unused;
	int member;

	p = nccl_match(p, " %d[%x] -> %d[%x] ", &link->from, &unused, &link->to, &unused);
	if (!p || !is_rank(link->from) || !is_rank(link->to))
		return;
	via = strstr(p, "via ");
	if (!via)
		return;
	link->receiving = strncmp(p, "[receive]", 9) == 0;
	via += 4;
	if (strncmp(via, "direct shared memory", 20) == 0)
		via = "SHM/direct"; /* before 2.18 */
	end = strncmp(via, "P2P/direct pointer", 18) == 0 ? via + 18 : via;
	end += strcspn(end, " ");
	member = nccl_log_member(log, message, link->receiving ? link->to : link->from);
	link->transport = nccl_log_text(log, via, (size_t)(end - via));
	if (member < 0 || !link->transport)
		return;
	link->comm = log->members[member].comm;
	raw_add(log, log->raw->links, log->raw->n_links, *link);
}

static void on_channel(struct nccl_log *log, const struct message *message)
{
	struct nccl_link link = { 0 };
	const char *p = nccl_match(message->text, "Channel %d", &link.channel), *q;
	bool slash;

	if (!p || !is_channel(link.channel))
		return;
	slash = *p == '/';
	if (slash)
		p = nccl_match(p, "/%d", &link.connection);
	p = p ? nccl_match(p, " :") : NULL;
	if (!p)
		return;
	q = p + strspn(p, " 0123456789");
	if (*q == '[')
		on_link(log, message, &link, p);
	else if (slash)
		on_order(log, message, link.channel, p);
}

static void on_ring(struct nccl_log *log, const struct message *message)
{
	struct raw_edge edge;
	int member;

	if (!nccl_match(message->text, "Ring %d : %d -> %d -> %d", &edge.channel, &edge.prev,
			&edge.rank, &edge.next) ||
	    !is_channel(edge.channel) || !is_rank(edge.prev) || !is_rank(edge.rank) ||
	    !is_rank(edge.next))
		return;
	member = nccl_log_builder(log, message, edge.rank);
	if (member < 0)
		return;
	edge.comm = log->members[member].comm;
	raw_add(log, log->raw->edges, log->raw->n_edges, edge);
}

static void add_tree(struct nccl_log *log, const struct message *message, struct nccl_tree *tree)
{
	int member;

	if (!is_channel(tree->channel) || !is_rank(tree->rank) || !is_rank_or_none(tree->up))
		return;
	for (int i = 0; i < 3; i++)
		if (!is_rank_or_none(tree->down[i]))
			return;
	member = nccl_log_builder(log, message, tree->rank);
	if (member < 0)
		return;
	tree->comm = log->members[member].comm;
	raw_add(log, log->raw->trees, log->raw->n_trees, *tree);
}

/* "Trees [0] 1/-1/-1->0->-1 [1] ...": downs, rank, up. The last of a line as long as NCCL's buffer
 * may lack digits. */
static void on_trees(struct nccl_log *log, const struct message *message)
{
	const char *p = message->text + 5, *next;
	struct nccl_tree tree = { .source = 0 };

	while ((next = nccl_match(p, " [%d] %d/%d/%d->%d->%d", &tree.channel, &tree.down[0],
				  &tree.down[1], &tree.down[2], &tree.rank, &tree.up)) != NULL) {
		if (*next == '\0' && message->may_be_cut)
			break;
		add_tree(log, message, &tree);
		p = next;
	}
}

/* "Tree 12 : 0 -> 1 -> 2/-1/-1": up, rank, downs. */
static void on_tree(struct nccl_log *log, const struct message *message)
{
	struct nccl_tree tree = { .source = 1 };

	if (nccl_match(message->text, "Tree %d : %d -> %d -> %d/%d/%d", &tree.channel, &tree.up,
		       &tree.rank, &tree.down[0], &tree.down[1], &tree.down[2]))
		add_tree(log, message, &tree);
}

/* ---- facts about a communicator ----------------------------------------------------------- */

static struct nccl_comm *comm_of(struct nccl_log *log, const struct message *message)
{
	int member = nccl_log_member(log, message, -1);

	return member < 0 ? NULL : &log->comms[log->members[member].comm];
}

static void on_pattern(struct nccl_log *log, const struct message *message)
{
	struct nccl_graph graph = { 0 };
	char intra[64], inter[64], *slash;
	int member;

	if (!nccl_match(message->text,
			"Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %w, sameChannels %d",
			&graph.pattern, &graph.cross_nic, &graph.channels, &graph.bw_intra,
			&graph.bw_inter, intra, &graph.same_channels))
		return;
	slash = strchr(intra, '/');
	member = nccl_log_member(log, message, -1);
	if (!slash || member < 0)
		return;
	strcpy(inter, slash + 1);
	graph.comm = log->members[member].comm;
	graph.type_intra = nccl_log_text(log, intra, (size_t)(slash - intra));
	graph.type_inter = nccl_log_text(log, inter, strlen(inter));
	if (graph.type_intra && graph.type_inter)
		raw_add(log, log->raw->graphs, log->raw->n_graphs, graph);
}

static void on_connected(struct nccl_log *log, const struct message *message)
{
	bool nvls = strncmp(message->text, "Connected NVLS", 14) == 0;
	bool collnet = strncmp(message->text, "Connected Coll", 14) == 0;
	struct nccl_comm *comm;
	int pxn = -1, gdr = -1;

	nccl_match(message->text, "Connected all rings, use ring PXN %d GDR %d", &pxn, &gdr);
	if (pxn < 0 && !nvls && !collnet)
		return;
	comm = comm_of(log, message);
	if (!comm)
		return;
	if (pxn >= 0) {
		comm->pxn = pxn != 0;
		comm->gdr = gdr != 0;
	}
	if (nvls)
		comm->nvls = 1;
	if (collnet)
		comm->collnet = 1;
}

static void on_nvls(struct nccl_log *log, const struct message *message)
{
	bool yes = strncmp(message->text, "NVLS multicast support is available", 35) == 0;
	bool no = strncmp(message->text, "NVLS multicast support is not", 29) == 0;
	struct nccl_comm *comm = yes || no ? comm_of(log, message) : NULL;

	if (comm)
		comm->nvls = yes;
}

static void on_counts(struct nccl_log *log, const struct message *message)
{
	int coll, collnet = -1, nvls = -1, p2p, per_peer;
	struct nccl_comm *comm;

	if (!nccl_match(message->text,
			"%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, "
			"%d p2p channels per peer",
			&coll, &collnet, &nvls, &p2p, &per_peer) &&
	    !nccl_match(message->text,
			"%d coll channels, %d nvls channels, %d p2p channels, %d p2p channels per "
			"peer",
			&coll, &nvls, &p2p, &per_peer) &&
	    !nccl_match(message->text,
			"%d coll channels, %d p2p channels, %d p2p channels per peer", &coll, &p2p,
			&per_peer))
		return;
	comm = comm_of(log, message);
	if (!comm)
		return;
	comm->coll_channels = coll;
	comm->collnet_channels = collnet;
	comm->nvls_channels = nvls;
	comm->p2p_channels = p2p;
	comm->p2p_per_peer = per_peer;
}

static void on_timings(struct nccl_log *log, const struct message *message)
{
	double t[NCCL_TIMES];
	struct nccl_member *member;
	int number, rank, nranks;
	char function[64];

	if (!nccl_match(message->text,
			"Init timings - %w: rank %d nranks %d total %f (kernels %f, alloc %f, "
			"bootstrap %f, allgathers %f, topo %f, graphs %f, connections %f, rest %f)",
			function, &rank, &nranks, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6],
			&t[7], &t[8]) ||
	    !is_rank(rank))
		return;
	number = nccl_log_member(log, message, rank);
	if (number < 0)
		return;
	member = &log->members[number];
	member->timed = true;
	memcpy(member->times, t, sizeof(t));
}

/* "comm 0x.. rank 1 nRanks 4 nNodes 1 ..."; "... - Abort COMPLETE", "... - Destroy COMPLETE". */
static void on_comm(struct nccl_log *log, const struct message *message)
{
	const struct place *place;
	struct nccl_member *member;
	uint64_t address;
	const char *p;
	int nodes = 0;

	if (!nccl_match(message->text, "comm %x rank ", &address))
		return;
	place = nccl_place_find(log, message->host, message->pid, PLACE_ADDRESS, address);
	if (!place || place->member < 0)
		return;
	member = &log->members[place->member];
	if ((p = strstr(message->text, "nNodes ")) != NULL && nccl_match(p, "nNodes %d", &nodes) &&
	    nodes > 0 && nodes < NCCL_LOG_RANKS)
		log->comms[member->comm].nnodes = nodes;
	if (strstr(message->text, "- Abort "))
		member->state = NCCL_STATE_ABORTED;
	else if (strstr(message->text, "- Destroy COMPLETE") && member->state != NCCL_STATE_ABORTED)
		member->state = NCCL_STATE_DESTROYED;
}

/* ---- facts about the machine -------------------------------------------------------------- */

/* "GPU/0-60 :GPU/0-60 (0/5000.0/LOC) NVS/0-0 (1/370.8/NVL) ...": hops, GB/s, kind of path. */
static void on_paths(struct nccl_log *log, const struct message *message)
{
	uint64_t system, to_system;
	struct nccl_path path = { .host = message->host };
	char kind[64], type[64], *slash;
	const char *p, *next;
	int hops;

	p = nccl_match(message->text, "GPU/%x-%x :", &system, &path.gpu);
	while (p && (next = nccl_match(p, " %w (%d/%f/%w)", kind, &hops, &path.bw, type))) {
		p = next;
		slash = strchr(kind, '/');
		if (!slash || !nccl_match(slash, "/%x-%x", &to_system, &path.to))
			continue;
		path.kind = nccl_log_text(log, kind, (size_t)(slash - kind));
		path.type = nccl_log_text(log, type, strlen(type));
		if (system == to_system && path.kind && path.type)
			raw_add(log, log->paths, log->n_paths, path);
	}
}

static void on_setting(struct nccl_log *log, const struct message *message)
{
	const char *p = strstr(message->text, " set by environment to ");
	size_t len = p ? (size_t)(p - message->text) : 0;
	struct nccl_setting setting;

	if (!p || len != strcspn(message->text, " "))
		return;
	p += strlen(" set by environment to ");
	len = strlen(p);
	if (len > 0 && p[len - 1] == '.')
		len--;
	setting.value = nccl_log_text(log, p, len);
	setting.name = nccl_log_text(log, message->text, strcspn(message->text, " "));
	if (setting.name && setting.value)
		raw_add(log, log->settings, log->n_settings, setting);
}

static void on_network(struct nccl_log *log, const struct message *message)
{
	log->network = nccl_log_text(log, message->text + 14, strcspn(message->text + 14, " "));
}

static void on_version(struct nccl_log *log, const struct message *message)
{
	log->version = nccl_log_text(log, message->text + 13, strcspn(message->text + 13, " "));
}

/* ---- warnings ----------------------------------------------------------------------------- */

/* The rank of a process's device in its first communicator, which is the world in most programs. */
static int world_rank(struct nccl_log *log, const struct message *message)
{
	const struct place *device = nccl_place_find(log, message->host, message->pid, PLACE_DEVICE,
						     (uint64_t)(int64_t)message->dev);

	if (device && device->first >= 0 && log->members[device->first].rank >= 0)
		return log->members[device->first].rank;
	return message->hint;
}

static void on_warning(struct nccl_log *log, const struct message *message, const char *where,
		       const char *text)
{
	struct raw_warning warning = { .where = where,
				       .text = nccl_log_text(log, text, strlen(text)),
				       .trace = !message->where,
				       .rank = world_rank(log, message),
				       .first = log->raw->warned,
				       .count = 1 };

	log->raw->warned += log->raw->warned < INT_MAX;
	if (warning.where && warning.text)
		raw_add(log, log->raw->warnings, log->raw->n_warnings, warning);
}

/* "src/transport/net.cc:123 -> 5": how an error went up through NCCL. */
static bool is_trace(struct nccl_log *log, const struct message *message)
{
	const char *arrow = strstr(message->text, " -> ");
	size_t len = strcspn(message->text, " ");
	int line, result;
	const char *colon = memchr(message->text, ':', len);

	if (!arrow || arrow != message->text + len || !colon || colon == message->text ||
	    !nccl_match(colon, ":%d -> %d", &line, &result))
		return false;
	on_warning(log, message, nccl_log_text(log, message->text, len), arrow + 1);
	return true;
}

void nccl_log_message(struct nccl_log *log, const struct message *message)
{
	static const struct {
		const char *start;
		void (*take)(struct nccl_log *log, const struct message *message);
	} kinds[] = {
		{ "Channel ", on_channel },
		{ "Ring ", on_ring },
		{ "Trees ", on_trees },
		{ "Tree ", on_tree },
		{ "Pattern ", on_pattern },
		{ "Connected ", on_connected },
		{ "NVLS multicast ", on_nvls },
		{ "Init timings - ", on_timings },
		{ "GPU/", on_paths },
		{ "Using network ", on_network },
		{ "NCCL version ", on_version },
		{ "NCCL_", on_setting },
	};
	const char *text = message->text;

	log->nccl_lines++;
	if (message->where) {
		on_warning(log, message, message->where, text);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strncmp(text, kinds[i].start, strlen(kinds[i].start)) == 0) {
			kinds[i].take(log, message);
			return;
		}
	}
	if (nccl_message_init(log, message) || nccl_message_call(log, message) ||
	    nccl_message_tuning(log, message) || is_trace(log, message))
		return;
	if (strncmp(text, "comm ", 5) == 0)
		on_comm(log, message);
	else if (*text >= '0' && *text <= '9')
		on_counts(log, message);
}
