/* progress.h: how far the ranks of a run have come through the calls of their communicators. Live views and saved
 * evidence fill it; the questions stand in the headers beside this one. */
#pragma once

#include "record/view.h"

struct call_times;

/* One rank: its view, and what more is at hand. */
struct progress_rank {
	const struct rank_view *view;	    /* its state, and how many calls it has made */
	const struct record_memory *memory; /* live, of this host: marks and ring; else NULL */
	const struct record *calls;	    /* its records; NULL: they are not loaded */
	const struct call_times *times;
	size_t ncalls;
};

struct progress {
	struct progress_rank *ranks;
	int nranks;
};
