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

/* A number of a group as an int, `unset` also where it does not fit. */
static int small(const struct found *found, enum row_field field, int unset)
{
	int64_t value = found_number(found, field, 10, unset);

	return value > INT_MAX || value < 0 ? unset : (int)value;
}

/* ---- rings -------------------------------------------------------------------------------- */

/* "0 1 2 3" of a channel; only rank 0 prints it. NCCL overwrites the end of a line that is too long with "...", which may
 * stand behind digits of a number; such a number is not in the group. */
static void on_order(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct nccl_comm *comm = nccl_log_comm_of(log, message, 0);
	struct span order = found_span(found, FIELD_order);
	struct nccl_edge edge = { .channel = small(found, FIELD_channel, -1), .rank = -1 };
	int n = 0, first = -1;
	char *end;

	if (!comm || !is_channel(edge.channel))
		return;
	for (const char *p = order.at; p < order.at + order.len; p = end, edge.rank = edge.next) {
		long rank = strtol(p, &end, 10);

		if (end == p || rank >= NCCL_LOG_RANKS)
			break;
		edge.next = (int)rank;
		if (n++ > 0)
			raw_add(comm->edges, comm->n_edges, edge);
		else
			first = edge.next;
	}
	edge.next = first;
	/* NCCL ends with a warning rather than print a ring that does not loop. */
	if (n > 0 && n == comm->nranks && !found_span(found, FIELD_cut).at && !message->may_be_cut)
		raw_add(comm->edges, comm->n_edges, edge);
}

static void on_link(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct nccl_link link = { .channel = small(found, FIELD_channel, -1),
				  .connection = small(found, FIELD_connection, 0),
				  .from = small(found, FIELD_from, -1),
				  .to = small(found, FIELD_to, -1),
				  .receiving = found_span(found, FIELD_receive).at };
	struct nccl_comm *comm;

	if (!is_channel(link.channel) || !is_rank(link.from) || !is_rank(link.to))
		return;
	log->old_form |= found_span(found, FIELD_old).at != NULL;
	comm = nccl_log_comm_of(log, message, link.receiving ? link.to : link.from);
	link.transport = found_text(log, found, FIELD_transport);
	if (comm)
		nccl_comm_hold(log, comm, 0), raw_add(comm->links, comm->n_links, link);
}

static void on_ring(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct nccl_edge edge = { small(found, FIELD_channel, -1), small(found, FIELD_rank, -1),
				  small(found, FIELD_next, -1) };
	int before = small(found, FIELD_before, -1);
	struct nccl_comm *comm;

	if (!is_channel(edge.channel) || !is_rank(before) || !is_rank(edge.rank) ||
	    !is_rank(edge.next))
		return;
	comm = nccl_log_comm_of(log, message, edge.rank);
	if (!comm)
		return;
	nccl_comm_hold(log, comm, 0);
	raw_add(comm->edges, comm->n_edges, edge);
	raw_add(comm->edges, comm->n_edges, (struct nccl_edge){ edge.channel, before, edge.rank });
}

/* ---- facts about a communicator ----------------------------------------------------------- */

void nccl_comm_say(struct nccl_log *log, struct nccl_comm *comm, const char *text, size_t len)
{
	for (int i = 0; i < comm->n_says; i++)
		if (strncmp(comm->says[i], text, len) == 0 && !comm->says[i][len])
			return;
	if (comm->n_says < NCCL_SAYS)
		comm->says[comm->n_says++] = nccl_log_text(log, text, len);
}

/* A choice of rank 0, after the calls of a group. */
static void on_choice(struct nccl_log *log, const struct message *message,
		      const struct found *found)
{
	const struct nccl_member *member = place_of(log, message, PLACE_PROCESS, 0)->member;

	if (member)
		nccl_comm_say(log, &log->comms[member->comm], message->text, message->len);
	else
		log->unplaced++;
}

static void on_fact(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct nccl_comm *comm = nccl_log_comm_of(log, message, -1);

	if (!comm)
		return;
	nccl_comm_say(log, comm, message->text, message->len);
	comm->gdr = small(found, FIELD_gdr, comm->gdr);
	comm->nvls = small(found, FIELD_nvls, comm->nvls);
	comm->nvls_promised = small(found, FIELD_promised, comm->nvls_promised);
	comm->rings_found = small(found, FIELD_rings, comm->rings_found);
	comm->rings_bw = found_real(found, FIELD_bw, comm->rings_bw);
}

static void on_counts(struct nccl_log *log, const struct message *message,
		      const struct found *found)
{
	struct nccl_comm *comm;

	on_fact(log, message, found);
	comm = nccl_log_comm_of(log, message, -1);
	if (!comm)
		return;
	comm->coll_channels = small(found, FIELD_coll_channels, -1);
	comm->nvls_channels = small(found, FIELD_nvls_channels, -1);
}

static void on_timings(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	int rank = small(found, FIELD_rank, -1);
	struct nccl_member *member = is_rank(rank) ? nccl_log_member(log, message, rank) : NULL;

	if (member)
		member->init = found_real(found, FIELD_seconds, NAN);
}

static bool says(const struct found *found, enum row_field field, const char *value)
{
	struct span span = found_span(found, field);

	return span.at && span.len == strlen(value) && strncmp(span.at, value, span.len) == 0;
}

/* A communicator's size, or its end. */
static void on_comm(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct place *place = place_of(log, message, PLACE_ADDRESS,
				       (uint64_t)found_number(found, FIELD_comm, 16, 0));
	int nodes = small(found, FIELD_nodes, -1), rank = small(found, FIELD_rank, -1);
	int nranks = small(found, FIELD_nranks, 0);
	struct nccl_member *member;

	if (!place->member && nodes >= 0 && is_rank(rank) && nranks > rank &&
	    nranks <= NCCL_LOG_RANKS) {
		place->member = nccl_log_member(log, message, rank);
		if (place->member)
			log->comms[place->member->comm].nranks = nranks;
	}
	member = place->member;
	if (!member)
		return;
	if (is_rank(nodes) && nodes > 0)
		log->comms[member->comm].nnodes = nodes;
	if (says(found, FIELD_state, "aborted"))
		member->state = NCCL_STATE_ABORTED;
	else if (says(found, FIELD_state, "destroyed") && member->state != NCCL_STATE_ABORTED)
		member->state = NCCL_STATE_DESTROYED;
}

/* ---- facts about the machine -------------------------------------------------------------- */

/* A GPU's paths: hops, GB/s, kind of path to each node. */
static void on_paths(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct nccl_path path = { .host = message->host,
				  .gpu = (uint64_t)found_number(found, FIELD_gpu, 16, 0) };
	int64_t system = found_number(found, FIELD_system, 16, 0);
	struct span all = found_span(found, FIELD_paths);
	struct found one;

	for (const char *p = all.at, *end = all.at + all.len;
	     rows_find(log->rows, ROWS_path, p, (size_t)(end - p), 0, &one); p += one.at[1]) {
		if (found_number(&one, FIELD_system, 16, 0) != system)
			continue;
		path.to = (uint64_t)found_number(&one, FIELD_to, 16, 0);
		path.bw = found_real(&one, FIELD_bw, 0);
		path.kind = found_text(log, &one, FIELD_kind);
		path.type = found_text(log, &one, FIELD_type);
		raw_add(log->paths, log->n_paths, path);
	}
}

static void on_setting(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	raw_add(log->settings, log->n_settings,
		(struct nccl_setting){ found_text(log, found, FIELD_name),
				       found_text(log, found, FIELD_value) });
}

static void on_network(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	log->network = found_text(log, found, FIELD_network);
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

/* The warning of this place and text, made if new; NULL: there are too many. */
static struct nccl_warning *warning_of(struct nccl_log *log, const struct message *message,
				       const char *where, const char *text)
{
	const char *own = plain_text(log, text);
	struct place *place = nccl_place(log, where, 0, PLACE_WARNING, (uintptr_t)own);

	if (place->number == 0) {
		struct nccl_warning new = { .where = where,
					    .text = own,
					    .host = message->host,
					    .stamp = message->stamp.at
							     ? nccl_log_text(log, message->stamp.at,
									     message->stamp.len)
							     : "",
					    .pid = message->pid,
					    .dev = message->dev,
					    .rank = message->hint,
					    .line = log->lines,
					    .time = message->time };

		if (log->raw->texts++ >= NCCL_TEXTS)
			return NULL;
		new.cause = nccl_cause_of(log, where, own, NCCL_CAUSE, 0);
		nccl_cause_names(log, &new);
		raw_add(log->warnings, log->n_warnings, new);
		place->number = log->n_warnings;
	}
	return &log->warnings[place->number - 1];
}

/* One more line of the warning, from there. */
static void add_origin(struct nccl_log *log, struct nccl_warning *warning,
		       const struct message *message, int rank)
{
	uint64_t number = (uint64_t)(warning - log->warnings) << 47, all = ((uint64_t)1 << 47) - 1;
	uint64_t id = ((uint64_t)(message->dev + 1) & 0xffffff) << 23 | (uint64_t)(rank + 1);
	struct place *place;

	warning->count += message->times;
	if (warning->n_origins >= NCCL_ORIGINS)
		return;
	place = nccl_place(log, message->host, message->pid, PLACE_ORIGIN, number | id);
	if (place->number == 0) {
		warning->processes +=
			nccl_place(log, message->host, message->pid, PLACE_ORIGIN, number | all)
				->number++ == 0;
		raw_add(warning->origins, warning->n_origins,
			(struct nccl_origin){ message->host, message->pid, message->dev, rank, 0 });
		place->number = warning->n_origins;
	}
	warning->origins[place->number - 1].count += message->times;
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
	struct nccl_warning *warning = warning_of(log, message, where, text);

	if (!warning)
		return NULL;
	add_origin(log, warning, message, rank < NCCL_LOG_RANKS ? rank : -1);
	return warning;
}

/* INFO lines tell of no failure, but may say what a host has, or what makes a run slower. */
static void on_other(struct nccl_log *log, const struct message *message)
{
	const struct nccl_cause *cause =
		nccl_cause_of(log, "", message->text, NCCL_FALLBACK, message->shape);

	if (cause && cause->class == NCCL_HOST)
		nccl_host_say(log, message, cause);
	else if (cause && cause->class <= NCCL_SLOW)
		add_warning(log, message, "", message->text);
}

/* An interface of a host: one with two addresses is two hosts of one name. */
static void on_home(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct place *place = nccl_place(log, message->host, 0, PLACE_HOME,
					 (uintptr_t)found_text(log, found, FIELD_name));
	const char *address = found_text(log, found, FIELD_text);

	if (place->address && place->address != address)
		log->twins = message->host;
	place->address = address;
	on_other(log, message);
}

/* How an error went up through NCCL. */
static void on_trace(struct nccl_log *log, const struct message *message, const struct found *found)
{
	struct place *thread = place_of(log, message, PLACE_THREAD, (uint64_t)message->tid);
	struct nccl_warning *trace;

	if (thread->in_init && thread->member && nccl_has(message->text, "init.cc:"))
		thread->member->failed = true;
	if (thread->warning)
		log->warnings[thread->warning - 1].failed = true;
	trace = add_warning(log, message, found_text(log, found, FIELD_file),
			    found_text(log, found, FIELD_text));
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

/* A line of a program that may tell of a failure: rows of the table are tried on it. */
static void on_failure(struct nccl_log *log, const char *line, size_t len)
{
	struct message message = { .dev = -1, .pid = -1, .host = "", .times = 1 };
	const struct nccl_cause *cause = nccl_cause_of(log, "", line, NCCL_CAUSE, 0);
	struct nccl_warning *warning;

	if (log->raw->texts >= NCCL_LINES || !cause || cause->class >= NCCL_SLOW)
		return;
	message.hint = nccl_log_prefix_rank(log, line, line + len);
	message.time = nccl_log_time(log, line, len, NULL);
	warning = warning_of(log, &message, "", line);
	if (warning)
		add_origin(log, warning, &message,
			   message.hint < NCCL_LOG_RANKS ? message.hint : -1);
}

#define FOREIGN_BYTES 4096 /* longer lines of a program are data */

static void take_program_line(struct nccl_log *log, const char *line, size_t len)
{
	struct found found;

	if (nccl_torch_traceback(log, line) ||
	    !rows_find(log->rows, ROWS_program, line, len, pattern_shape(line, len), &found))
		return;
	if (found.row->kind == ROW_traceback)
		nccl_torch_open(log, &found, line);
	else if (found.row->kind == ROW_timeout)
		nccl_torch_timeout(log, &found, line);
	else if (found.row->kind == ROW_progress)
		nccl_torch_progress(log, &found, line);
	else if (found.row->kind != ROW_failure)
		nccl_ras_take(log, &found);
	else
		on_failure(log, line, len);
}

void nccl_log_foreign(struct nccl_log *log, const char *line, size_t len)
{
	char *torn = log->raw->torn, *whole = NULL;
	struct found found;

	if (len > FOREIGN_BYTES || log->raw->binary)
		return;
	log->raw->torn = NULL;
	if (torn && asprintf(&whole, "%s %s", torn, line) >= 0) {
		line = must(whole);
		len = strlen(whole);
	}
	free(torn);
	if (!whole && rows_find(log->rows, ROWS_torn, line, len, 0, &found))
		log->raw->torn = must(strdup(line));
	else
		take_program_line(log, line, len);
	free(whole);
}

void nccl_log_message(struct nccl_log *log, struct message *message)
{
	static nccl_take *const takes[N_ROW_KINDS] = {
		[ROW_order] = on_order,
		[ROW_link] = on_link,
		[ROW_ring] = on_ring,
		[ROW_fact] = on_fact,
		[ROW_counts] = on_counts,
		[ROW_timings] = on_timings,
		[ROW_paths] = on_paths,
		[ROW_network] = on_network,
		[ROW_home] = on_home,
		[ROW_nics] = nccl_message_nics,
		[ROW_speed] = nccl_message_speed,
		[ROW_gdr] = nccl_message_gdr,
		[ROW_setting] = on_setting,
		[ROW_call] = nccl_message_call,
		[ROW_api] = nccl_message_api,
		[ROW_init] = nccl_message_init,
		[ROW_comm] = on_comm,
		[ROW_choice] = on_choice,
		[ROW_trace] = on_trace,
	};
	struct found found;

	message->len = strlen(message->text);
	if (message->where) {
		on_warning(log, message);
		return;
	}
	message->shape = pattern_shape(message->text, message->len);
	if (rows_find(log->rows, ROWS_message, message->text, message->len, message->shape, &found))
		takes[found.row->kind](log, message, &found);
	else
		on_other(log, message);
}
