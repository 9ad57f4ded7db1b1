/* point_rig.h: a job, buffers, a watch and a filter of calls, for points on the mpi backend. */
#pragma once

#include "bench/perf_main.h"
#include "base/clock.h"
#include "options/options.h"
#include "measure/point.h"
#include "rig/job_rig.h"
#include "rig/unit.h"

enum { RANKS = 3, ALL = -1, NO_RANK = -2 };

extern struct error rig_err;
extern struct job job;
extern struct backend *be;
extern struct options options;
extern struct bench bench;
extern struct measured measured; /* by rig_measure */

struct seen {
	enum phase phase;
	int calls[PHASE_DONE + 1], depth, deepest, endless, works;
	double timed_deadline; /* of the last wait for timed calls */
	int misplaced;	       /* timed batches in another phase */
	int untouched_calls;   /* timed calls on untouched memory */
	int far;	       /* calls on slots beyond the limit for the pools */
};
extern struct seen seen;

/* A failure: call number `nth` (from 1, of those in `phase`) on `rank`. */
struct failure {
	int rank;
	enum phase phase;
	int nth;
	bool drop;	    /* the call is dropped; else a bit of the result is changed */
	size_t bytes;	    /* only in points of this size, 0: all */
	double delay;	    /* seconds by which every call of `phase` is longer */
	double delay_after; /* the same on this rank only: no rank waits for it */
};
extern struct failure failure;

void rig_set_up(const struct collective *c, int argc, const char *const *argv);

#define SET_UP(collective, ...)                                                                    \
	rig_set_up(collective, (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),    \
		   (const char *[]){ __VA_ARGS__ })

int rig_measure(size_t bytes, bool in_place);

/* Checks the invariants after any point, and releases it. */
void rig_done(void);

int rig_main(void);
