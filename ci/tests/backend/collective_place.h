/* collective_place.h: geometry of one rank of a few in a collective. */
#pragma once

#include "backend/collective.h"
#include "backend/traffic.h"

enum { MAX_RANKS = 8 };

/* Elements of 4 bytes, shares of whole 16 bytes, even traffic. Valid until the next call. */
struct geometry rank_place(const struct collective *c, int rank, int nranks, int root,
			   size_t bytes);
