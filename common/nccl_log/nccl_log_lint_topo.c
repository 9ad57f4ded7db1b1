/* nccl_log_lint_topo.c: what only a topology can judge: NUMA ping-pong, orders across channels. */
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_lint.h"

static int numa_of(const struct judge *j, int rank)
{
	const struct nccl_member *member = nccl_comm_member(j->comm, rank);

	return member ? nccl_topo_numa(j->log, j->topo, member) : -1;
}

/* A ring's changes of NUMA node on one host. */
struct numa {
	uint64_t nodes; /* those that the ring touches */
	int changes;	/* other than over NVLink */
	int from, to;	/* the last one */
};

static void count_numa(struct judge *j, const struct nccl_ring *ring, struct numa *numas)
{
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		int a = numa_of(j, from), b = numa_of(j, to), host = nccl_judge_host(j, from);
		struct numa *numa = host < 0 ? NULL : &numas[host];
		enum nccl_near near;

		if (!numa || a < 0 || a > 63)
			continue;
		numa->nodes |= 1ull << a;
		if (nccl_judge_host(j, to) != host || b < 0 || a == b)
			continue;
		near = nccl_judge_near(j, from, to, NULL);
		if (near == NEAR_NVL || near == NEAR_NVB || near == NEAR_C2C)
			continue;
		numa->changes++;
		numa->from = from;
		numa->to = to;
	}
}

/* The fewest changes possible: NUMA nodes - 1 on the way through a host, one more where the ring
 * closes there. */
void nccl_judge_numa(struct judge *j, const struct nccl_ring *ring)
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
			nccl_judge_found(
				j, ring, numa->from, numa->to,
				"the ring changes NUMA node %d times on host %s, %d would do: last "
				"with %d -> %d",
				numa->changes, j->log->hosts[h], fewest, numa->from, numa->to);
	}
	free(numas);
}

/* 1: all GPUs of the host are equally far from each other; 0: not; -1: unknown. */
static int uniform(const struct judge *j)
{
	const struct nccl_comm *comm = j->comm;
	enum nccl_near first = NEAR_UNKNOWN, near;
	double first_bw = 0, bw;

	if (comm->n_members > TOPO_MAX_GPUS || comm->n_members != comm->nranks)
		return -1;
	for (int a = 0; a < comm->n_members; a++) {
		for (int b = 0; b < comm->n_members; b++) {
			if (a == b)
				continue;
			near = nccl_judge_near(j, comm->members[a]->rank, comm->members[b]->rank,
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

void nccl_judge_orders(struct judge *j)
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
		nccl_judge_found(j, other, -1, -1,
				 "%d of %d channels have another order than channel %02d without "
				 "need: all GPUs "
				 "are equally far from each other",
				 different, j->comm->n_rings, first->channel);
	else if (even == 0)
		note(j,
		     "%d of %d channels have another order than channel %02d: GPUs are not equally "
		     "far from each other",
		     different, j->comm->n_rings, first->channel);
	else
		missing(j,
			"%d of %d channels have another order than channel %02d, and no topology "
			"says "
			"whether they need to",
			different, j->comm->n_rings, first->channel);
}
