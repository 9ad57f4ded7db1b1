/* sweep.h: the sizes, types, operators and roots of a run, in nccl-tests' order. */
#pragma once

#include "backend/backend.h"
#include "backend/collective.h"
#include "options/options.h"

/* A point without its placement. */
struct point {
	enum dtype dtype;
	enum redop op; /* OP_NONE without a reduction */
	int root;      /* -1: none */
	size_t bytes;  /* requested size, one entry of -b..-e */
	/* For a schedule. NULL and 0: the program's own collective, on all ranks of the group. */
	const struct collective *collective;
	uint32_t comm;
};

struct sweep {
	const struct options *options;
	const struct collective *collective;
	struct backend *backend; /* decides support; NULL (tests): all combinations */
	int nranks;
	int op_first, op_last, root_first, root_last;
	/* cursor */
	int dtype, op, root;
	size_t bytes;
	int at; /* of --sizes */
	bool started;
};

/* Puts the cursor before the first point. Arguments are borrowed; `nranks` is the group's size. */
void sweep_init(struct sweep *sweep, const struct options *options,
		const struct collective *collective, struct backend *backend, int nranks);

/* Sets the next point: types outermost, then operators, then roots, sizes innermost. Returns false
 * at the end. Combinations that the backend does not support are skipped if they come from "all";
 * sweep_check() refuses others before. */
bool sweep_next(struct sweep *sweep, struct point *point);

/* Checks that the sweep can run: type, operator, root < nranks, a power of two of ranks if
 * required. 0, or a negative errno with the error set (unsupported or usage). */
int sweep_check(const struct sweep *sweep, struct error *err);
