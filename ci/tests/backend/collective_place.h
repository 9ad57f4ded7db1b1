/* collective_place.h: geometry of one rank of a few in a collective. Include it once per test
 * program. */
#pragma once

#include "backend/collective.h"
#include "backend/traffic.h"

enum { MAX_RANKS = 8 };

static struct traffic even = { .nranks = MAX_RANKS, .spread = 0 };

/* Elements of 4 bytes, shares of whole 16 bytes, even traffic. Valid until the next call with
 * another number of ranks. */
static inline struct geometry place(const struct collective *c, int rank, int nranks, int root,
				    size_t bytes)
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
