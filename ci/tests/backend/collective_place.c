/* collective_place.c: geometry of one rank of a few in a collective. */
#include "backend/collective_place.h"

static struct traffic even = { .nranks = MAX_RANKS, .spread = 0 };

struct geometry rank_place(const struct collective *c, int rank, int nranks, int root, size_t bytes)
{
	even.nranks = nranks;
	return (struct geometry){
		.rank = rank,
		.nranks = nranks,
		.root = c->rooted ? root : -1,
		.elsize = 4,
		.bytes = bytes,
		.align = 16,
		.traffic = c->irregular ? &even : NULL,
	};
}
