/* causes.h: causes of a run slower than predicted: a table of checks on an observation. */
#pragma once

#include "machine/observation.h"

enum cause_state { CAUSE_NO, CAUSE_YES, CAUSE_UNSEEN };

struct cause_finding {
	enum cause_state state;
	char text[480]; /* yes: the evidence; unseen: why it can't be told */
};

struct cause {
	const char *name; /* "forced-settings" */
	bool gpu;	  /* of runs on GPUs alone */
	/* The check looks at the observation alone. NULL: the health rules of this name on GPUs. */
	void (*check)(const struct observation *observation, struct cause_finding *finding);
};

/* Lines of causes.txt: what a cause is in a few words; how to fix it. */
enum cause_line { CAUSE_WHAT = 1, CAUSE_FIX };
#define CAUSE_LINE 200
const char *cause_says(const struct cause *cause, enum cause_line line, char text[CAUSE_LINE]);

/* Strongest evidence first. */
extern const struct cause cause_table[];
extern const size_t cause_count;

/* Run one check, whatever kind of run it was. */
void cause_check(const struct cause *cause, const struct observation *observation,
		 struct cause_finding *finding);

/* Writes "The slowest row, of 4096 bytes, reaches 30.0 % of its prediction (ring/cma)". Returns
 * false where no row was compared with a prediction. */
bool causes_slowest(const struct observation *observation, char *text, size_t len);

/* Runs all causes that this kind of run can have, and hands over their lines without newline:
 * "cause: ..." per cause, else "no cause found ..."; then those that could not be seen, with the
 * reason, equal reasons together. `only`: hands over the causes alone. Returns 0, or the first
 * negative value of `line`. */
int causes_tell(const struct observation *observation, bool only,
		int (*line)(void *ctx, const char *text), void *ctx);
