/* comm_set.h: the communicators of a run: number 0 holds all ranks of the group, the others some of them. */
#pragma once

#include "base/call_value.h"

#define COMM_SET_MAX 16 /* communicators, number 0 included; as many as the recorder has room for */

/* Communicators that split the group alike. */
enum comm_family {
	COMMS_WORLD,
	COMMS_HALVES, /* the lower and the upper half of the ranks */
	COMMS_PAIRS,  /* 0 and 1, 2 and 3 ...; of an odd number of ranks the last one has none */
	COMMS_RING    /* each rank with the next, the last one with the first */
};

struct comm_set {
	int n, group_size;
	struct comm_span spans[COMM_SET_MAX]; /* [0]: all ranks */
};

/* Number 0, and from 1 on those of the family. Returns 0, or -E2BIG where there are more than
 * COMM_SET_MAX, -EINVAL where the group is too small (halves, pairs: 2 ranks; ring: 3). */
int comm_set_make(struct comm_set *set, enum comm_family family, int group_size);

/* The rank that a rank of the group has in a communicator; -1: it is no member. */
int comm_set_rank(const struct comm_set *set, uint32_t comm, int rank);

/* The rank of the group that is rank `member` of a communicator. */
int comm_set_member(const struct comm_set *set, uint32_t comm, int member);

/* The first communicator from number `from` on of which `rank` is a member; -1: none. */
int comm_set_next(const struct comm_set *set, int from, int rank);
