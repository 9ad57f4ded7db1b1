/* nccl_log_lint_topo.c: checks that need a topology, NCCL's file or the log's graph lines: links
 * between GPUs of a host, NUMA ping-pong, orders across channels. */

#include "nccl_log/nccl_log_lint.h"
#include "nccl_log/nccl_log_raw.h"

const char *const nccl_near_names[] = {
	[NEAR_UNKNOWN] = "?", [NEAR_LOC] = "LOC", [NEAR_NVL] = "NVL",
	[NEAR_NVB] = "NVB",   [NEAR_C2C] = "C2C", [NEAR_PIX] = "PIX",
	[NEAR_PXB] = "PXB",   [NEAR_PHB] = "PHB", [NEAR_SYS] = "SYS",
};

/* A GPU's index in the file, -1 when it is not there. */
static int gpu_of(const struct topo_system *topo, uint64_t bus)
{
	for (int i = 0; i < topo->ngpus && bus; i++)
		if (topo->gpu[i].bus == bus)
			return i;
	return -1;
}

static enum nccl_near near_in_file(const struct topo_system *topo, int ia, int ib)
{
	const struct topo_gpu *a, *b;
	int common = 0;

	if (ia < 0 || ib < 0)
		return NEAR_UNKNOWN;
	if (ia == ib)
		return NEAR_LOC;
	a = &topo->gpu[ia];
	b = &topo->gpu[ib];
	if ((a->switch_links > 0 && b->switch_links > 0) || a->links[ib] > 0)
		return NEAR_NVL;
	while (common < a->nabove && common < b->nabove && a->above[common] == b->above[common])
		common++;
	if (common > 0)
		return common == a->nabove && common == b->nabove ? NEAR_PIX : NEAR_PXB;
	return a->cpu == b->cpu ? NEAR_PHB : NEAR_SYS;
}

static bool is_of(const struct nccl_log *log, const struct nccl_path *path,
		  const struct nccl_member *member)
{
	return path < log->paths + log->n_paths && path->host == member->host &&
	       path->gpu == member->bus;
}

enum nccl_near nccl_topo_near(const struct nccl_log *log, const struct topo_system *topo,
			      const struct nccl_member *a, const struct nccl_member *b, double *bw)
{
	const struct nccl_path *path;

	if (bw)
		*bw = 0;
	if (topo)
		return near_in_file(topo, gpu_of(topo, a->bus), gpu_of(topo, b->bus));
	path = nccl_log_path(log, a->host, a->bus);
	for (; path && is_of(log, path, a); path++) {
		if (strcmp(path->kind, "GPU") != 0 || path->to != b->bus)
			continue;
		if (bw)
			*bw = path->bw;
		for (enum nccl_near near = NEAR_LOC; near <= NEAR_SYS; near++)
			if (strcmp(path->type, nccl_near_names[near]) == 0)
				return near;
	}
	return NEAR_UNKNOWN;
}

int nccl_topo_numa(const struct nccl_log *log, const struct topo_system *topo,
		   const struct nccl_member *member)
{
	int gpu = topo ? gpu_of(topo, member->bus) : -1;
	const struct nccl_path *path;

	if (topo)
		return gpu >= 0 ? topo->numa[topo->gpu[gpu].cpu] : -1;
	path = nccl_log_path(log, member->host, member->bus);
	for (; path && is_of(log, path, member); path++) {
		/* The one CPU that is reached without crossing to another node. */
		if (strcmp(path->kind, "CPU") == 0 && strcmp(path->type, "SYS") != 0 &&
		    path->to < 1024)
			return (int)path->to;
	}
	return -1;
}

/* ---- NUMA ping-pong ------------------------------------------------------------------------ */

static int numa_of(const struct linter *lint, int rank)
{
	const struct nccl_member *member = nccl_comm_member(lint->comm, rank);

	return member ? nccl_topo_numa(lint->log, lint->topo, member) : -1;
}

/* A ring's changes of NUMA node on one host. */
struct numa {
	uint64_t nodes; /* those that the ring touches */
	int changes;	/* other than over NVLink */
	int from, to;	/* the last one */
};

static void count_numa(struct linter *lint, const struct nccl_ring *ring, struct numa *numas)
{
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		int a = numa_of(lint, from), b = numa_of(lint, to),
		    host = nccl_lint_host(lint, from);
		struct numa *numa = host < 0 ? NULL : &numas[host];
		enum nccl_near near;

		if (!numa || a < 0 || a > 63)
			continue;
		numa->nodes |= 1ull << a;
		if (nccl_lint_host(lint, to) != host || b < 0 || a == b)
			continue;
		near = nccl_lint_near(lint, from, to, NULL);
		if (near == NEAR_NVL || near == NEAR_NVB || near == NEAR_C2C)
			continue;
		numa->changes++;
		numa->from = from;
		numa->to = to;
	}
}

/* The fewest changes possible: NUMA nodes - 1 on the way through a host, one more where the ring
 * closes there. */
void nccl_lint_numa(struct linter *lint, const struct nccl_ring *ring)
{
	struct numa *numas = must(calloc((size_t)lint->log->n_hosts + 1, sizeof(*numas)));

	count_numa(lint, ring, numas);
	for (int h = 0; h < lint->log->n_hosts; h++) {
		const struct numa *numa = &numas[h];
		int fewest = __builtin_popcountll(numa->nodes) - (lint->hosts > 1);

		if (numa->changes > fewest && fewest > 0)
			found(lint, ring,
			      "the ring changes NUMA node %d times on host %s, %d would do: last "
			      "with %d -> %d",
			      numa->changes, lint->log->hosts[h], fewest, numa->from, numa->to);
	}
	free(numas);
}

/* ---- orders across channels ---------------------------------------------------------------- */

/* 1: all GPUs of the host are equally far from each other; 0: not; -1: unknown. */
static int uniform(const struct linter *lint)
{
	const struct nccl_comm *comm = lint->comm;
	enum nccl_near first = NEAR_UNKNOWN, near;
	double first_bw = 0, bw;

	if (comm->n_members > TOPO_MAX_GPUS || comm->n_members != comm->nranks)
		return -1;
	for (int a = 0; a < comm->n_members; a++) {
		for (int b = 0; b < comm->n_members; b++) {
			if (a == b)
				continue;
			near = nccl_lint_near(lint, comm->members[a]->rank, comm->members[b]->rank,
					      &bw);
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

void nccl_lint_orders(struct linter *lint)
{
	const struct nccl_ring *first = NULL, *other = NULL;
	int different = 0, even;

	for (int r = 0; r < lint->comm->n_rings; r++) {
		const struct nccl_ring *ring = &lint->comm->rings[r];

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
	if (!different || lint->hosts > 1 || first->n < 3)
		return;
	even = uniform(lint);
	if (even == 1)
		found(lint, other,
		      "%d of %d channels have another order than channel %02d without "
		      "need: all GPUs "
		      "are equally far from each other",
		      different, lint->comm->n_rings, first->channel);
	else if (even == 0)
		note(lint,
		     "%d of %d channels have another order than channel %02d: GPUs are not equally "
		     "far from each other",
		     different, lint->comm->n_rings, first->channel);
	else
		missing(lint,
			"%d of %d channels have another order than channel %02d, and no topology "
			"says whether they need to",
			different, lint->comm->n_rings, first->channel);
}
