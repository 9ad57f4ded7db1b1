/* rank_groups.h: ranks grouped by a value of theirs: the minorities and the majority. */
#pragma once

struct rank_group {
	int rank;	/* the lowest member */
	int n;		/* number of members */
	char words[64]; /* "rank 1", "ranks 0-2,5" */
};

enum { RANK_GROUPS = 4 };

struct rank_groups {
	struct rank_group groups[RANK_GROUPS];
	int ngroups;
	bool more; /* further groups precede the last one */
	bool most; /* the last group is larger than every other */
};

/* Groups ranks 0 .. nranks-1 by `values`; a rank with value 0 is in no group. The largest group
 * comes last. At most three others are stored, in the order of ranks. Without a unique largest
 * group `most` is false. */
void rank_groups(struct rank_groups *groups, const uint64_t *values, int nranks);

/* FNV-1a of a text, never 0: a value for rank_groups. */
uint64_t rank_groups_value(const char *text);
