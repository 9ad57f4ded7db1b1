/* outcome.h: what became of a run, as exit code, as word, and against what was expected. */
#pragma once

/* The values are the exit codes (README.md). */
enum outcome {
	OUTCOME_OK = 0,
	OUTCOME_INTERNAL = 1,
	OUTCOME_USAGE = 2,
	OUTCOME_HANG = 10,
	OUTCOME_ERROR = 11, /* NCCL, CUDA or MPI said so */
	OUTCOME_WRONG_DATA = 12,
	OUTCOME_SLOW = 13, /* below the required bandwidth */
	OUTCOME_DIED = 14, /* a rank's process ended, exit included */
	OUTCOME_SLOW_RANK = 15,
	OUTCOME_DIVERGED = 16, /* call signatures differ, nothing failed yet */
	OUTCOME_NOT_FIRED = 20,
	OUTCOME_UNSUPPORTED = 77 /* needs something this machine lacks */
};

/* "ok" "internal" "usage" "hang" "error" "wrong-data" "slow" "died" "slow-rank" "diverged"
 * "not-fired" "unsupported". */
const char *outcome_name(enum outcome outcome);

/* The outcome named `name`, or -EINVAL. */
int outcome_parse(const char *name);

/* Of two outcomes the one that a run reports: 14, 11, 10, 12, 16, 15, 13 in this order, ok last;
 * usage, internal, unsupported and not-fired win over all of these, since then the run proves
 * nothing. */
enum outcome outcome_worse(enum outcome a, enum outcome b);

/* --expect OUTCOME[:CLASS[:RANKS]]: 0 when the spec is well formed, else -EINVAL. RANKS is a
 * list as in "1,3". "ok" stands alone: it has neither class nor ranks. */
int expect_check(const char *spec);

/* The CLASS of a well-formed spec, "" when it names none. Returns buf. */
char *expect_class(const char *spec, char *buf, size_t len);

/* The exit code of a run that ended as `outcome`, with `class` ("" for none) and the culprits `ranks`
 * ("1,3", "" for none), when `spec` was expected: without spec (NULL) the outcome itself; 0 when
 * it matches; else 1. Usage errors stay 2 and unsupported stays 77 unless they were expected:
 * they say that the run did not happen. */
int expect_exit_code(const char *spec, enum outcome outcome, const char *class, const char *ranks);
