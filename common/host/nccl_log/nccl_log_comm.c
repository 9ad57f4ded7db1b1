/* nccl_log_comm.c: the communicator and rank of a line; initialisation, calls. */

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

static struct place *thread_of(struct nccl_log *log, const struct message *message)
{
	return nccl_place(log, message->host, message->pid, PLACE_THREAD, (uint64_t)message->tid);
}

static struct place *device_of(struct nccl_log *log, const struct message *message, int dev)
{
	return nccl_place(log, message->host, message->pid, PLACE_DEVICE, (uint64_t)dev);
}

/* The thread and the device now work on this member. */
static void member_take(struct nccl_log *log, const struct message *message,
			struct nccl_member *member, bool in_init)
{
	struct place *thread = thread_of(log, message);
	struct place *device = device_of(log, message, member->dev);

	thread->member = member;
	thread->in_init = in_init;
	device->member = member;
	if (!device->first)
		device->first = member;
	if (member->rank == 0)
		nccl_place(log, message->host, message->pid, PLACE_PROCESS, 0)->member = member;
}

/* A communicator without an id: of the same device the n-th one. */
static struct nccl_member *member_guess(struct nccl_log *log, const struct message *message,
					int rank)
{
	char id[32];

	snprintf(id, sizeof(id), "guessed %d", device_of(log, message, message->dev)->number++);
	return member_new(log, message, comm_named(log, id), rank, message->dev);
}

static bool fits(const struct nccl_member *member, int rank)
{
	return member && (rank < 0 || member->rank < 0 || member->rank == rank);
}

struct nccl_member *nccl_log_member(struct nccl_log *log, const struct message *message, int rank)
{
	const struct place *thread = thread_of(log, message);
	const struct place *device = device_of(log, message, message->dev);
	struct nccl_member *const likely[] = { thread->in_init ? thread->member : NULL,
					       device->member, thread->member, device->first };

	for (size_t i = 0; i < sizeof(likely) / sizeof(likely[0]); i++) {
		if (!fits(likely[i], rank))
			continue;
		if (likely[i]->rank < 0)
			likely[i]->rank = rank;
		return likely[i];
	}
	log->unplaced++;
	return NULL;
}

struct nccl_comm *nccl_log_comm_of(struct nccl_log *log, const struct message *message, int rank)
{
	const struct nccl_member *member = nccl_log_member(log, message, rank);

	return member ? &log->comms[member->comm] : NULL;
}

/* ---- initialisation ----------------------------------------------------------------------- */

struct init_line {
	uint64_t address, bus;
	char id[96];
	int rank, nranks, dev;
	bool start;
};

/* "... comm 0x.. rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 60 commId 0x.. - Init START" and its
 * kin: split, without nvmlDev, without commId. */
static bool init_parse(struct nccl_log *log, const struct message *message, struct init_line *line)
{
	const char *at = strstr(message->text, "comm 0x"), *p;
	const struct nccl_member *member;
	uint64_t parent, hash;
	int count, color;

	if (!at ||
	    sscanf(at, "comm %lx rank %d nranks %d cudaDev %d ", &line->address, &line->rank,
		   &line->nranks, &line->dev) < 4 ||
	    line->rank < 0 || line->nranks > NCCL_LOG_RANKS || line->rank >= line->nranks ||
	    line->dev < 0)
		return false;
	if ((p = strstr(at, "busId ")) != NULL)
		sscanf(p, "busId %lx", &line->bus);
	if ((p = strstr(at, "commId ")) != NULL && sscanf(p, "commId %lx", &hash) == 1) {
		snprintf(line->id, sizeof(line->id), "0x%lx", hash);
		return true;
	}
	p = strstr(at, "parent ");
	if (!p || sscanf(p, "parent %lx splitCount %d color %d", &parent, &count, &color) < 3)
		return true;
	member = nccl_place(log, message->host, message->pid, PLACE_ADDRESS, parent)->member;
	if (member)
		snprintf(line->id, sizeof(line->id), "split %d of communicator %d, color %d", count,
			 member->comm, color);
	return true;
}

static void init_take(struct nccl_log *log, const struct message *message,
		      const struct init_line *line)
{
	struct place *thread = thread_of(log, message);
	struct place *address =
		nccl_place(log, message->host, message->pid, PLACE_ADDRESS, line->address);
	struct message from = *message;
	struct nccl_member *member;

	from.dev = line->dev;
	if (!line->start && fits(address->member, line->rank))
		member = address->member;
	else if (!line->start && thread->in_init && fits(thread->member, line->rank))
		member = thread->member;
	else if (!line->id[0])
		member = member_guess(log, &from, line->rank);
	else
		member = member_new(log, &from, comm_named(log, line->id), line->rank, line->dev);
	member->rank = line->rank;
	member->dev = line->dev;
	member->bus = line->bus;
	member->state = line->start ? NCCL_STATE_STARTED : NCCL_STATE_COMPLETE;
	log->comms[member->comm].nranks = line->nranks;
	address->member = member;
	member_take(log, &from, member, line->start);
}

void nccl_message_init(struct nccl_log *log, const struct message *message)
{
	struct init_line line = { .start = strstr(message->text, "- Init START") != NULL };

	if (init_parse(log, message, &line))
		init_take(log, message, &line);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Without an Init line the rank is that of the prefix or the caller. */
static struct nccl_member *call_member(struct nccl_log *log, const struct message *message,
				       uint64_t address, int nranks)
{
	struct place *place = nccl_place(log, message->host, message->pid, PLACE_ADDRESS, address);
	struct nccl_comm *comm;

	if (!place->member) {
		place->member = member_guess(log, message, message->hint);
		comm = &log->comms[place->member->comm];
		comm->nranks = comm->nranks ? comm->nranks : nranks;
	}
	return place->member;
}

void nccl_message_call(struct nccl_log *log, const struct message *message)
{
	const char *at = strstr(message->text, ": opCount ");
	struct message from = *message;
	struct nccl_member *member;
	uint64_t address;
	int nranks;

	if (sscanf(at,
		   ": opCount %*x sendbuff %*s recvbuff %*s count %*u datatype %*d op %*d "
		   "root %*d comm %lx [nranks=%d]",
		   &address, &nranks) < 2 ||
	    nranks < 1 || nranks > NCCL_LOG_RANKS || at == message->text)
		return;
	member = call_member(log, message, address, nranks);
	from.dev = member->dev;
	member_take(log, &from, member, false);
}
