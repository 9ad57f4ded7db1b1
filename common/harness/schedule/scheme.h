/* scheme.h: the collectives and communicators of a schedule's steps, by scheme name. Pure. */
#pragma once

#include "backend/collective.h"
#include "backend/comm_set.h"
#include "measure/sweep.h"

#define SCHEME_PARTS 3 /* most parts of one step on one rank */

/* A step is the program's collective on all ranks, then on each communicator of the rank in a
 * family other than the world's, then one of `turns`. */
struct scheme {
	const char *name;
	enum comm_family family;
	bool apart;	      /* not on all ranks */
	const char *turns[7]; /* collectives that alternate on all ranks; NULL at the end */
};

/* All schemes, in the order of --help; a NULL name at the end. */
extern const struct scheme schemes[];

/* Returns the named scheme, for NULL the first one, "plain". NULL: unknown. */
const struct scheme *scheme_find(const char *name);

/* One issue on one rank. */
struct step_part {
	struct point point; /* with its collective and communicator */
	int slot;	    /* 0 to SCHEME_PARTS - 1: equal on all ranks of the communicator */
	struct geometry geometry;
	struct shape shape;
};

/* handoff.c: an exchange without a group. Partners are 0 and 1, 2 and 3 ...; the lower one sends
 * first, the upper one receives first. A rank without a partner does nothing. */
extern const struct collective handoff;
