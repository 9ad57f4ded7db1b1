/* sweep.h: the sizes, types, operators and roots of a run, in nccl-tests' order. */
#pragma once

#include "backend/backend.h"
#include "backend/collective.h"
#include "options/options.h"

/* One point without its placement. */
struct point {
	enum dtype dtype;
	enum redop op; /* OP_NONE when the collective does not reduce */
	int root;      /* -1 when it has none */
	size_t bytes;  /* as asked for, one entry of -b..-e */
	/* A schedule's: NULL and 0 are the program's own, on all ranks of the group. */
	const struct collective *collective;
	uint32_t comm;
};

struct sweep {
	const struct options *options;
	const struct collective *collective;
	struct backend *backend; /* asked what it supports; may be NULL (tests): everything */
	int nranks;
	int op_first, op_last, root_first, root_last;
	/* cursor */
	int dtype, op, root;
	size_t bytes;
	bool started;
};

void sweep_init(struct sweep *sweep, const struct options *options,
		const struct collective *collective, struct backend *backend, int nranks);

/* Next point: types outside, then operators, then roots, sizes innermost. false at the end.
 * Combinations that the backend does not support are passed over when they came from "all";
 * sweep_check() has refused the others before. */
bool sweep_next(struct sweep *sweep, struct point *point);

/* Checks that this can be run at all. 0, or a negative errno with the error set: type and operator
 * supported, root < nranks, power of two where needed (OUTCOME_UNSUPPORTED or OUTCOME_USAGE). */
int sweep_check(const struct sweep *sweep, struct error *err);
