/* flows.h: a team's sends and receives by partner, in the order in which they meet. */
#pragma once

#include "evidence/evidence.h"

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

/* Sort what `evidence`, a team's, holds of a communicator. */
void flows_init(struct flows *flows, const struct evidence *evidence, uint32_t comm);
void flows_release(struct flows *flows);

/* What `rank` sent to (received from) `peer`. `kind`: CALL_SEND or CALL_RECV. */
struct flow flow_of(const struct flows *flows, int rank, int kind, int peer);

/* How a call goes on from those before it, where their amounts go by about equal steps. */
enum flow_step {
	STEP_UNKNOWN, /* they do not, or are too few */
	STEP_EXACT,
	STEP_KEEPS, /* but for what rounding may do */
	STEP_AHEAD, /* it is what comes behind the next one */
	STEP_AGAIN, /* the last one once more */
	STEP_BREAKS
};

enum flow_step flow_step(const struct flow *flow, size_t at);
