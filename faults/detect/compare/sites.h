/* sites.h: the lines of code that calls came from, side by side. */
#pragma once

#include "run/comm.h"

/* The call in which ranks' lines of code part, though their calls are alike. */
struct site_break {
	enum deviation_kind kind; /* SKIPPED, EXTRA, UNCLEAR (of these), NONE */
	int rank;
	uint64_t seq, shift;
	uint64_t agreed; /* calls behind it with the others' lines, so moved */
	bool before;	 /* it lies before the calls that are known, of which `seq` is the first */
	/* Then the line that was left out or made too often, as the counters of all calls tell;
	 * NULL: they do not. */
	const struct record_site *line;
	uint64_t mine, theirs, of; /* times that the rank, and each other, made it; of so many */
};

/* Returns true if this one rank made call `seq` at a line of its own, and all others at one line:
 * it took another path. */
bool progress_path_of_one(const struct progress_comm *comm, const struct rank_set *one,
			  uint64_t seq);

/* The first collective in which a rank's line is not most ranks', and from which on its lines are
 * theirs moved. Where there are two ranks the first stands for most. Marks the ranks that differ
 * so. */
struct site_break progress_site_break(const struct progress_comm *comm, struct rank_set *same);
