/* status.h: the state of a run, in words: per communicator the ranks that have come to which call;
 * per rank its call, what it waits for, and what has passed since the last look. Pure. */
#pragma once

#include "base/json_value.h"
#include "run/progress.h"

/* Counters of a rank of this host since the last look. Zeroed at first. */
struct status_counts {
	double waited;	/* seconds in which it was in a call that another rank had not come to */
	double awaited; /* in which it was that other one */
	bool waits, is_awaited;			      /* at the last count */
	uint64_t done[VIEW_COMMS];		      /* calls that were over at the last look */
	double before[VIEW_COMMS], bytes[VIEW_COMMS]; /* of all calls at the last look, and since */
};

struct status_rank {
	const struct rank_view *view;
	const struct status_counts *counts; /* NULL: of another host */
	const char *doing;		    /* the line of code, "" for unknown */
};

/* `seconds` have passed since the last one, in which the ranks of a host were as they are. */
void status_count(struct status_counts *counts, const struct progress *progress, double seconds);

/* Bytes of all calls on a communicator, by the rank's own count. */
double status_bytes(const struct record_memory *memory, uint32_t comm);

/* Lines that begin with "# ", of STATUS_WIDTH characters at most: "#   " goes on with the line above. Ranks that wait alike have
 * one line. `seconds` since the last look. Sorts the ranks by their numbers. Returns for how many seconds calls have stood still
 * on all communicators that have any; 0: some move, or stand for less than STATUS_STILL. */
#define STATUS_WIDTH 120
#define STATUS_STILL 5.0
double status_print(FILE *out, struct status_rank *ranks, size_t n, double seconds);
/* The same as a value, which the caller owns. */
json_t *status_json(const char *title, struct status_rank *ranks, size_t n, double seconds);
