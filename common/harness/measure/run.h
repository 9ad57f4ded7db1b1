/* run.h: a whole run on one rank: the sweep, point by point, and its result. */
#pragma once

#include "measure/bench.h"
#include "measure/soak.h"
#include "process/launch.h"
#include "base/outcome.h"
#include "report/report.h"

/* A hook sees the rows of a run and writes notes at its end: the reasons of slow rows. */
struct run_hook {
	void *ctx;
	/* A row with its predicted fields. */
	void (*row)(void *ctx, const struct row *row);
	/* After the last row: writes notes, if any. Returns 0 or a negative errno. */
	int (*finish)(void *ctx, struct report *report);
};

struct run {
	struct bench *bench;
	struct report *report; /* rank 0 only, else NULL */
	/* Rank 0; NULL: off. */
	const struct run_hook *reconciler;
	struct soak soak;	       /* rank 0, for more than one cycle */
	size_t at;		       /* rows of this cycle */
	enum outcome outcome;	       /* ok, wrong data or too slow */
	char culprits[64];	       /* ranks with wrong data, "1,3" */
	long long points, done;	       /* for the progress line; rank 0 */
	double started, point_seconds; /* of the newest row */
	enum progress_line progress;
	size_t too_small;  /* number of sizes too small for the number of ranks */
	int calls_checked; /* for a schedule with faults */
	struct memory_use memory;
};

/* Returns the largest buffer of any point of the sweep on any rank, bytes. */
size_t run_largest(const struct bench *bench);

/* Measures every point of every cycle. 0 or a negative errno with the error set. Collective. */
int run_sweep(struct run *run);

/* Stores the culprits of a failed check: the ranks with wrong data or, if all have wrong data, the
 * rank with the wrong contribution, if known. Does nothing for a report without wrong elements. */
void run_note_culprits(struct run *run, const struct check_report *report);

/* Rank 0, from another thread, when a signal ends the run: writes the closing lines of the rows so
 * far, unless they are written. Later rows wait for ever. Not collective. */
void run_interrupted(struct run *run);

/* Writes the closing lines; ok, wrong data or slow by rank 0's figures for all. Collective. */
int run_finish(struct run *run);
