/* plan.h: the pairs of ranks to measure, and the rounds of pairs at the same time. */
#pragma once

struct pair {
	int a, b;  /* a < b; both directions are measured */
	int round; /* pairs of one round have no rank in common */
	bool far;  /* on different nodes */
};

struct pair_plan {
	int n, npairs, nrounds;
	bool sampled; /* not all pairs */
	struct pair *pairs;
};

enum { PAIRS_MOST = 1024 }; /* unordered; 45 ranks have fewer, all of them measured */

/* Makes all pairs of n ranks, in the n-1 rounds of a tournament (n of an odd n). More than `most`
 * pairs are sampled by `seed`: whole rounds, at least one, then pairs for each rank that lacks one
 * inside of its node or to another node. `node_of` has n entries. Equal arguments give equal plans.
 * Lack of memory ends the process. */
void pair_plan_make(struct pair_plan *plan, int n, const int *node_of, int most, uint32_t seed);
void pair_plan_release(struct pair_plan *plan);

/* The pair of `rank` in a round: its index, -1 where it rests. */
int pair_plan_find(const struct pair_plan *plan, int round, int rank);

/* The pair of two ranks: its index, -1 where it is not measured. */
int pair_plan_of(const struct pair_plan *plan, int a, int b);
