/* unison.h: do all ranks of a host make the same calls? Compares, communicator by communicator, what their
 * flight recorders hold at equal numbers of collectives; sends and receives differ by right. Reads memories
 * that are being written, and neither waits for their writers nor makes them wait.
 *
 * Cost: of few calls each is compared; of many, marks: RECORD_STRIDE calls of every rank at most, each time. */
#pragma once

#include "record/record.h"
#include "record/view.h"

/* How far a rank's collectives are known to be the others'; zeroed at first. */
struct unison_rank {
	uint64_t alike[VIEW_COMMS];  /* so many */
	uint64_t ticket[VIEW_COMMS]; /* of the last of these */
	uint32_t parted;	     /* bit c: further ones are not compared */
};

struct unison_member {
	const struct record_memory *memory;
	const struct rank_view *view; /* just read from it */
	struct unison_rank *state;
};

/* Ranks made different calls: a minority others than the rest. */
struct unison_found {
	uint32_t comm;
	uint64_t low,
		high; /* number of the call on it, twice; or, where that has left the rings, numbers
	                     * of collectives from which to which they did first */
	char ranks[64]; /* the minority, "1,3" */
	char text[512]; /* a line without '#' or newline */
};

/* Compares what was issued since it was last asked. Returns true if a majority of a communicator's members
 * made the same calls and others did not, once for a communicator; then it is to be asked again. Members on
 * other hosts count for nothing; two have no majority. Pure but for the states. */
bool unison_look(const struct unison_member *members, size_t n, struct unison_found *found);
