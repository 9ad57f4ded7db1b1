/* nccl_log_rings.c: the order of ranks on each channel, from rank 0's lines and everybody's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

/* One channel, as far as it is known. */
struct channel {
	const struct raw_order *order; /* NULL: none */
	const int *listed;
	const struct raw_edge *edges; /* by rank */
	int n_edges;
};

static const struct raw_edge *edge_of(const struct channel *channel, int rank)
{
	int low = 0, high = channel->n_edges;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (channel->edges[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < channel->n_edges && channel->edges[low].rank == rank ? &channel->edges[low]
									  : NULL;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/* 1 when all are different, 0 when not, -ENOMEM. */
static int distinct(const int *ranks, int n)
{
	int *copy = malloc((size_t)n * sizeof(*copy));
	int same = 0;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, ranks, (size_t)n * sizeof(*copy));
	qsort(copy, (size_t)n, sizeof(*copy), by_number);
	for (int i = 1; i < n; i++)
		same += copy[i] == copy[i - 1];
	free(copy);
	return same == 0;
}

static bool contradicts(const struct channel *channel, const struct nccl_ring *ring)
{
	for (int i = 0; i < ring->n; i++) {
		const struct raw_edge *edge = edge_of(channel, ring->order[i]);
		bool last = i == ring->n - 1;

		if (!edge || (last && !ring->closed))
			continue;
		if (edge->next != ring->order[last ? 0 : i + 1])
			return true;
		if ((i > 0 || ring->closed) &&
		    edge->prev != ring->order[i > 0 ? i - 1 : ring->n - 1])
			return true;
	}
	return false;
}

/* Rank 0's line as far as it goes, then from successor to successor. */
static int build(const struct channel *channel, int nranks, struct nccl_ring *ring)
{
	int listed = channel->order ? channel->order->n : 0, room = listed + channel->n_edges + 1;
	const struct raw_edge *edge;
	bool loops = false;
	int rc;

	ring->order = malloc((size_t)room * sizeof(*ring->order));
	if (!ring->order)
		return -ENOMEM;
	if (listed)
		memcpy(ring->order, channel->listed, (size_t)listed * sizeof(*ring->order));
	else
		ring->order[0] = channel->edges[0].rank;
	ring->n = listed ? listed : 1;
	while (!loops && (edge = edge_of(channel, ring->order[ring->n - 1])) != NULL) {
		loops = edge->next == ring->order[0];
		if (!loops && ring->n < room && (nranks == 0 || ring->n < nranks))
			ring->order[ring->n++] = edge->next;
		else
			break;
	}
	/* NCCL ends with a warning rather than print a ring that does not loop. */
	loops = loops || (channel->order && !channel->order->cut && ring->n == listed);
	rc = distinct(ring->order, ring->n);
	if (rc < 0)
		return rc;
	ring->closed = loops && rc && (nranks == 0 || ring->n == nranks);
	ring->differs = contradicts(channel, ring);
	return 0;
}

static int add_ring(struct nccl_comm *comm, int number, int index, const struct channel *channel)
{
	struct nccl_ring *room = nccl_array_room(comm->rings, comm->n_rings, sizeof(*comm->rings));

	if (!room)
		return -ENOMEM;
	comm->rings = room;
	comm->rings[comm->n_rings] = (struct nccl_ring){ .comm = number, .channel = index };
	return build(channel, comm->nranks, &comm->rings[comm->n_rings++]);
}

int nccl_log_join_rings(struct nccl_log *log)
{
	const struct nccl_log_raw *raw = log->raw;
	int order = 0, edge = 0, rc = 0;

	for (int c = 0; c < log->n_comms; c++) {
		for (int i = 0; i < NCCL_LOG_CHANNELS && rc == 0; i++) {
			struct channel channel = { .edges = raw->n_edges ? raw->edges + edge
									 : NULL };

			/* The longest line of several comes first. */
			for (; order < raw->n_orders && raw->orders[order].comm == c &&
			       raw->orders[order].channel == i;
			     order++)
				if (!channel.order)
					channel.order = &raw->orders[order];
			if (channel.order)
				channel.listed = raw->pool + channel.order->first;
			for (; edge < raw->n_edges && raw->edges[edge].comm == c &&
			       raw->edges[edge].channel == i;
			     edge++)
				channel.n_edges++;
			if (channel.order || channel.n_edges)
				rc = add_ring(&log->comms[c], c, i, &channel);
		}
	}
	return rc;
}

int nccl_comm_member_index(const struct nccl_comm *comm, int rank)
{
	int low = 0, high = comm->n_members;

	/* The first one beyond this rank: the one before it is the last of this rank. */
	while (low < high) {
		int middle = low + (high - low) / 2;

		if (comm->members[middle]->rank <= rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && comm->members[low - 1]->rank == rank ? low - 1 : -1;
}

const struct nccl_member *nccl_comm_member(const struct nccl_comm *comm, int rank)
{
	int index = nccl_comm_member_index(comm, rank);

	return index < 0 ? NULL : comm->members[index];
}

static int link_before(const struct nccl_link *link, int channel, int from, int to)
{
	if (link->channel != channel)
		return link->channel < channel;
	if (link->from != from)
		return link->from < from;
	return link->to < to;
}

const char *nccl_comm_transport(const struct nccl_comm *comm, int channel, int from, int to)
{
	int low = 0, high = comm->n_links;
	const struct nccl_link *link;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (link_before(&comm->links[middle], channel, from, to))
			low = middle + 1;
		else
			high = middle;
	}
	link = low < comm->n_links ? &comm->links[low] : NULL;
	if (!link || link->channel != channel || link->from != from || link->to != to)
		return NULL;
	return link->transport;
}
