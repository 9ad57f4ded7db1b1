/* nccl_log_comm.c: the communicator and rank of a line; initialisation, calls. */

#include "base/call_value.h"
#include "nccl_log/nccl_log_raw.h"

/* The number of the communicator named `id`, made if new. */
static int comm_named(struct nccl_log *log, const char *id)
{
	struct place *place = nccl_place(log, nccl_log_text(log, id, strlen(id)), 0, PLACE_COMM, 0);

	if (place->number == 0) {
		raw_add(log->comms, log->n_comms,
			(struct nccl_comm){ .id = place->host,
					    .gdr = -1,
					    .nvls = -1,
					    .coll_channels = -1,
					    .nvls_channels = -1 });
		place->number = log->n_comms;
	}
	return place->number - 1;
}

static struct nccl_member *member_new(struct nccl_log *log, const struct message *message, int comm,
				      int rank, int dev)
{
	struct nccl_member *member = must(malloc(sizeof(*member)));

	*member = (struct nccl_member){ .comm = comm,
					.rank = rank,
					.dev = dev,
					.pid = message->pid,
					.init = NAN,
					.host = message->host };
	member->host_number = nccl_place(log, message->host, 0, PLACE_HOST, 0)->number - 1;
	raw_add(log->comms[comm].members, log->comms[comm].n_members, member);
	return member;
}

#define thread_of(log, message)	     place_of(log, message, PLACE_THREAD, (uint64_t)(message)->tid)
#define device_of(log, message, dev) place_of(log, message, PLACE_DEVICE, (uint64_t)(dev))

/* The thread and the device now work on this member. */
static void member_take(struct nccl_log *log, const struct message *message,
			struct nccl_member *member, bool in_init)
{
	struct place *thread = thread_of(log, message);
	struct place *device = device_of(log, message, member->dev);
	struct place *process = place_of(log, message, PLACE_PROCESS, 0);

	process->shared |= process->first && process->first->dev != member->dev;
	process->first = process->first ? process->first : member;
	thread->member = member;
	thread->in_init = in_init;
	device->member = member;
	if (!device->first)
		device->first = member;
	if (member->rank == 0)
		process->member = member;
}

/* A communicator without an id: of the same device the n-th one. */
static struct nccl_member *member_guess(struct nccl_log *log, const struct message *message,
					int rank)
{
	char id[32];

	snprintf(id, sizeof(id), "guessed %d", device_of(log, message, message->dev)->number++);
	return member_new(log, message, comm_named(log, id), rank, message->dev);
}

/* A communicator of the thread's own, for lines whose Init line is not here, or not yet. */
static struct nccl_member *member_loose(struct nccl_log *log, const struct message *message,
					int rank)
{
	struct place *thread = thread_of(log, message),
		     *device = device_of(log, message, message->dev);
	char id[400];

	snprintf(id, sizeof(id), "thread %s:%ld:%ld", message->host, message->pid, message->tid);
	thread->member = member_new(log, message, comm_named(log, id), rank, message->dev);
	thread->loose = thread->member->comm + 1;
	thread->in_init = true;
	device->member = device->member ? device->member : thread->member;
	device->first = device->first ? device->first : thread->member;
	return thread->member;
}

static void move_lines(struct nccl_log *log, int from, int to)
{
	struct nccl_comm *a = &log->comms[from], *b = &log->comms[to];

	for (int i = 0; i < a->n_members; i++) {
		a->members[i]->comm = to;
		raw_add(b->members, b->n_members, a->members[i]);
	}
	for (int i = 0; i < a->n_edges; i++)
		raw_add(b->edges, b->n_edges, a->edges[i]);
	for (int i = 0; i < a->n_links; i++)
		raw_add(b->links, b->n_links, a->links[i]);
	for (int i = 0; i < a->n_says; i++)
		nccl_comm_say(log, b, a->says[i], strlen(a->says[i]));
	b->nranks = b->nranks ? b->nranks : a->nranks;
	b->nnodes = b->nnodes ? b->nnodes : a->nnodes;
	b->gdr = b->gdr >= 0 ? b->gdr : a->gdr;
	b->nvls = b->nvls >= 0 ? b->nvls : a->nvls;
	b->coll_channels = b->coll_channels >= 0 ? b->coll_channels : a->coll_channels;
	b->nvls_channels = b->nvls_channels >= 0 ? b->nvls_channels : a->nvls_channels;
	b->nvls_promised = b->nvls_promised ? b->nvls_promised : a->nvls_promised;
	b->rings_bw = b->rings_found ? b->rings_bw : a->rings_bw;
	b->rings_found = b->rings_found ? b->rings_found : a->rings_found;
	b->held += a->held;
	a->held = 0;
	a->n_members = a->n_edges = a->n_links = a->n_says = 0;
	a->moved = true;
}

/* The thread's nameless communicator is the one with this name. */
static void claim_loose(struct nccl_log *log, struct place *thread, const char *id)
{
	if (thread->loose && *id) {
		int to = comm_named(log, id);

		move_lines(log, thread->loose - 1, to);
		thread->loose = 0;
	}
}

void nccl_log_drop(struct nccl_log *log)
{
	int *numbers = must(malloc(((size_t)log->n_comms + 1) * sizeof(*numbers))), kept = 0, count,
	    parent, color;
	char id[96];

	for (int i = 0; i < log->n_comms; i++)
		numbers[i] = log->comms[i].moved ? -1 : kept++;
	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		if (comm->moved) {
			log->forgotten += comm->forgotten;
			nccl_comm_free(comm);
			continue;
		}
		for (int m = 0; m < comm->n_members; m++)
			comm->members[m]->comm = numbers[i];
		if (sscanf(comm->id, "split %d of communicator %d, color %d", &count, &parent,
			   &color) == 3) {
			snprintf(id, sizeof(id), "split %d of communicator %d, color %d", count,
				 numbers[parent], color);
			comm->id = nccl_log_text(log, id, strlen(id));
		}
		log->comms[numbers[i]] = *comm;
	}
	log->n_comms = kept;
	free(numbers);
}

void nccl_log_settle(struct nccl_log *log)
{
	int n = log->n_comms;

	for (int i = 0; i < n; i++) {
		struct nccl_member *member;
		struct message message = { .dev = -1 };
		char id[32];
		int to;

		if (strncmp(log->comms[i].id, "thread ", 7) != 0 || log->comms[i].n_members == 0)
			continue;
		member = log->comms[i].members[0];
		message.host = member->host;
		message.pid = member->pid;
		snprintf(id, sizeof(id), "guessed %d",
			 device_of(log, &message, member->dev)->number++);
		to = comm_named(log, id);
		move_lines(log, i, to);
	}
	nccl_log_drop(log);
}

/* The place of the address that a group holds. */
static struct place *comm_place(struct nccl_log *log, const struct message *message,
				const struct found *found, enum row_field field)
{
	return place_of(log, message, PLACE_ADDRESS, (uint64_t)found_number(found, field, 16, 0));
}

static bool fits(const struct nccl_member *member, int rank)
{
	return member && (rank < 0 || member->rank < 0 || member->rank == rank);
}

struct nccl_member *nccl_log_member(struct nccl_log *log, const struct message *message, int rank)
{
	const struct place *thread = thread_of(log, message);
	const struct place *device = device_of(log, message, message->dev);
	struct place *address = NULL;
	struct found found;
	int64_t nranks = 0;
	struct nccl_member *const likely[] = { thread->in_init ? thread->member : NULL,
					       device->member, thread->member, device->first };

	if (rows_find(log->rows, ROWS_within, message->text, message->len, 0, &found)) {
		address = comm_place(log, message, &found, FIELD_comm);
		nranks = found_number(&found, FIELD_nranks, 10, 0);
	}
	if (address && address->member && fits(address->member, rank))
		return address->member;
	for (size_t i = 0; i < LENGTH(likely); i++) {
		if (!fits(likely[i], rank))
			continue;
		if (likely[i]->rank < 0)
			likely[i]->rank = rank;
		return likely[i];
	}
	if (thread->member || (device->member && rank < 0)) {
		log->unplaced++;
		return NULL;
	}
	if (!address)
		return member_loose(log, message, rank >= 0 ? rank : message->hint);
	address->member = member_loose(log, message, rank >= 0 ? rank : message->hint);
	if (nranks > 0 && nranks <= NCCL_LOG_RANKS)
		log->comms[address->member->comm].nranks = (int)nranks;
	return address->member;
}

struct nccl_comm *nccl_log_comm_of(struct nccl_log *log, const struct message *message, int rank)
{
	const struct nccl_member *member = nccl_log_member(log, message, rank);

	return member ? &log->comms[member->comm] : NULL;
}

/* ---- initialisation ----------------------------------------------------------------------- */

struct init_line {
	struct place *address;
	uint64_t bus;
	char id[96];
	int rank, nranks, dev;
	bool start;
};

/* The name of its communicator, as far as the line says it. */
static void init_name(struct nccl_log *log, const struct message *message,
		      const struct found *found, struct init_line *line)
{
	const struct nccl_member *parent;

	if (found_span(found, FIELD_id).at)
		snprintf(line->id, sizeof(line->id), "0x%lx", found_number(found, FIELD_id, 16, 0));
	if (!found_span(found, FIELD_parent).at)
		return;
	parent = comm_place(log, message, found, FIELD_parent)->member;
	if (parent)
		snprintf(line->id, sizeof(line->id), "split %ld of communicator %d, color %ld",
			 found_number(found, FIELD_split, 10, 0), parent->comm,
			 found_number(found, FIELD_color, 10, 0));
}

static bool init_parse(struct nccl_log *log, const struct message *message,
		       const struct found *found, struct init_line *line)
{
	int64_t rank = found_number(found, FIELD_rank, 10, -1);
	int64_t nranks = found_number(found, FIELD_nranks, 10, 0);
	int64_t dev = found_number(found, FIELD_cuda, 10, -1);

	if (nranks > NCCL_LOG_RANKS || rank >= nranks || dev > INT_MAX)
		return false;
	*line = (struct init_line){ .address = comm_place(log, message, found, FIELD_comm),
				    .bus = (uint64_t)found_number(found, FIELD_bus, 16, 0),
				    .rank = (int)rank,
				    .nranks = (int)nranks,
				    .dev = (int)dev,
				    .start = found_span(found, FIELD_start).at };
	init_name(log, message, found, line);
	return true;
}

static void init_take(struct nccl_log *log, const struct message *message,
		      const struct init_line *line)
{
	struct place *thread = thread_of(log, message);
	struct place *address = line->address;
	struct message from = *message;
	struct nccl_member *member;

	from.dev = line->dev;
	if (!line->start && fits(address->member, line->rank)) {
		claim_loose(log, thread, line->id);
		member = address->member;
	} else if (!line->start && thread->in_init && fits(thread->member, line->rank)) {
		claim_loose(log, thread, line->id);
		member = thread->member;
	} else if (!line->id[0])
		member = member_guess(log, &from, line->rank);
	else
		member = member_new(log, &from, comm_named(log, line->id), line->rank, line->dev);
	member->rank = line->rank;
	member->dev = line->dev;
	member->bus = line->bus;
	member->state = line->start ? NCCL_STATE_STARTED : NCCL_STATE_COMPLETE;
	member->ready = line->start ? 0 : log->lines;
	log->comms[member->comm].nranks = line->nranks;
	address->member = member;
	member_take(log, &from, member, line->start);
}

void nccl_message_init(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	struct init_line line;

	if (init_parse(log, message, found, &line))
		init_take(log, message, &line);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Without an Init line the rank is that of the prefix or the caller. */
static struct nccl_member *call_member(struct nccl_log *log, const struct message *message,
				       struct place *place, int nranks)
{
	struct nccl_comm *comm;

	if (!place->member) {
		place->member = member_guess(log, message, message->hint);
		comm = &log->comms[place->member->comm];
		comm->nranks = comm->nranks ? comm->nranks : nranks;
	}
	return place->member;
}

/* The kind of a name, -1: a send, a receive, or none of these. */
static int kind_of(const struct found *found)
{
	struct span name = found_span(found, FIELD_name);

	for (int kind = 0; kind < CALL_SEND; kind++)
		if (strncasecmp(name.at, call_kind_name((enum call_kind)kind), name.len) == 0 &&
		    strlen(call_kind_name((enum call_kind)kind)) == name.len)
			return kind;
	return -1;
}

const struct nccl_call *nccl_member_call(const struct nccl_member *member, int64_t number)
{
	const struct nccl_call *call = member->calls ? &member->calls[number % NCCL_CALLS] : NULL;

	return call && number > 0 && call->number == number ? call : NULL;
}

/* Calls of a group have the opCount of its first one: then their order tells the number. */
static void add_call(struct nccl_log *log, struct nccl_member *member, const struct found *found,
		     int64_t op_count)
{
	struct nccl_call call = { .root = -1 };
	int64_t dtype = found_number(found, FIELD_dtype, 10, DT_COUNT);
	int64_t op = found_number(found, FIELD_op, 10, 0);
	int64_t root = found_number(found, FIELD_root, 10, -1);
	int kind = kind_of(found);
	bool counted = op_count >= 0;

	if (kind < 0 || dtype >= DT_COUNT || op > 255 || (member->counted && !counted))
		return; /* or the same call, said twice */
	call.count = (uint64_t)found_number(found, FIELD_count, 10, 0);
	call.root = root >= 0 && root < NCCL_LOG_RANKS ? (int)root : -1;
	call.kind = (uint8_t)kind;
	call.dtype = (uint8_t)dtype;
	call.op = (uint8_t)op;
	if (!member->calls || (counted && !member->counted)) {
		free(member->calls);
		member->calls = must(calloc(NCCL_CALLS, sizeof(*member->calls)));
		nccl_comm_hold(log, &log->comms[member->comm], NCCL_CALLS * sizeof(*member->calls));
		member->counted = counted;
		member->first = counted ? op_count + 1 : 1;
		member->last = member->first - 1;
		member->lines = 0;
	}
	member->grouped |= counted && member->lines > 0 && op_count + 1 == member->last;
	call.number = counted && !member->grouped ? op_count + 1 : member->last + 1;
	if (call.number <= 0 || call.number > INT64_MAX / 2)
		return;
	member->last = call.number;
	member->lines++;
	member->calls[call.number % NCCL_CALLS] = call;
}

void nccl_message_call(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	struct message from = *message;
	struct nccl_member *member;
	int64_t number = found_number(found, FIELD_number, 16, -1);
	int64_t nranks = found_number(found, FIELD_nranks, 10, 0);

	if (nranks < 1 || nranks > NCCL_LOG_RANKS)
		return;
	member =
		call_member(log, message, comm_place(log, message, found, FIELD_comm), (int)nranks);
	from.dev = member->dev;
	member_take(log, &from, member, false);
	add_call(log, member, found, number < INT64_MAX / 4 ? number : -1);
}

/* A call of NCCL_DEBUG=TRACE and subsystem CALL. */
void nccl_message_api(struct nccl_log *log, const struct message *message,
		      const struct found *found)
{
	struct nccl_member *member = comm_place(log, message, found, FIELD_comm)->member;

	if (member)
		add_call(log, member, found, -1);
}
