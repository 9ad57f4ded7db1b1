/* nccl_log_judge.c: is this ring rational? The log's rings against hosts and topology. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log_raw.h"
#include "nccl_log_topo.h"

/* Faster first. */
enum transport { T_UNKNOWN, T_P2P, T_INDIRECT, T_SHM, T_NET };

/* The best transport between two ranks of a host, and who uses it. */
struct best {
	enum transport transport;
	int from, to;
};

struct judge {
	const struct nccl_log *log;
	const struct nccl_comm *comm;
	const struct nccl_topo *topo;
	struct nccl_judgement *out;
	struct best *best; /* by number of host */
	int *member_host;  /* number of each member's host */
	int hosts;         /* of this communicator */
	const struct nccl_link *gdr; /* a pair that uses GPUDirect RDMA */
	int open, differing, no_transport, no_host;
	bool no_memory;
};

static enum transport transport_of(const char *text)
{
	if (!text)
		return T_UNKNOWN;
	if (strncmp(text, "P2P/indirect", 12) == 0)
		return T_INDIRECT;
	if (strncmp(text, "P2P/", 4) == 0)
		return T_P2P;
	if (strncmp(text, "SHM/", 4) == 0)
		return T_SHM;
	return strncmp(text, "NET/", 4) == 0 ? T_NET : T_UNKNOWN;
}

const char *nccl_verdict_name(enum nccl_verdict verdict)
{
	static const char *const names[] = { [NCCL_RATIONAL] = "rational",
					     [NCCL_IRRATIONAL] = "irrational",
					     [NCCL_CANNOT_SAY] = "cannot say" };

	return names[verdict];
}

/* ---- results ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 0))) static char *text_of(struct judge *j, const char *format,
							   va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) >= 0)
		return text;
	j->no_memory = true;
	return NULL;
}

/* Equal findings of several channels are one. */
__attribute__((format(printf, 5, 6))) static void
found(struct judge *j, const struct nccl_ring *ring, int from, int to, const char *format, ...)
{
	struct nccl_judgement *out = j->out;
	struct nccl_finding *room;
	va_list args;
	char *text;

	va_start(args, format);
	text = text_of(j, format, args);
	va_end(args);
	if (!text)
		return;
	for (int i = 0; i < out->n_findings; i++) {
		if (strcmp(out->findings[i].reason, text) == 0) {
			out->findings[i].channels++;
			free(text);
			return;
		}
	}
	room = nccl_array_room(out->findings, out->n_findings, sizeof(*room));
	if (!room) {
		free(text);
		j->no_memory = true;
		return;
	}
	out->findings = room;
	room[out->n_findings++] = (struct nccl_finding){ .channel = ring->channel, .channels = 1,
							 .from = from, .to = to, .reason = text };
}

__attribute__((format(printf, 4, 5))) static void add_line(struct judge *j, char ***list, int *n,
							   const char *format, ...)
{
	va_list args;
	char *text, **room;

	va_start(args, format);
	text = text_of(j, format, args);
	va_end(args);
	for (int i = 0; i < *n && text; i++) {
		if (strcmp((*list)[i], text) == 0) {
			free(text);
			return;
		}
	}
	room = text ? nccl_array_room(*list, *n, sizeof(*room)) : NULL;
	if (!room) {
		free(text);
		j->no_memory = true;
		return;
	}
	*list = room;
	room[(*n)++] = text;
}

#define missing(j, ...) add_line((j), &(j)->out->missing, &(j)->out->n_missing, __VA_ARGS__)
#define note(j, ...)	add_line((j), &(j)->out->notes, &(j)->out->n_notes, __VA_ARGS__)

/* ---- who is where ------------------------------------------------------------------------- */

/* The number of a rank's host, -1 unknown. With one node all are where the known ones are. */
static int host_of(const struct judge *j, int rank)
{
	int member = nccl_comm_member_index(j->comm, rank);

	if (member < 0 && j->comm->nnodes == 1 && j->comm->n_members)
		member = 0;
	return member < 0 ? -1 : j->member_host[member];
}

static int host_number(const struct nccl_log *log, const char *host)
{
	int i = 0;

	while (i < log->n_hosts - 1 && log->hosts[i] != host)
		i++;
	return i;
}

static enum nccl_near near_of(const struct judge *j, int a, int b, double *bw)
{
	const struct nccl_member *x = nccl_comm_member(j->comm, a);
	const struct nccl_member *y = nccl_comm_member(j->comm, b);

	return x && y ? nccl_topo_near(j->log, j->topo, x, y, bw) : NEAR_UNKNOWN;
}

static bool survey_hosts(struct judge *j)
{
	bool *seen = calloc((size_t)j->log->n_hosts + 1, sizeof(*seen));

	j->best = calloc((size_t)j->log->n_hosts + 1, sizeof(*j->best));
	j->member_host = calloc((size_t)j->comm->n_members + 1, sizeof(*j->member_host));
	for (int m = 0; m < j->comm->n_members && seen && j->member_host; m++) {
		int host = host_number(j->log, j->comm->members[m]->host);

		j->member_host[m] = host;
		j->hosts += !seen[host];
		seen[host] = true;
	}
	free(seen);
	return seen && j->best && j->member_host;
}

static void survey_links(struct judge *j)
{
	for (int l = 0; l < j->comm->n_links; l++) {
		const struct nccl_link *link = &j->comm->links[l];
		enum transport transport = transport_of(link->transport);
		int host = host_of(j, link->from);

		if (transport == T_NET && !j->gdr && strstr(link->transport, "/GDRDMA"))
			j->gdr = link;
		if (host < 0 || host != host_of(j, link->to) || transport == T_UNKNOWN)
			continue;
		if (j->best[host].transport == T_UNKNOWN || transport < j->best[host].transport)
			j->best[host] = (struct best){ transport, link->from, link->to };
	}
}

/* ---- one ring ----------------------------------------------------------------------------- */

/* How often the ring comes to each host: once is right. */
static void judge_crossings(struct judge *j, const struct nccl_ring *ring)
{
	int *visits = calloc((size_t)j->log->n_hosts + 1, sizeof(*visits));

	if (!visits) {
		j->no_memory = true;
		return;
	}
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[(i + ring->n - 1) % ring->n], to = ring->order[i];
		int a = host_of(j, from), b = host_of(j, to);

		if (a < 0 || b < 0 || a == b)
			continue;
		if (++visits[b] == 2)
			found(j, ring, from, to,
			      "the ring leaves host %s and comes back more than once: again with "
			      "%d -> %d",
			      j->log->hosts[b], from, to);
	}
	free(visits);
}

static void judge_net(struct judge *j, const struct nccl_ring *ring, int from, int to,
		      const char *text)
{
	const char *host = j->log->hosts[host_of(j, from)];

	if (host_of(j, from) != host_of(j, to)) {
		if (j->gdr && !strstr(text, "/GDRDMA"))
			found(j, ring, from, to,
			      "%d -> %d uses %s without GPUDirect RDMA, which %d -> %d has", from,
			      to, text, j->gdr->from, j->gdr->to);
		return;
	}
	if (j->comm->nnodes > j->hosts && j->comm->n_members == j->comm->nranks)
		found(j, ring, from, to,
		      "%d -> %d uses %s inside host %s: NCCL counts %d nodes on %d host%s "
		      "(NCCL_HOSTID, or P2P and SHM refused)",
		      from, to, text, host, j->comm->nnodes, j->hosts, j->hosts == 1 ? "" : "s");
	else
		found(j, ring, from, to, "%d -> %d uses %s inside host %s", from, to, text, host);
}

/* Shared memory or a detour over a third GPU, where peers could reach each other. */
static void judge_slower(struct judge *j, const struct nccl_ring *ring, int from, int to,
			 const char *text)
{
	const struct best *best = &j->best[host_of(j, from)];
	enum nccl_near near = near_of(j, from, to, NULL);
	const char *name = nccl_near_name(near);

	if (near >= NEAR_PHB)
		note(j, "%d -> %d uses %s: their GPUs are %s apart, too far for P2P by default",
		     from, to, text, name);
	else if (near != NEAR_UNKNOWN)
		found(j, ring, from, to, "%d -> %d uses %s although their GPUs are %s apart", from,
		      to, text, name);
	else if (best->transport < transport_of(text))
		found(j, ring, from, to,
		      "%d -> %d uses %s while %d -> %d on the same host uses %s "
		      "(no topology at hand that would excuse it)",
		      from, to, text, best->from, best->to,
		      best->transport == T_P2P ? "P2P" : "a faster transport");
}

static void judge_transports(struct judge *j, const struct nccl_ring *ring)
{
	for (int i = 0; i < ring->n && ring->n > 1; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		const char *text = nccl_comm_transport(j->comm, ring->channel, from, to);
		int a = host_of(j, from), b = host_of(j, to);
		enum transport transport = transport_of(text);

		if (i == ring->n - 1 && !ring->closed)
			break;
		j->no_transport += transport == T_UNKNOWN;
		j->no_host += a < 0 || b < 0;
		if (a < 0 || b < 0)
			continue;
		if (transport == T_NET)
			judge_net(j, ring, from, to, text);
		else if ((transport == T_SHM || transport == T_INDIRECT) && a == b)
			judge_slower(j, ring, from, to, text);
	}
}

static int numa_of(const struct judge *j, int rank)
{
	const struct nccl_member *member = nccl_comm_member(j->comm, rank);

	return member ? nccl_topo_numa(j->log, j->topo, member) : -1;
}

/* A ring's changes of NUMA node on one host. */
struct numa {
	uint64_t nodes; /* those that the ring touches */
	int changes;    /* other than over NVLink */
	int from, to;   /* the last one */
};

static void count_numa(struct judge *j, const struct nccl_ring *ring, struct numa *numas)
{
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		int a = numa_of(j, from), b = numa_of(j, to), host = host_of(j, from);
		struct numa *numa = host < 0 ? NULL : &numas[host];
		enum nccl_near near;

		if (!numa || a < 0 || a > 63)
			continue;
		numa->nodes |= 1ull << a;
		if (host_of(j, to) != host || b < 0 || a == b)
			continue;
		near = near_of(j, from, to, NULL);
		if (near == NEAR_NVL || near == NEAR_NVB || near == NEAR_C2C)
			continue;
		numa->changes++;
		numa->from = from;
		numa->to = to;
	}
}

/* The fewest changes possible: NUMA nodes - 1 on the way through a host, one more where the ring
 * closes there. */
static void judge_numa(struct judge *j, const struct nccl_ring *ring)
{
	struct numa *numas = calloc((size_t)j->log->n_hosts + 1, sizeof(*numas));

	if (!numas) {
		j->no_memory = true;
		return;
	}
	count_numa(j, ring, numas);
	for (int h = 0; h < j->log->n_hosts; h++) {
		const struct numa *numa = &numas[h];
		int fewest = __builtin_popcountll(numa->nodes) - (j->hosts > 1);

		if (numa->changes > fewest && fewest > 0)
			found(j, ring, numa->from, numa->to,
			      "the ring changes NUMA node %d times on host %s, %d would do: last "
			      "with %d -> %d",
			      numa->changes, j->log->hosts[h], fewest, numa->from, numa->to);
	}
	free(numas);
}

/* ---- all rings ---------------------------------------------------------------------------- */

/* 1: all GPUs of the host are equally far from each other; 0: not; -1: unknown. */
static int uniform(const struct judge *j)
{
	const struct nccl_comm *comm = j->comm;
	enum nccl_near first = NEAR_UNKNOWN, near;
	double first_bw = 0, bw;

	if (comm->n_members > NCCL_TOPO_GPUS || comm->n_members != comm->nranks)
		return -1;
	for (int a = 0; a < comm->n_members; a++) {
		for (int b = 0; b < comm->n_members; b++) {
			if (a == b)
				continue;
			near = near_of(j, comm->members[a]->rank, comm->members[b]->rank, &bw);
			if (near == NEAR_UNKNOWN)
				return -1;
			if (first == NEAR_UNKNOWN) {
				first = near;
				first_bw = bw;
			}
			if (near != first || bw > first_bw || bw < first_bw)
				return 0;
		}
	}
	return 1;
}

static void judge_orders(struct judge *j)
{
	const struct nccl_ring *first = NULL, *other = NULL;
	int different = 0, even;

	for (int r = 0; r < j->comm->n_rings; r++) {
		const struct nccl_ring *ring = &j->comm->rings[r];

		if (!ring->closed)
			continue;
		if (!first)
			first = ring;
		if (ring->n == first->n &&
		    memcmp(ring->order, first->order, (size_t)ring->n * sizeof(int)) == 0)
			continue;
		if (different++ == 0)
			other = ring;
	}
	if (!different || j->hosts > 1 || first->n < 3)
		return;
	even = uniform(j);
	if (even == 1)
		found(j, other, -1, -1,
		      "%d channels have another order than channel %02d without need: all GPUs are "
		      "equally far from each other",
		      different, first->channel);
	else if (even == 0)
		note(j, "%d channels have another order than channel %02d: GPUs are not equally "
			"far from each other", different, first->channel);
	else
		missing(j, "%d channels have another order than channel %02d, and no topology says "
			   "whether they need to", different, first->channel);
}

static void judge_missing(struct judge *j)
{
	if (j->comm->n_rings == 0 && j->comm->nranks != 1)
		missing(j, "no Channel and no Ring lines: rank 0's log, or subsystems INIT and "
			   "GRAPH, are not here");
	if (j->open)
		missing(j, "%d of %d rings are not complete: rank 0's line is cut or not here, and "
			   "Ring lines (subsystem GRAPH) of some ranks are not here",
			j->open, j->comm->n_rings);
	if (j->differing)
		missing(j, "%d rings: rank 0's Channel line and the ranks' Ring lines contradict "
			   "each other", j->differing);
	if (j->no_host)
		missing(j, "%d steps lead from or to a rank whose host is not known: its lines are "
			   "not here", j->no_host);
	if (j->no_transport)
		missing(j, "%d steps without a transport: its line is not here (NCCL prints it at "
			   "the first call)", j->no_transport);
}

int nccl_log_judge(const struct nccl_log *log, const struct nccl_comm *comm,
		   const struct nccl_topo *topo, struct nccl_judgement *judgement)
{
	struct judge j = { .log = log, .comm = comm, .topo = topo, .out = judgement };

	*judgement = (struct nccl_judgement){ 0 };
	if (survey_hosts(&j))
		survey_links(&j);
	else
		j.no_memory = true;
	for (int r = 0; r < comm->n_rings && !j.no_memory; r++) {
		const struct nccl_ring *ring = &comm->rings[r];

		j.open += !ring->closed;
		j.differing += ring->differs;
		if (ring->closed)
			judge_crossings(&j, ring);
		judge_transports(&j, ring);
		if (ring->closed)
			judge_numa(&j, ring);
	}
	if (!j.no_memory) {
		judge_orders(&j);
		judge_missing(&j);
	}
	free(j.best);
	free(j.member_host);
	judgement->verdict = judgement->n_findings  ? NCCL_IRRATIONAL
			     : judgement->n_missing ? NCCL_CANNOT_SAY
						    : NCCL_RATIONAL;
	if (!j.no_memory)
		return 0;
	nccl_judgement_release(judgement);
	return -ENOMEM;
}

void nccl_judgement_release(struct nccl_judgement *judgement)
{
	for (int i = 0; i < judgement->n_findings; i++)
		free(judgement->findings[i].reason);
	for (int i = 0; i < judgement->n_missing; i++)
		free(judgement->missing[i]);
	for (int i = 0; i < judgement->n_notes; i++)
		free(judgement->notes[i]);
	free(judgement->findings);
	free(judgement->missing);
	free(judgement->notes);
	*judgement = (struct nccl_judgement){ 0 };
}
