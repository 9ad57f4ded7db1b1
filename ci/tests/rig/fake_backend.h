/* fake_backend.h: a backend of host memory that notes what was asked of it. */
#pragma once

#include "backend/backend.h"
#include "backend/call.h"
#include "check/check.h"

enum { FAKE_CALLS = 4096 };

struct fake {
	struct backend be;
	int allocs, fail_alloc; /* the how manyth alloc fails, 0: none */
	size_t bytes[4];	/* of each alloc */
	size_t used[4];
	void *ptrs[4];
	int released;
	/* the last fill and poison, and how many there were */
	int fills, poisons, fail_fill;
	char *fill_at, *poison_at;
	uint64_t fill_base;
	size_t fill_count, poison_bytes;
	/* calls issued */
	int ncalls;
	struct call calls[FAKE_CALLS];
	bool move; /* a call copies what it sends: right for one rank */
};

int fake_alloc(struct backend *be, size_t bytes, size_t used, void **ptr);

extern const struct backend_ops fake_ops;
