/* rank_groups.h: ranks grouped by the value that they have of something: the odd ones, and most. */
#pragma once

struct rank_group {
	int rank;	/* the lowest of them */
	int n;		/* how many they are */
	char words[64]; /* "rank 1", "ranks 0-2,5" */
};

enum { RANK_GROUPS = 4 };

struct rank_groups {
	struct rank_group groups[RANK_GROUPS];
	int ngroups;
	bool more; /* there are further groups before the last one */
	bool most; /* the last group is larger than any other */
};

/* Groups ranks 0 .. nranks-1 by their `values`; rank i with 0 is in no group. The largest group is the
 * last one, the others, of which at most three are kept, are in the order of ranks; among groups
 * as large as each other none is the largest. */
void rank_groups(struct rank_groups *groups, const uint64_t *values, int nranks);

/* FNV-1a of a text, never 0: a value for rank_groups. */
uint64_t rank_groups_value(const char *text);
