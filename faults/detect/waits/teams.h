/* teams.h: which ranks share a communicator, as the recorder of each says of its init. Halves of a
 * run have one number and two ids: two teams. Ranks, roots and partners are numbered within one. */
#pragma once

#include "evidence/evidence.h"

struct team {
	uint32_t comm;
	int nranks;
	/* Ranks of the run by their number in the communicator, -1: nobody says to be that one.
	 * NULL: all of the run, by their own numbers. */
	const int *ranks;
};

/* The first is always communicator 0 with all ranks; of the others those with calls, by communicator. */
struct teams {
	struct team *list;
	size_t n;
	int *ranks; /* what the teams point into; owned, like the list */
};

/* Who is in which. A communicator of which no recorder says anything has all ranks. */
void teams_init(struct teams *teams, const struct evidence *evidence);
void teams_release(struct teams *teams);

/* The groups that ranks form by what they gave communicator 0's init, each a team of its own
 * (NCCL_TESTS_SPLIT): none unless they are several, all complete, and nobody died outside of them. */
void teams_of_init(struct teams *teams, const struct evidence *evidence);

/* Returns true if any of the team has made a call on its communicator. */
bool team_called(const struct team *team, const struct evidence *evidence);

/* The number in the run of the team's rank `place`, -1: unknown. */
int team_rank(const struct team *team, int place);

/* Evidence of a team's ranks alone, in the order of their numbers in it. */
struct team_part {
	struct evidence evidence;    /* its `numbers` are those in the run, -1: unknown */
	struct evidence_rank *ranks; /* owned; their contents are borrowed */
	int *numbers;
};

/* What the part held is forgotten. */
void team_part_take(struct team_part *part, const struct evidence *evidence,
		    const struct team *team);
void team_part_release(struct team_part *part);
