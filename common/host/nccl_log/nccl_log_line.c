/* nccl_log_line.c: what each kind of message says. */

#include "nccl_log/nccl_log_raw.h"

static bool is_rank(int rank)
{
	return rank >= 0 && rank < NCCL_LOG_RANKS;
}

static bool is_channel(int channel)
{
	return channel >= 0 && channel < NCCL_LOG_CHANNELS;
}

/* ---- rings -------------------------------------------------------------------------------- */

/* "0 1 2 3" of "Channel 00/24 : 0 1 2 3"; only rank 0 prints it. NCCL overwrites the end of a line
 * that is too long with "...": then the last number may lack digits. */
static void on_order(struct nccl_log *log, const struct message *message, int channel,
		     const char *p)
{
	struct nccl_comm *comm = nccl_log_comm_of(log, message, 0);
	int n = 0, first = -1, last = -1;

	while (comm) {
		char *end;
		long rank = strtol(p, &end, 10);

		if (end == p || rank < 0 || rank >= NCCL_LOG_RANKS || strncmp(end, "...", 3) == 0)
			break;
		if (n++ > 0)
			raw_add(comm->edges, comm->n_edges,
				(struct nccl_edge){ channel, last, (int)rank });
		else
			first = (int)rank;
		last = (int)rank;
		p = end;
	}
	/* NCCL ends with a warning rather than print a ring that does not loop. */
	if (n > 0 && n == comm->nranks && !strstr(p, "...") && !message->may_be_cut)
		raw_add(comm->edges, comm->n_edges, (struct nccl_edge){ channel, last, first });
}

/* `via`: the transport, and more behind a blank. */
static void add_link(struct nccl_log *log, const struct message *message, struct nccl_link link,
		     const char *via)
{
	struct nccl_comm *comm;
	size_t len = strncmp(via, "P2P/direct pointer", 18) == 0 ? 18 : 0;

	link.receiving = strstr(message->text, "[receive]") != NULL;
	comm = nccl_log_comm_of(log, message, link.receiving ? link.to : link.from);
	if (strncmp(via, "direct shared memory", 20) == 0)
		via = "SHM/direct"; /* as later ones have it */
	if (strncmp(via, "NET/AWS Libfabric", 17) == 0)
		len = 17;
	link.transport = nccl_log_text(log, via, len + strcspn(via + len, " "));
	if (comm)
		raw_add(comm->links, comm->n_links, link);
}

/* "Channel 00/0 : 3[3] -> 0[0] via P2P/CUMEM", "... [receive] via NET/IB/0/GDRDMA". */
static void on_channel(struct nccl_log *log, const struct message *message)
{
	struct nccl_link link = { 0 };
	const char *via;
	int order = 0, steps = 0;

	if (sscanf(message->text, "Channel %d/%d :%n %d[%*x] -> %d[%*x] %n", &link.channel,
		   &link.connection, &order, &link.from, &link.to, &steps) == 1 &&
	    sscanf(message->text, "Channel %*d : %d[%*x] -> %d[%*x] %n", &link.from, &link.to,
		   &steps) < 2)
		sscanf(message->text, "Channel %*d :%n", &order);
	if (!is_channel(link.channel) || (!order && !steps))
		return;
	if (!strchr(message->text, '[')) {
		on_order(log, message, link.channel, message->text + order);
		return;
	}
	via = steps ? strstr(message->text + steps, "via ") : NULL;
	if (!via || !is_rank(link.from) || !is_rank(link.to))
		return;
	add_link(log, message, link, via + 4);
}

/* NCCL 2.4 and 2.5: "Ring 00 : 1[1] -> 0[0] via P2P/IPC", "Ring 00 : 1 -> 2 [send] via NET/Socket/0". */
static void on_ring_link(struct nccl_log *log, const struct message *message)
{
	struct nccl_link link = { 0 };
	int n = 0;

	if (sscanf(message->text, "Ring %d : %d%n", &link.channel, &link.from, &n) < 2)
		return;
	n += message->text[n] == '[' ? (int)strcspn(message->text + n, " ") : 0;
	if (sscanf(message->text + n, " -> %d", &link.to) < 1 || !is_channel(link.channel) ||
	    !is_rank(link.from) || !is_rank(link.to))
		return;
	log->old_form = true;
	add_link(log, message, link, strstr(message->text, " via ") + 5);
}

static void on_ring(struct nccl_log *log, const struct message *message)
{
	struct nccl_edge edge;
	struct nccl_comm *comm;
	int before;

	if (strstr(message->text, " via ")) {
		on_ring_link(log, message);
		return;
	}

	if (sscanf(message->text, "Ring %d : %d -> %d -> %d", &edge.channel, &before, &edge.rank,
		   &edge.next) < 4 ||
	    !is_channel(edge.channel) || !is_rank(before) || !is_rank(edge.rank) ||
	    !is_rank(edge.next))
		return;
	comm = nccl_log_comm_of(log, message, edge.rank);
	if (!comm)
		return;
	raw_add(comm->edges, comm->n_edges, edge);
	raw_add(comm->edges, comm->n_edges, (struct nccl_edge){ edge.channel, before, edge.rank });
}

/* ---- facts about a communicator ----------------------------------------------------------- */

void nccl_comm_say(struct nccl_comm *comm, const char *text)
{
	for (int i = 0; i < comm->n_says; i++)
		if (comm->says[i] == text)
			return;
	if (comm->n_says < NCCL_SAYS)
		comm->says[comm->n_says++] = text;
}

/* "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}": of rank 0, after the calls of a group. */
static void on_choice(struct nccl_log *log, const struct message *message)
{
	const struct nccl_member *member = place_of(log, message, PLACE_PROCESS, 0)->member;

	if (member)
		nccl_comm_say(&log->comms[member->comm],
			      nccl_log_text(log, message->text, strlen(message->text)));
	else
		log->unplaced++;
}

static void on_fact(struct nccl_log *log, const struct message *message)
{
	struct nccl_comm *comm = nccl_log_comm_of(log, message, -1);
	const char *text = nccl_log_text(log, message->text, strlen(message->text));

	if (!comm)
		return;
	nccl_comm_say(comm, text);
	sscanf(text, "Connected all rings, use ring PXN %*d GDR %d", &comm->gdr);
	if (strncmp(text, "Connected NVLS", 14) == 0 ||
	    strncmp(text, "NVLS multicast support is available", 35) == 0)
		comm->nvls = 1;
	if (strncmp(text, "NVLS multicast support is not", 29) == 0)
		comm->nvls = 0;
}

/* "24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, ..." */
static void on_counts(struct nccl_log *log, const struct message *message)
{
	const char *text = message->text, *nvls = strstr(text, " nvls channels");
	struct nccl_comm *comm;

	if (!isdigit((unsigned char)*text))
		return;
	on_fact(log, message);
	comm = nccl_log_comm_of(log, message, -1);
	if (!comm)
		return;
	comm->coll_channels = atoi(text);
	while (nvls && isdigit((unsigned char)nvls[-1]))
		nvls--;
	comm->nvls_channels = nvls ? atoi(nvls) : -1;
}

static void on_timings(struct nccl_log *log, const struct message *message)
{
	struct nccl_member *member;
	double seconds;
	int rank;

	if (sscanf(message->text, "Init timings - %*[^:]: rank %d nranks %*d total %lf", &rank,
		   &seconds) < 2 ||
	    !is_rank(rank))
		return;
	member = nccl_log_member(log, message, rank);
	if (member)
		member->init = seconds;
}

/* "comm 0x.. rank 1 nRanks 4 nNodes 1 ..."; "... - Abort COMPLETE", "... - Destroy COMPLETE". */
static void on_comm(struct nccl_log *log, const struct message *message)
{
	struct nccl_member *member;
	uint64_t address;
	const char *p = strstr(message->text, "nNodes ");
	struct place *place;
	int nodes = 0, rank = -1, nranks = 0;

	if (sscanf(message->text, "comm %lx rank %d nRanks %d", &address, &rank, &nranks) < 1)
		return;
	place = place_of(log, message, PLACE_ADDRESS, address);
	if (!place->member && p && is_rank(rank) && nranks > rank && nranks <= NCCL_LOG_RANKS) {
		place->member = nccl_log_member(log, message, rank);
		if (place->member)
			log->comms[place->member->comm].nranks = nranks;
	}
	member = place->member;
	if (!member)
		return;
	if (p && sscanf(p, "nNodes %d", &nodes) == 1 && is_rank(nodes) && nodes > 0)
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
	struct nccl_path path = { .host = message->host };
	uint64_t system, to_system;
	char kind[32], type[32];
	int n = 0;

	if (sscanf(message->text, "GPU/%lx-%lx :%n", &system, &path.gpu, &n) < 2 || !n)
		return;
	for (const char *p = message->text + n;; p += n) {
		n = 0;
		if (sscanf(p, " %31[^ /]/%lx-%lx (%*d/%lf/%31[^ )])%n", kind, &to_system, &path.to,
			   &path.bw, type, &n) < 5 ||
		    !n)
			return;
		path.kind = nccl_log_text(log, kind, strlen(kind));
		path.type = nccl_log_text(log, type, strlen(type));
		if (system == to_system)
			raw_add(log->paths, log->n_paths, path);
	}
}

static void on_setting(struct nccl_log *log, const struct message *message)
{
	static const char by[] = " set by environment to ";
	const char *p = strstr(message->text, by);
	size_t len = strcspn(message->text, " ");
	struct nccl_setting setting;

	if (p != message->text + len)
		return;
	setting.name = nccl_log_text(log, message->text, len);
	p += sizeof(by) - 1;
	len = strlen(p);
	setting.value = nccl_log_text(log, p, len - (len > 0 && p[len - 1] == '.'));
	raw_add(log->settings, log->n_settings, setting);
}

static void on_network(struct nccl_log *log, const struct message *message)
{
	log->network = nccl_log_text(log, message->text + 14, strcspn(message->text + 14, " "));
}

/* ---- warnings ----------------------------------------------------------------------------- */

/* The log's copy of a text in which pointers are "0x...": lines that differ in one are the same. */
static const char *plain_text(struct nccl_log *log, const char *text)
{
	char plain[1024];
	size_t n = 0;

	while (*text && n < sizeof(plain) - 8) {
		size_t digits = strncmp(text, "0x", 2) == 0
					? strspn(text + 2, "0123456789abcdefABCDEF")
					: 0;

		if (digits < 5) {
			plain[n++] = *text++;
			continue;
		}
		memcpy(plain + n, "0x...", 5);
		n += 5;
		text += 2 + digits;
	}
	return nccl_log_text(log, plain, n);
}

/* The warning of this place and text, made if new; NULL: there are too many. `time`: of NCCL's or the program's clock. */
static struct nccl_warning *warning_of(struct nccl_log *log, const struct message *message,
				       const char *where, const char *text, double time)
{
	const char *own = plain_text(log, text);
	struct place *place = nccl_place(log, where, 0, PLACE_WARNING, (uintptr_t)own);

	if (place->number == 0) {
		struct nccl_warning new = { .where = where,
					    .text = own,
					    .host = message->host,
					    .stamp = message->stamp,
					    .pid = message->pid,
					    .dev = message->dev,
					    .rank = message->hint,
					    .line = log->lines,
					    .time = time };

		if (log->raw->texts++ >= NCCL_TEXTS)
			return NULL;
		new.cause = nccl_cause_of(log, where, own, NCCL_CAUSE);
		nccl_cause_names(log, &new);
		raw_add(log->warnings, log->n_warnings, new);
		place->number = log->n_warnings;
	}
	return &log->warnings[place->number - 1];
}

/* The rank of the device, else of a process with one device, in its first communicator, mostly the world. */
static struct nccl_warning *add_warning(struct nccl_log *log, const struct message *message,
					const char *where, const char *text)
{
	const struct place *process = place_of(log, message, PLACE_PROCESS, 0);
	const struct place *device = place_of(log, message, PLACE_DEVICE, (uint64_t)message->dev);
	const struct nccl_member *member = device->first     ? device->first
					   : process->shared ? NULL
							     : process->first;
	int rank = member && member->rank >= 0 ? member->rank : message->hint;
	const char *end = message->stamp + strlen(message->stamp);
	char bracket[80];
	struct nccl_warning *warning;

	snprintf(bracket, sizeof(bracket), "[%.*s]", (int)(end - message->stamp), message->stamp);
	warning = warning_of(log, message, where, text,
			     nccl_log_time(bracket, bracket + strlen(bracket)));
	if (!warning)
		return NULL;
	warning->count += message->times;
	if (rank >= 0)
		raw_add(warning->ranks, warning->n_ranks, rank);
	return warning;
}

/* INFO lines tell of no failure, but may say what a host has, or what makes a run slower. */
static void on_other(struct nccl_log *log, const struct message *message)
{
	const struct nccl_cause *cause = NULL;

	if (nccl_has(message->text,
		     "ailed|annot|ould not|isabled|retrying|undefined symbol|Using|"
		     "plugin|oaded|opology file|Selected|egister|reuse|No device|not found"))
		cause = nccl_cause_of(log, "", message->text, NCCL_RING);
	if (cause && cause->class == NCCL_HOST)
		nccl_host_say(log, message, cause);
	else if (cause && cause->class <= NCCL_SLOW)
		add_warning(log, message, "", message->text);
}

/* "src/transport/net.cc:123 -> 5", since 2.30 with " (function)" before the arrow: how an error went up through NCCL. */
static void on_trace(struct nccl_log *log, const struct message *message)
{
	int end = 0, n = 0, arrow = 0;
	struct place *thread;
	struct nccl_warning *trace;

	sscanf(message->text, "%*[^: ]:%*d%n -> %*d%n", &end, &n);
	if (!n)
		sscanf(message->text, "%*[^: ]:%*d%n (%*[^)])%n -> %*d%n", &end, &arrow, &n);
	if (!n) {
		on_other(log, message);
		return;
	}
	thread = place_of(log, message, PLACE_THREAD, (uint64_t)message->tid);
	if (thread->warning)
		log->warnings[thread->warning - 1].failed = true;
	trace = add_warning(log, message, nccl_log_text(log, message->text, (size_t)end),
			    message->text + (arrow ? arrow : end) + 1);
	if (trace)
		trace->trace = true;
}

/* WARN lines, and what NCCL's next trace in this thread is about. */
static void on_warning(struct nccl_log *log, const struct message *message)
{
	struct nccl_warning *warning = add_warning(log, message, message->where, message->text);

	if (warning)
		place_of(log, message, PLACE_THREAD, (uint64_t)message->tid)->warning =
			(int)(warning - log->warnings) + 1;
}

/* Text that may be a failure of the program: rows of the table are tried on these lines alone. */
static bool is_failure_like(const char *line)
{
	return nccl_has(line, "CUDA|HIP|NCCL|nccl|ProcessGroup|c10d|DistStore|exitcode: "
			      "-|NET/OFI|libfabric") &&
	       nccl_has(line, "rror|ailed|timed out|out of memory|stuck|exit|WARN|empty "
			      "list|neither AF_INET");
}

void nccl_log_foreign(struct nccl_log *log, char *line)
{
	size_t len = strlen(line);
	struct message message = { .dev = -1, .pid = -1, .host = "", .stamp = "", .times = 1 };
	const struct nccl_cause *cause;
	struct nccl_warning *warning;

	if (len > 4096 || log->raw->binary || nccl_log_torch(log, line) ||
	    log->raw->texts >= NCCL_LINES || !is_failure_like(line))
		return;
	cause = nccl_cause_of(log, "", line, NCCL_CAUSE);
	if (!cause || cause->class >= NCCL_SLOW)
		return;
	message.hint = nccl_log_prefix_rank(line, line + len);
	warning = warning_of(log, &message, "", line, nccl_log_time(line, line + len));
	if (!warning)
		return;
	warning->count++;
	if (message.hint >= 0)
		raw_add(warning->ranks, warning->n_ranks, message.hint);
}

void nccl_log_message(struct nccl_log *log, const struct message *message)
{
	static const struct {
		const char *start, *within;
		void (*take)(struct nccl_log *log, const struct message *message);
	} kinds[] = {
		{ "Channel ", "", on_channel },
		{ "Ring ", "", on_ring },
		{ "Pattern ", "", on_fact },
		{ "Connected ", "", on_fact },
		{ "NVLS multicast ", "", on_fact },
		{ "Init timings - ", "", on_timings },
		{ "GPU/", "", on_paths },
		{ "Using network ", "", on_network },
		{ "NET/IB : Using ", "", nccl_message_nics },
		{ "NET/IB: [", "", nccl_message_device },
		{ "NET/", "GPU Direct RDMA ", nccl_message_gdr },
		{ "NCCL_", "", on_setting },
		{ "", ": opCount ", nccl_message_call },
		{ "", "- Init START", nccl_message_init },
		{ "", "- Init COMPLETE", nccl_message_init },
		{ "", ") -> ", on_trace },
		{ "nccl", "(", nccl_message_api },
		{ "comm ", "", on_comm },
		{ "", " Bytes -> ", on_choice },
		{ "", " coll channels, ", on_counts },
		{ "", "", on_trace },
	};
	const char *text = message->text;
	size_t i = 0;

	if (message->where) {
		on_warning(log, message);
		return;
	}
	while (strncmp(text, kinds[i].start, strlen(kinds[i].start)) != 0 ||
	       !strstr(text, kinds[i].within))
		i++;
	kinds[i].take(log, message);
}
