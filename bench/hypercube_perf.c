/* hypercube_perf.c: all-gather in log2(ranks) rounds of pairwise exchange, on 2, 4, 8... ranks. */
#include "perf_main.h"

static double hypercube_alg_bytes(const struct geometry *geometry, const struct shape *shape)
{
	return (double)(shape->count * geometry->elsize) * (geometry->nranks - 1);
}

/* Exchanges the slices gathered so far with the partner across dimension `mask` of the cube. */
static int hypercube_round(struct chain *chain, const struct invocation *invocation, int mask)
{
	size_t slice = invocation->shape->count * invocation->geometry->elsize;
	int rank = invocation->geometry->rank;
	int first = rank & ~(mask - 1);
	char *mine = (char *)invocation->recv + (size_t)first * slice;
	char *theirs = (char *)invocation->recv + (size_t)(first ^ mask) * slice;

	return run_exchange(chain, invocation, invocation->shape->count * (size_t)mask, mine,
			    rank ^ mask, theirs, rank ^ mask);
}

static int hypercube_run(struct chain *chain, const struct invocation *invocation)
{
	size_t slice = invocation->shape->count * invocation->geometry->elsize;
	char *own = (char *)invocation->recv + (size_t)invocation->geometry->rank * slice;
	int rc = 0;

	if (own != invocation->send)
		rc = chain->backend->ops->copy(chain->backend, own, invocation->send, slice);
	for (int mask = 1; !rc && mask < invocation->geometry->nranks; mask <<= 1)
		rc = hypercube_round(chain, invocation, mask);
	return rc;
}

const struct collective hypercube = {
	.name = "hypercube",
	.in_place = true,
	.power_of_two = true,
	.shape = shape_gather,
	.alg_bytes = hypercube_alg_bytes,
	.segments = segments_gather,
	.run = hypercube_run,
};
