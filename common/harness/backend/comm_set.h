/* comm_set.h: the communicators of a run. Number 0 holds all ranks of the group, others some. */
#pragma once

#include "base/call_value.h"

#define COMM_SET_MAX 16 /* most communicators, number 0 included: the recorder's capacity */

/* Families of communicators, each a uniform split of the group. */
enum comm_family {
	COMMS_WORLD,
	COMMS_HALVES, /* the lower and the upper half of the ranks */
	COMMS_PAIRS,  /* 0 and 1, 2 and 3 ...; the last of an odd number of ranks has none */
	COMMS_RING    /* each rank with the next, the last with the first */
};

struct comm_set {
	int n, group_size;
	struct comm_span spans[COMM_SET_MAX]; /* [0]: all ranks */
};

/* Sets number 0 and, from 1 on, the communicators of the family. Returns 0, -E2BIG for more than
 * COMM_SET_MAX, or -EINVAL for a group that is too small (halves, pairs: 2 ranks; ring: 3). */
int comm_set_make(struct comm_set *set, enum comm_family family, int group_size);

/* Returns the rank of a group's rank in a communicator; -1: not a member. */
int comm_set_rank(const struct comm_set *set, uint32_t comm, int rank);

/* Returns the group's rank of member `member` of a communicator. */
int comm_set_member(const struct comm_set *set, uint32_t comm, int member);

/* Returns the first communicator from number `from` on that `rank` is a member of; -1: none. */
int comm_set_next(const struct comm_set *set, int from, int rank);
