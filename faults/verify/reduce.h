/* reduce.h: the smallest schedule that hangs as another one does. */
#pragma once

#include "verify/verify.h"

struct reduced {
	struct schedule schedule;     /* its ranks have numbers from 0 */
	int *was;		      /* of each rank its number before; owned */
	struct answer answer, before; /* about it, and about the whole schedule */
};

/* Leaves out ranks and calls as long as what is left has the same verdict: outcome, class, the field that differs, the kind
 * of the call in which ranks stand, and culprits and pair among those of the whole one. Without any one call that is left
 * the verdict is another. 0, or a negative errno with the error set, OUTCOME_UNSUPPORTED where the schedule does not hang or
 * its verdict names no rank and pair for certain. reduced_release() in either case. */
int reduce_schedule(struct reduced *reduced, const struct schedule *schedule,
		    const struct verify_how *how, struct error *err);
void reduced_release(struct reduced *reduced);

/* Writes the schedule without the calls of one rank's that are not marked, and so on for all: `steps` has an entry for each
 * call, rank after rank. Nothing is left of ranks that are not marked, nor of sends and receives with them. `was` (room for
 * all): the number that each rank had. */
void schedule_some(struct schedule *part, const struct schedule *schedule, const bool *ranks,
		   const bool *steps, int *was);

/* Returns true if the two verdicts are the same but for the numbers of ranks and calls. */
bool reduced_alike(const struct verified *whole, const struct verified *part, const int *was);
