/* bisect.h: finds bad members of a group by trials of subsets, all of a round at once. Pure. */
#pragma once

enum { BISECT_MOST = 256 };

/* A subset to try in this round. */
struct bisect_group {
	int n, members[BISECT_MOST];
	int suspect; /* alone with a good member that keeps it company: which; -1: a half */
	bool bad;    /* the caller's answer */
};

struct bisect {
	int n;
	bool known_good[BISECT_MOST], known_bad[BISECT_MOST];
	/* halves that are good each by itself and bad together; nsides pairs */
	struct bisect_group sides[8][2];
	int nsides;
	struct bisect_group groups[2 * BISECT_MOST]; /* of this round */
	int ngroups, rounds;
};

/* Begins with members 0 .. n-1, which are bad together; n is 1 to BISECT_MOST. */
void bisect_init(struct bisect *bisect, int n);

/* Sets up the groups of the next round, which share no member but good company, from the answers of
 * the one before. Returns false at the end: known_bad and sides hold the result, and neither where a
 * cause could not be told apart. log2(n) rounds at most. */
bool bisect_next(struct bisect *bisect);
