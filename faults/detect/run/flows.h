/* flows.h: a communicator's sends and receives by partner, in the order in which they meet. */
#pragma once

#include "base/call_value.h"
#include "run/progress.h"

/* Calls of one kind that a rank made with one partner, oldest first. */
struct flow {
	const struct record *const *calls; /* borrowed */
	size_t n;
};

struct flows {
	const struct record **calls; /* of all ranks, sorted; owned */
	size_t *first;		     /* of each rank, and the end; owned */
	int nranks;
};

/* Sorts the members' sends and receives. */
void flows_init(struct flows *flows, const struct progress *progress,
		const struct members *members);
void flows_release(struct flows *flows);

/* The calls in which `rank` sent to (received from) `peer`. `kind`: CALL_SEND or CALL_RECV. */
struct flow progress_flow(const struct flows *flows, int rank, int kind, int peer);

/* The kind of the calls that meet those of `kind`. */
static inline int flow_other(int kind)
{
	return kind == CALL_SEND ? CALL_RECV : CALL_SEND;
}

/* The partner's half of the rank's `call`, of these flows; NULL: the partner has not made it. */
const struct record *progress_flow_match(const struct flows *flows, int rank,
					 const struct record *call);

/* Returns true if a send and the receive that it meets are of the same amount and type. */
bool progress_fits(const struct record *a, const struct record *b);

/* The sends of one rank to another and the receives that meet them; one of the two may be empty. */
struct link {
	int from, to;
	struct flow sent, received;
	int rank; /* the iteration's own, as is the next one */
	size_t next;
};

/* The next one that there is, of partners that exist; *link is zero before the first. False: it was the last. */
bool flows_next(const struct flows *flows, struct link *link);
