/* desync.h: the first call in which members of a communicator differ. Compares collectives at
 * equal numbers, live: by marks, and by records where marks differ. Sends and receives differ by
 * right. Reads memories that are being written, and neither waits for their writers nor makes
 * them wait.
 *
 * Cost: of few calls each is compared; of many, marks: RECORD_STRIDE calls of every rank at
 * most, each time. */
#pragma once

#include "run/progress.h"

/* How far a rank's collectives are known to be equal to the other members'; zeroed at first. */
struct desync_state {
	uint64_t alike[VIEW_COMMS];  /* so many */
	uint64_t ticket[VIEW_COMMS]; /* of the last of these */
	uint32_t differs;	     /* bit c: further ones are not compared */
};

/* Ranks made different calls: a minority others than the rest. */
struct desync {
	uint32_t comm;
	uint64_t low, high; /* call number, twice; or numbers of collectives around the first one */
	char ranks[64];	    /* the minority, "1,3" */
	char text[512];	    /* a line without '#' or newline */
};

/* Compares what was issued since the last time, by the memories of `progress`; states[i] belongs
 * to rank i of it. YES: a majority of a communicator's members made the same calls and others
 * did not, once for a communicator; then it is to be called again. UNKNOWN: a side has no
 * majority, or records have left the rings. Members on other hosts count for neither side; two
 * have no majority. Pure but for the states. */
enum progress_answer progress_desync(const struct progress *progress, struct desync_state *states,
				     struct desync *found);

/* The answer of call counts and rolling hashes of all communicators at the end of a run. */
enum desync_counts {
	COUNTS_ALIKE,
	COUNTS_UNEQUAL,	 /* some members made fewer calls, or other sends and receives */
	COUNTS_DIFFERENT /* as many collectives, and others */
};

/* The worst of all communicators. A process without a rank makes no calls by right. */
enum desync_counts progress_compare_counts(const struct progress *progress);

/* Returns true if there are sends or receives: no hash says whether all have met. */
bool progress_any_pairs(const struct progress *progress);
