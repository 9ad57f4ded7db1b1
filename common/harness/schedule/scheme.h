/* scheme.h: what the steps of a schedule are made of: collectives and communicators, by the scheme's name.
 * Pure. */
#pragma once

#include "backend/collective.h"
#include "backend/comm_set.h"

#define SCHEME_PARTS 3 /* of one step on one rank, at most */

/* A step is the program's collective on all ranks, then on each of the rank's communicators of a family
 * that is not all ranks', then one of `turns`. */
struct scheme {
	const char *name;
	enum comm_family family;
	bool apart;	      /* not on all ranks */
	const char *turns[7]; /* collectives that take turns on all ranks; NULL at the end */
};

/* All schemes, in the order of the help; a NULL name at the end. */
extern const struct scheme schemes[];

/* The scheme of that name; NULL: the first one, "plain". NULL when there is none. */
const struct scheme *scheme_find(const char *name);

/* One issue on one rank. */
struct step_part {
	const struct collective *collective;
	uint32_t comm;
	int slot; /* 0 to SCHEME_PARTS - 1: the same on all ranks of the communicator */
};

/* The parts of step `step` (from 0) on rank `rank` of the group, in their order. `known` is a table of
 * collectives, NULL-terminated. On communicators beside the first one an irregular collective, whose
 * matrix is that of all ranks, is alltoall instead. Returns how many. */
int scheme_parts(const struct scheme *scheme, const struct collective *own,
		 const struct collective *const *known, const struct comm_set *comms, int rank,
		 int step, struct step_part parts[SCHEME_PARTS]);

/* handoff.c: an exchange without a group: partners are 0 and 1, 2 and 3 ...; the lower one sends first and
 * then receives, the upper one the other way round. A rank without a partner does nothing. */
extern const struct collective handoff;
