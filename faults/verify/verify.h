/* verify.h: whether a schedule comes to its end, and if not, why: the run that it makes is carried out on paper, and what is
 * left of it is diagnosed like any run. */
#pragma once

#include "answer/answer.h"
#include "verify/schedule.h"

/* Facts that a schedule does not have. */
struct verify_how {
	enum schedule_streams streams;
	uint64_t eager; /* struct play_rules */
};

struct verified {
	struct evidence evidence; /* of the run where no rank can go on */
	struct answer answer;
	bool stands; /* a rank waits in a call, or has calls that it never makes */
};

/* Carries the schedule out. 0, or a negative errno with the error set. verified_release() in either case. */
int verify(struct verified *verified, const struct schedule *schedule, const struct verify_how *how,
	   struct error *err);
void verified_release(struct verified *verified);

/* Returns 1 if the run stands still, 0 if it ends, without asking why; or a negative errno with the error set. */
int verify_stands(const struct schedule *schedule, const struct verify_how *how, struct error *err);

/* Writes sentences to buf: with other streams or buffers it comes out otherwise. "": it does not. `asked`: the streams
 * were, and no others count. Returns buf. */
char *verify_depends(const struct schedule *schedule, const struct verify_how *how, bool asked,
		     bool stands, char *buf, size_t len, struct error *err);
