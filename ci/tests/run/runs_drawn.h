/* runs_drawn.h: small runs as pictures: one line a rank, one column of two characters a call.
 *
 *   A  B   collectives on communicator 0, told apart by their amounts
 *   a  b   the same on communicator 1
 *   >1 <1  a send to rank 1, a receive from rank 1, on communicator 0
 *   A*     behind a letter: the rank is inside this call; behind a send or receive that is the next column's "**"
 */
#pragma once

#include "process/watch.h"
#include "run/comm.h"
#include "rig/unit.h"

#define RANKS 8
#define CALLS 64

struct drawn {
	struct record calls[RANKS][CALLS];
	struct rank_view views[RANKS];
	struct call_index index[RANKS];
	struct progress_rank ranks[RANKS];
	struct progress progress;
	struct members_list comms;
	struct progress_comm comm; /* communicator 0's */
};

struct record *add_drawn(struct drawn *d, int rank, int comm, int kind, int peer, uint64_t count);

/* Views and indexes of what was added, and what the model makes of it. */
void end_drawn(struct drawn *d, int nranks, bool blocks);

void draw(struct drawn *d, const char *const *rows);

void release_drawn(struct drawn *d);

/* "1,3" of the ranks that the call in which `rank` waits awaits; "-" where it waits in none. */
const char *awaited_by(const struct drawn *d, int rank, char *buf);

/* "3: 1,2": the call that not all made and the ranks that made fewest; "0: ": all made all. */
const char *behind_in(const struct drawn *d, char *buf);
