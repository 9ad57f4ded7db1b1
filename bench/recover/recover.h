/* recover.h: a communicator that is broken on purpose and brought back: what parent and ranks share. Internal to recover_perf. */
#pragma once

#include <stdatomic.h>

#define RECOVER_RANKS 16

/* How the communicator breaks, and how the survivors go on. The last rank breaks it, with two-killed the last two. */
/* clang-format off */
#define RECOVER_BREAKS(row) \
	row(NONE, "none", "the last rank leaves a healthy communicator") \
	row(KILL, "killed", "killed before the call") \
	row(STOP, "stopped", "SIGSTOP before the call") \
	row(HOST, "host", "its host thread does not come to the call") \
	row(GPU, "gpu", "its call waits behind a stuck stream") \
	row(MID, "mid-call", "killed inside of a large all-reduce") \
	row(INIT, "init", "it does not come to the first init") \
	row(TWO, "two-killed", "two ranks killed at once")
#define RECOVER_CURES(row) \
	row(ABORT, "abort", "ncclCommAbort, then init anew") \
	row(SHRINK, "shrink", "ncclCommShrink, default flags") \
	row(SHRINK_ABORT, "shrink-abort", "ncclCommShrink that aborts what runs") \
	row(REVOKE, "revoke", "ncclCommRevoke, then shrink") \
	row(SPLIT, "split", "ncclCommSplit by the survivors alone") \
	row(GROW, "grow", "shrink-abort, then ncclCommGrow with a new process")
/* clang-format on */

#define RECOVER_ID(id, name, help) RECOVER_##id,
enum recover_break { RECOVER_BREAKS(RECOVER_ID) RECOVER_BREAK_KINDS };
#undef RECOVER_ID
#define RECOVER_ID(id, name, help) RECOVER_CURE_##id,
enum recover_cure { RECOVER_CURES(RECOVER_ID) RECOVER_CURE_KINDS };
#undef RECOVER_ID

enum recover_result {
	RECOVER_RUNS,
	RECOVER_RIGHT, /* the survivors' sum came out right */
	RECOVER_WRONG, /* it did not */
	RECOVER_ERROR, /* a call failed: `why` */
	RECOVER_LACKS  /* the library or the machine lacks something: `why` */
};

/* A rank's own words. Times are clock_seconds(), 0: not yet. */
struct recover_slot {
	_Atomic int result;   /* enum recover_result */
	_Atomic double since; /* when the call began in which it is; 0: in none */
	_Atomic(const char *)
		call; /* its name: static text of the program, which all ranks share by fork */
	double broke; /* of one that breaks it */
	double noticed, out, made, first;
	int64_t lost; /* bytes of GPU memory that are not free again */
	int files;    /* descriptors more than before */
	char why[160];
};

struct recover_shared {
	/* The cell, set before the ranks start. */
	enum recover_break how;
	enum recover_cure cure;
	int nranks, broken, gpus; /* ranks at first; how many of them break; GPUs in use */
	double notice;		  /* seconds after which survivors call a wait a hang */
	size_t bytes;		  /* of the large all-reduce */
	/* Between the ranks. */
	_Atomic int met[8];   /* how many came to a place */
	_Atomic bool cleared; /* the broken ranks are gone */
	char id[2][128]; /* unique ids: of the first communicator, and of the second or of growth */
	unsigned lacks;	 /* cures that the library does not have, bits */
	int version;	 /* the library's */
	struct recover_slot slots[RECOVER_RANKS + 1]; /* the last: a process that joins */
};

/* Returns true for a rank that breaks the communicator: the last ones do, the others survive. */
static inline bool recover_breaks(const struct recover_shared *s, int rank)
{
	return rank >= s->nranks - s->broken;
}

/* Finds the libraries: the version and the number of GPUs, or 1 and slots[0].why, what is missing. In a process of its own. */
int recover_probe(struct recover_shared *s);

/* A rank from its start to its end, in a process of its own; rank `nranks` is one that joins. Its slot has the result.
 * Returns its exit code. */
int recover_rank(struct recover_shared *s, int rank);
