/* waits.h: who waits in which call for whom, over all communicators, streams, sends and receives of
 * a run. Where calls return at once they queue on their stream: one starts when what stands before it
 * on the stream has ended. Of sends and receives in a row all start that are not known to be no group. */
#pragma once

#include "waits/teams.h"

enum wait_state {
	WAIT_QUEUED, /* behind another one */
	WAIT_STARTED,
	WAIT_ENDED
};

/* A call that is not known to have completed. */
struct wait_call {
	const struct record *call;
	const struct team *team;
	int rank;     /* of the run */
	uint64_t nth; /* of a collective: among the rank's on the communicator, from 1; of a send or
	               * receive: how many it has made of these */
	int partner;  /* of a send or receive: rank of the run, -1: unknown */
	const struct record *theirs; /* what the partner made of it, NULL: nothing */
	struct wait_call *match;     /* the same, as long as it has not completed there */
	enum wait_state state;
	int seen;     /* members of the team, in order, who are there */
	bool unequal; /* `theirs` has another amount or type: the two never end */
};

/* A rank's part in a communicator. */
struct wait_comm {
	const struct team *team; /* NULL: none */
	int place;		 /* its number there */
	uint64_t made;		 /* collectives */
	uint64_t started;	 /* of these, all that have ended included */
};

struct waiter {
	bool known; /* else it may have made any call */
	struct wait_call *calls;
	size_t n, room, first; /* the first that has not ended */
	struct wait_comm comms[RECORD_COMMS];
};

struct waits {
	const struct evidence *evidence; /* borrowed, as are the teams */
	struct waiter *ranks;
	struct wait_call *arena; /* the calls of all */
	size_t pending;
};

/* Find out how far the run can have come. */
void waits_init(struct waits *waits, const struct evidence *evidence, const struct teams *teams);
void waits_release(struct waits *waits);

/* Returns true if the call is over because it has returned: where calls block, and no group starts it later. */
bool waits_over(const struct evidence *evidence, const struct record *call);

/* The first call that the rank waits in, NULL: in none. The next one of those that it waits in at
 * the same time: of another stream, or of a group. */
const struct wait_call *waits_in(const struct waits *waits, int rank);
const struct wait_call *waits_also(const struct waits *waits, const struct wait_call *in);

/* Returns true if `in` waits for this rank's part: then that has not started it. */
bool waits_for(const struct waits *waits, const struct wait_call *in, int rank);

/* Returns true if what `in` waits for stands behind `other`, in which the rank that owes it waits. */
bool waits_behind(const struct waits *waits, const struct wait_call *in,
		  const struct wait_call *other);

/* The rank's collective `nth` on the communicator: its record, NULL: not made or no longer known. */
const struct record *waits_collective(const struct waits *waits, int rank, uint32_t comm,
				      uint64_t nth);

/* circle.c: returns true if this rank waits in a call, as do all for whom it waits, and so on. */
bool waits_closed(const struct waits *waits, int rank);

/* circle.c: calls each of which waits for the rank that is in the next one, the last for the first's:
 * of sends and receives alone (`pairs`), or on two communicators at least. Begins with the lowest rank.
 * Returns how many, 0: there is no such circle of at most `max`. */
size_t waits_circle(const struct waits *waits, bool pairs, const struct wait_call **circle,
		    size_t max);
