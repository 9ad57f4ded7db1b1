/* nccl_log_comm.c: which communicator and rank a line is about; initialisation, calls, tuning. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

struct key {
	const char *id;
	int comm;
};

static int key_compare(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	return x->id == y->id ? 0 : x->id < y->id ? -1 : 1;
}

int nccl_log_comm(struct nccl_log *log, const char *id, bool guessed)
{
	struct key *key = malloc(sizeof(*key)), **found = NULL;

	if (key) {
		*key = (struct key){ .id = nccl_log_text(log, id, strlen(id)), .comm = -1 };
		found = tsearch(key, &log->raw->keys, key_compare);
	}
	if (!found)
		log->raw->no_memory = true;
	if (!found || *found != key)
		free(key);
	if (!found)
		return -1;
	if ((*found)->comm < 0 && raw_add(log, log->comms, log->n_comms,
					  (struct nccl_comm){ .id = (*found)->id,
							      .guessed = guessed,
							      .pxn = -1,
							      .gdr = -1,
							      .nvls = -1,
							      .collnet = -1,
							      .coll_channels = -1,
							      .collnet_channels = -1,
							      .nvls_channels = -1,
							      .p2p_channels = -1,
							      .p2p_per_peer = -1 }))
		(*found)->comm = log->n_comms - 1;
	return (*found)->comm;
}

static int member_new(struct nccl_log *log, const struct message *message, int comm, int rank,
		      int dev)
{
	int number = log->n_members;

	if (!raw_add(log, log->members, log->n_members,
		     (struct nccl_member){ .comm = comm,
					   .rank = rank,
					   .dev = dev,
					   .pid = message->pid,
					   .file = log->raw->file,
					   .host = message->host }))
		return -1;
	return number;
}

/* The thread and the device now work on this member. */
static void member_take(struct nccl_log *log, const struct message *message, int number,
			bool in_init)
{
	const struct nccl_member *member = &log->members[number];
	struct place *thread =
		nccl_place(log, message->host, message->pid, PLACE_THREAD, (uint64_t)message->tid);
	struct place *device = nccl_place(log, message->host, message->pid, PLACE_DEVICE,
					  (uint64_t)(int64_t)member->dev);
	struct place *process = nccl_place(log, message->host, message->pid, PLACE_PROCESS, 0);

	if (!thread || !device || !process)
		return;
	thread->member = number;
	thread->in_init = in_init;
	if (device->first < 0)
		device->first = number;
	device->member = number;
	if (member->rank == 0)
		process->tuner = number;
}

/* A communicator without an id: of the same device the n-th one. */
static int member_guess(struct nccl_log *log, const struct message *message, int rank)
{
	struct place *device = nccl_place(log, message->host, message->pid, PLACE_DEVICE,
					  (uint64_t)(int64_t)message->dev);
	char id[32];
	int comm, number = -1;

	if (!device)
		return -1;
	snprintf(id, sizeof(id), "guessed %d", device->guesses++);
	comm = nccl_log_comm(log, id, true);
	if (comm >= 0)
		number = member_new(log, message, comm, rank, message->dev);
	return number;
}

static bool fits(const struct nccl_log *log, int number, int rank)
{
	return number >= 0 &&
	       (rank < 0 || log->members[number].rank < 0 || log->members[number].rank == rank);
}

int nccl_log_builder(struct nccl_log *log, const struct message *message, int rank)
{
	struct place *thread = nccl_place_find(log, message->host, message->pid, PLACE_THREAD,
					       (uint64_t)message->tid);
	int number = -1;

	if (thread && thread->in_init) {
		if (fits(log, thread->member, rank))
			number = thread->member;
	} else {
		number = member_guess(log, message, rank);
		if (number >= 0)
			member_take(log, message, number, true);
	}
	if (number < 0)
		log->unplaced++;
	return number;
}

int nccl_log_member(struct nccl_log *log, const struct message *message, int rank)
{
	struct place *thread = nccl_place_find(log, message->host, message->pid, PLACE_THREAD,
					       (uint64_t)message->tid);
	struct place *device = nccl_place_find(log, message->host, message->pid, PLACE_DEVICE,
					       (uint64_t)(int64_t)message->dev);
	int number = -1;

	if (thread && thread->in_init && fits(log, thread->member, rank))
		number = thread->member;
	else if (device && fits(log, device->member, rank))
		number = device->member;
	else if (thread && fits(log, thread->member, rank))
		number = thread->member;
	else if (device && fits(log, device->first, rank))
		number = device->first;
	if (number < 0)
		log->unplaced++;
	else if (log->members[number].rank < 0)
		log->members[number].rank = rank;
	return number;
}

/* ---- initialisation ----------------------------------------------------------------------- */

struct init_line {
	uint64_t address, bus, parent;
	char id[96];
	int rank, nranks, dev;
	bool start;
};

/* "... comm 0x.. rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 60 commId 0x.. - Init START" and its
 * kin: split, without nvmlDev, without commId. */
static bool init_parse(struct nccl_log *log, const struct message *message, struct init_line *line)
{
	const char *at = strstr(message->text, "comm 0x"), *p, *q;
	const struct place *parent;
	int count, color;
	uint64_t hash;

	p = at ? nccl_match(at, "comm %x rank %d nranks %d cudaDev %d ", &line->address,
			    &line->rank, &line->nranks, &line->dev)
	       : NULL;
	if (!p || line->rank < 0 || line->nranks > NCCL_LOG_RANKS || line->rank >= line->nranks ||
	    line->dev < 0)
		return false;
	if ((q = strstr(p, "busId ")) != NULL)
		nccl_match(q, "busId %x", &line->bus);
	if ((q = strstr(p, "commId ")) != NULL && nccl_match(q, "commId %x", &hash)) {
		snprintf(line->id, sizeof(line->id), "0x%llx", (unsigned long long)hash);
		return true;
	}
	q = strstr(p, "parent ");
	if (!q || !nccl_match(q, "parent %x splitCount %d color %d", &line->parent, &count, &color))
		return true;
	parent = nccl_place_find(log, message->host, message->pid, PLACE_ADDRESS, line->parent);
	if (parent && parent->member >= 0)
		snprintf(line->id, sizeof(line->id), "split %d of communicator %d, color %d", count,
			 log->members[parent->member].comm, color);
	return true;
}

static void init_take(struct nccl_log *log, const struct message *message,
		      const struct init_line *line)
{
	struct place *thread =
		nccl_place(log, message->host, message->pid, PLACE_THREAD, (uint64_t)message->tid);
	struct place *address =
		nccl_place(log, message->host, message->pid, PLACE_ADDRESS, line->address);
	struct message from = *message;
	struct nccl_member *member;
	int number = -1, comm;

	if (!thread || !address)
		return;
	from.dev = line->dev;
	if (!line->start && address->member >= 0 && fits(log, address->member, line->rank))
		number = address->member;
	else if (!line->start && thread->in_init && fits(log, thread->member, line->rank))
		number = thread->member;
	else if (!line->id[0])
		number = member_guess(log, &from, line->rank);
	else if ((comm = nccl_log_comm(log, line->id, false)) >= 0)
		number = member_new(log, &from, comm, line->rank, line->dev);
	if (number < 0)
		return;
	member = &log->members[number];
	member->rank = line->rank;
	member->dev = line->dev;
	member->bus = line->bus;
	member->address = line->address;
	member->state = line->start ? NCCL_STATE_STARTED : NCCL_STATE_COMPLETE;
	log->comms[member->comm].nranks = line->nranks;
	address->member = number;
	member_take(log, &from, number, line->start);
}

bool nccl_message_init(struct nccl_log *log, const struct message *message)
{
	struct init_line line = { 0 };

	line.start = strstr(message->text, "- Init START") != NULL;
	if (!line.start && !strstr(message->text, "- Init COMPLETE"))
		return false;
	if (init_parse(log, message, &line))
		init_take(log, message, &line);
	return true;
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Without an Init line the rank is what the prefix or the caller says. */
static int call_member(struct nccl_log *log, const struct message *message, uint64_t address,
		       int nranks)
{
	struct place *place = nccl_place(log, message->host, message->pid, PLACE_ADDRESS, address);
	struct nccl_comm *comm;

	if (!place)
		return -1;
	if (place->member < 0) {
		place->member = member_guess(log, message, message->hint);
		if (place->member < 0)
			return -1;
		log->members[place->member].address = address;
		comm = &log->comms[log->members[place->member].comm];
		if (comm->nranks == 0)
			comm->nranks = nranks;
	}
	return place->member;
}

static bool is_pair(const struct nccl_call *call)
{
	return strcmp(call->function, "Send") == 0 || strcmp(call->function, "Recv") == 0;
}

static void add_history(struct nccl_member *member, struct nccl_call *call)
{
	const uint64_t said[] = { (uintptr_t)call->function, call->count, (uint32_t)call->dtype,
				  (uint32_t)call->op, (uint32_t)call->root };

	call->history = member->history;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) /* FNV-1a, by words */
		member->history = (member->history ^ said[i]) * 0x100000001b3ull;
	member->collectives++;
}

/* Of Sends and Recvs it is kept only how many there are. */
static void call_take(struct nccl_log *log, int number, struct nccl_call *call)
{
	struct nccl_member *member = &log->members[number];

	if (member->made++ == 0)
		member->begins = call->op_count;
	log->calls++;
	if (is_pair(call))
		return;
	add_history(member, call);
	if (member->n_calls == log->keep) {
		member->n_calls /= 2;
		memmove(member->calls, member->calls + log->keep - member->n_calls,
			(size_t)member->n_calls * sizeof(*call));
	}
	raw_add(log, member->calls, member->n_calls, *call);
}

bool nccl_message_call(struct nccl_log *log, const struct message *message)
{
	const char *at = strstr(message->text, ": opCount "), *p;
	struct nccl_call call = { .file = log->raw->file, .line = log->raw->file_line };
	uint64_t unused, address;
	struct message from = *message;
	int64_t count;
	int nranks, member;

	if (!at)
		return false;
	p = nccl_match(at,
		       ": opCount %x sendbuff %x recvbuff %x count %l datatype %d op %d root %d "
		       "comm %x [nranks=%d]",
		       &call.op_count, &unused, &unused, &count, &call.dtype, &call.op, &call.root,
		       &address, &nranks);
	if (!p || nranks < 1 || nranks > NCCL_LOG_RANKS || at == message->text)
		return true;
	call.count = (uint64_t)count;
	call.function = nccl_log_text(log, message->text, (size_t)(at - message->text));
	member = call_member(log, message, address, nranks);
	if (!call.function || member < 0)
		return true;
	from.dev = log->members[member].dev;
	member_take(log, &from, member, false);
	call_take(log, member, &call);
	return true;
}

/* ---- tuning ------------------------------------------------------------------------------- */

/* A collective, or one on symmetric windows, whose kernel has the protocol in its name. */
static bool tuning_parse(const char *text, struct nccl_tuning *tuning, char *function,
			 char *algorithm, char *protocol)
{
	int channels;

	if (nccl_match(text, "%w: %l Bytes -> Algo %w proto %w channel{Lo..Hi}={%d..%d}", function,
		       &tuning->bytes, algorithm, protocol, &tuning->low, &tuning->high))
		return true;
	if (!nccl_match(text, "%w [" NCCL_SYMMETRIC "]: %l Bytes -> Kernel %w nchannels %d",
			function, &tuning->bytes, protocol, &channels))
		return false;
	strcpy(algorithm, NCCL_SYMMETRIC);
	tuning->high = channels - 1;
	return channels > 0;
}

/* Rank 0 prints these after the calls of a group; NCCL names no communicator. */
bool nccl_message_tuning(struct nccl_log *log, const struct message *message)
{
	const struct place *process =
		nccl_place_find(log, message->host, message->pid, PLACE_PROCESS, 0);
	char function[64], algorithm[64], protocol[64];
	struct nccl_tuning tuning = { .count = 1 };

	if (!tuning_parse(message->text, &tuning, function, algorithm, protocol))
		return false;
	if (!process || process->tuner < 0) {
		log->unplaced++;
		return true;
	}
	tuning.comm = log->members[process->tuner].comm;
	tuning.function = nccl_log_text(log, function, strlen(function));
	tuning.algorithm = nccl_log_text(log, algorithm, strlen(algorithm));
	tuning.protocol = nccl_log_text(log, protocol, strlen(protocol));
	if (tuning.function && tuning.algorithm && tuning.protocol)
		raw_add(log, log->raw->tunings, log->raw->n_tunings, tuning);
	return true;
}
