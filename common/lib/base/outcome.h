/* outcome.h: the outcome of a run as a word and as an exit code, against --expect. */
#pragma once

/* The values are the exit codes (README.md). */
enum outcome {
	OUTCOME_OK = 0,
	OUTCOME_INTERNAL = 1,
	OUTCOME_USAGE = 2,
	OUTCOME_HANG = 10,
	OUTCOME_ERROR = 11, /* NCCL, CUDA or MPI reported an error */
	OUTCOME_WRONG_DATA = 12,
	OUTCOME_SLOW = 13, /* below the required bandwidth */
	OUTCOME_DIED = 14, /* a rank's process ended, also by exit */
	OUTCOME_SLOW_RANK = 15,
	OUTCOME_DIVERGED = 16, /* call signatures differ, no failure yet */
	OUTCOME_NOT_FIRED = 20,
	OUTCOME_UNSUPPORTED = 77 /* the machine lacks something the run needs */
};

/* "ok" "internal" "usage" "hang" "error" "wrong-data" "slow" "died" "slow-rank" "diverged"
 * "not-fired" "unsupported". */
const char *outcome_name(enum outcome outcome);

/* Returns the outcome named `name`, or -EINVAL. */
int outcome_parse(const char *name);

/* Returns the outcome that a run with both reports: 14, 11, 10, 12, 16, 15, 13 in this order, ok
 * last. Usage, internal, unsupported and not-fired win over all: the run proves nothing. */
enum outcome outcome_worse(enum outcome a, enum outcome b);

/* Checks --expect OUTCOME[:CLASS][:RANKS]: 0 or -EINVAL. RANKS: "1,3". "ok" stands alone. */
int expect_check(const char *spec);

/* Copies the CLASS of a valid spec, "" if it has none. Returns buf. */
char *expect_class(const char *spec, char *buf, size_t len);

/* Returns the exit code of a run with this `outcome`, `class` ("": none) and culprits `ranks`
 * ("1,3", "": none) when `spec` was expected. Without spec (NULL) that is the outcome; with one 0
 * for a match, else 1. Usage and unsupported stay unless expected: the run did not happen. */
int expect_exit_code(const char *spec, enum outcome outcome, const char *class, const char *ranks);
