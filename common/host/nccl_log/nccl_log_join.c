/* nccl_log_join.c: sorts the facts of the lines, each once, and makes rings of them. */

#include "nccl_log/nccl_log_raw.h"

/* ---- orders ------------------------------------------------------------------------------- */

static int by_ints(const int *a, const int *b, int n)
{
	for (; n > 1 && *a == *b; n--, a++, b++)
		;
	return BY(*a, *b);
}

/* Edges and links: channel, sender, receiver. */
static int by_step(const void *a, const void *b)
{
	return by_ints(a, b, 3);
}

static int by_channel_and_rank(const void *a, const void *b)
{
	return by_ints(a, b, 2);
}

static int by_link(const void *a, const void *b)
{
	const struct nccl_link *x = a, *y = b;

	return by_ints(a, b, 4)
		       ?: BY(x->receiving, y->receiving) ?: strcmp(x->transport, y->transport);
}

static int by_gpu(const void *a, const void *b)
{
	const struct nccl_path *x = a, *y = b;

	return strcmp(x->host, y->host) ?: BY(x->gpu, y->gpu);
}

static int by_path(const void *a, const void *b)
{
	const struct nccl_path *x = a, *y = b;

	return by_gpu(a, b) ?: strcmp(x->kind, y->kind) ?: BY(x->to, y->to) ?: strcmp(x->type, y->type) ?: BY(x->bw, y->bw);
}

static int by_setting(const void *a, const void *b)
{
	return nccl_by_texts(a, b, 2);
}

int nccl_by_number(const void *a, const void *b)
{
	return by_ints(a, b, 1);
}

static int by_rank(const void *a, const void *b)
{
	const struct nccl_member *const *x = a, *const *y = b;

	return BY((*x)->rank, (*y)->rank);
}

int nccl_by_texts(const void *a, const void *b, int n)
{
	const char *const *x = a, *const *y = b;
	int d = 0;

	for (int i = 0; i < n && d == 0; i++)
		d = strcmp(x[i], y[i]);
	return d;
}

void nccl_sort(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(array, (size_t)n, size, compare);
}

/* Sort and keep each once. Returns how many are left. */
static int sort_unique(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
	char *items = array;
	int kept = 0;

	nccl_sort(array, n, size, compare);
	for (int i = 0; i < n; i++)
		if (kept == 0 ||
		    compare(items + (size_t)(kept - 1) * size, items + (size_t)i * size) != 0)
			memmove(items + (size_t)kept++ * size, items + (size_t)i * size, size);
	return kept;
}

#define SORT_UNIQUE(list, n, compare) ((n) = sort_unique((list), (n), sizeof(*(list)), (compare)))

#define HELD_BYTES (80 << 20) /* of rings, links and calls */
#define COMPACT_AT 512

static void forget(struct nccl_log *log, struct nccl_comm *comm)
{
	for (int m = 0; m < comm->n_members; m++) {
		free(comm->members[m]->calls);
		comm->members[m]->calls = NULL;
	}
	free(comm->edges);
	free(comm->links);
	comm->edges = NULL;
	comm->links = NULL;
	comm->n_edges = comm->n_links = 0;
	log->raw->held -= comm->held;
	comm->held = 0;
	comm->forgotten = true;
}

/* The communicator of which no line has come for the longest time, but for `but`. NULL: none holds anything. */
static struct nccl_comm *oldest(const struct nccl_log *log, const struct nccl_comm *but)
{
	struct nccl_comm *found = NULL;

	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		if (comm != but && comm->held > 0 && (!found || comm->used < found->used))
			found = comm;
	}
	return found;
}

void nccl_comm_hold(struct nccl_log *log, struct nccl_comm *comm, size_t bytes)
{
	int before = comm->n_edges + comm->n_links, after;
	struct nccl_comm *old;

	comm->used = log->lines;
	comm->forgotten = false;
	if (before >= comm->compact_at && before >= COMPACT_AT) {
		SORT_UNIQUE(comm->links, comm->n_links, by_link);
		SORT_UNIQUE(comm->edges, comm->n_edges, by_step);
		after = comm->n_edges + comm->n_links;
		bytes += (size_t)(2 * after > comm->compact_at ? 2 * after - comm->compact_at : 0) *
			 sizeof(*comm->links);
		comm->compact_at = 2 * after;
	}
	comm->held += bytes;
	log->raw->held += bytes;
	while (log->raw->held > HELD_BYTES && (old = oldest(log, comm)))
		forget(log, old);
}

/* The first of sorted items that is equal to `key` in this order, NULL: none. */
static const void *find(const void *key, const void *array, int n, size_t size,
			int (*compare)(const void *, const void *))
{
	const char *items = array;
	size_t low = 0, high = (size_t)n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare(items + middle * size, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < (size_t)n && compare(items + low * size, key) == 0 ? items + low * size : NULL;
}

/* ---- rings -------------------------------------------------------------------------------- */

/* From successor to successor of n sorted edges of a channel; each rank's first one counts. */
static struct nccl_ring ring_of(const struct nccl_edge *edges, int n, int nranks)
{
	struct nccl_ring ring = { .channel = edges->channel,
				  .order = must(malloc(((size_t)n + 1) * sizeof(int))) };
	struct nccl_edge key = *edges;
	const struct nccl_edge *edge = NULL;
	int room = nranks && nranks < n + 1 ? nranks : n + 1;

	for (int i = 1; i < n; i++)
		ring.differs |= edges[i].rank == edges[i - 1].rank;
	for (key.rank = edges->rank; ring.n < room; key.rank = edge->next) {
		ring.order[ring.n++] = key.rank;
		edge = find(&key, edges, n, sizeof(*edges), by_channel_and_rank);
		if (!edge || edge->next == ring.order[0])
			break;
	}
	/* where all ranks are there the last one's successor can only be the first */
	ring.closed = edge ? edge->next == ring.order[0] && (!nranks || ring.n == nranks)
			   : nranks > 1 && ring.n == nranks;
	return ring;
}

static void join_rings(struct nccl_comm *comm)
{
	int end;

	SORT_UNIQUE(comm->edges, comm->n_edges, by_step);
	for (int i = 0; i < comm->n_edges; i = end) {
		for (end = i + 1;
		     end < comm->n_edges && comm->edges[end].channel == comm->edges[i].channel;
		     end++)
			;
		raw_add(comm->rings, comm->n_rings,
			ring_of(comm->edges + i, end - i, comm->nranks));
	}
}

/* The ranks of a warning's processes and devices, which later lines may have told. */
static void join_origins(struct nccl_log *log, struct nccl_warning *warning)
{
	for (int i = 0; i < warning->n_origins; i++) {
		struct nccl_origin *origin = &warning->origins[i];
		const struct place *process =
			nccl_place(log, origin->host, origin->pid, PLACE_PROCESS, 0);
		const struct place *device = nccl_place(log, origin->host, origin->pid,
							PLACE_DEVICE, (uint64_t)origin->dev);
		const struct nccl_member *first = device->first	    ? device->first
						  : process->shared ? NULL
								    : process->first;

		if (origin->rank < 0 && first)
			origin->rank = first->rank;
		if (origin->rank >= 0)
			raw_add(warning->ranks, warning->n_ranks, origin->rank);
	}
	SORT_UNIQUE(warning->ranks, warning->n_ranks, nccl_by_number);
}

/* The rank of the process and device of a warning, which later lines may have told, and whether its init went on. */
static void join_warning(struct nccl_log *log, struct nccl_warning *warning)
{
	const struct place *device, *process;
	const struct nccl_member *first, *newest;

	join_origins(log, warning);
	if (warning->dev < 0)
		return;
	device = nccl_place(log, warning->host, warning->pid, PLACE_DEVICE, (uint64_t)warning->dev);
	process = nccl_place(log, warning->host, warning->pid, PLACE_PROCESS, 0);
	first = device->first;
	newest = device->member;
	/* a thread of NCCL's own may say device 0 */
	if (!first && process->first && !process->shared) {
		first = newest = process->first;
		warning->dev = first->dev;
	}
	if (first && first->rank >= 0)
		warning->rank = first->rank;
	warning->in_init = newest && newest->state == NCCL_STATE_STARTED;
	warning->overcome = first && first->ready > warning->line && !warning->failed;
}

/* Two ranks form one ring, whichever of its lines are here. */
static void join_pair(struct nccl_comm *comm)
{
	for (int i = 0; comm->nranks == 2 && i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];

		if (link->connection != 0 || link->from + link->to != 1)
			continue;
		raw_add(comm->edges, comm->n_edges, (struct nccl_edge){ link->channel, 0, 1 });
		raw_add(comm->edges, comm->n_edges, (struct nccl_edge){ link->channel, 1, 0 });
	}
}

/* Processes that wrote lines, and are of no communicator by any of them. */
static void count_strangers(struct nccl_log *log)
{
	log->strangers = log->raw->processes;
	for (int i = 0; i < log->n_comms; i++)
		for (int m = 0; m < log->comms[i].n_members; m++) {
			const struct nccl_member *member = log->comms[i].members[m];

			log->strangers -=
				nccl_place(log, member->host, member->pid, PLACE_PROCESS, 0)
					->number++ == 0;
		}
}

void nccl_log_join(struct nccl_log *log)
{
	nccl_log_settle(log);
	count_strangers(log);
	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		nccl_sort(comm->members, comm->n_members, sizeof(struct nccl_member *), by_rank);
		SORT_UNIQUE(comm->links, comm->n_links, by_link);
		join_pair(comm);
		join_rings(comm);
	}
	nccl_torch_join(log);
	nccl_ras_join(log);
	nccl_node_join(log);
	SORT_UNIQUE(log->paths, log->n_paths, by_path);
	SORT_UNIQUE(log->settings, log->n_settings, by_setting);
	for (int i = 0; i < log->n_warnings; i++)
		join_warning(log, &log->warnings[i]);
	for (int i = 0; i < log->n_comms; i++)
		log->comms[i].moved = log->comms[i].forgotten;
	nccl_log_drop(log);
}

/* ---- looking up --------------------------------------------------------------------------- */

const struct nccl_member *nccl_comm_member(const struct nccl_comm *comm, int rank)
{
	const struct nccl_member key = { .rank = rank }, *at = &key;
	struct nccl_member *const *found =
		find(&at, comm->members, comm->n_members, sizeof(struct nccl_member *), by_rank);

	return found ? *found : NULL;
}

const char *nccl_comm_host(const struct nccl_comm *comm, int rank)
{
	const struct nccl_member *member = nccl_comm_member(comm, rank);

	return member ? member->host : NULL;
}

const char *nccl_comm_transport(const struct nccl_comm *comm, int channel, int from, int to)
{
	const struct nccl_link key = { .channel = channel, .from = from, .to = to }, *link;

	link = find(&key, comm->links, comm->n_links, sizeof(*link), by_step);
	return link ? link->transport : NULL;
}

const struct nccl_path *nccl_next_path(const struct nccl_log *log, const struct nccl_path *path,
				       const struct nccl_member *member)
{
	const struct nccl_path key = { .host = member->host, .gpu = member->bus };

	path = path ? path + 1 : find(&key, log->paths, log->n_paths, sizeof(key), by_gpu);
	return path && path < log->paths + log->n_paths && by_gpu(path, &key) == 0 ? path : NULL;
}
