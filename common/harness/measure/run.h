/* run.h: a whole run on one rank: the sweep, point by point, and what it came to. */
#pragma once

#include "measure/bench.h"
#include "measure/soak.h"
#include "process/launch.h"
#include "base/outcome.h"
#include "report/report.h"

/* A hook sees the rows of a run and has remarks at its end: what made rows slow (reconcile), what
 * vendors say of the links. */
struct run_hook {
	void *ctx;
	/* A row, its predicted fields filled in. */
	void (*row)(void *ctx, const struct row *row);
	/* After the last one: its remarks, if there are any. 0 or a negative errno. */
	int (*finish)(void *ctx, struct report *report);
};

struct run {
	struct bench *bench;
	struct report *report; /* rank 0 only, else NULL */
	/* Rank 0; NULL: not asked for. */
	const struct run_hook *reconciler, *vendor;
	struct soak soak;	/* rank 0, of more than one cycle */
	size_t at;		/* rows of this cycle */
	enum outcome outcome;	/* ok, wrong data or too slow */
	char culprits[64];	/* ranks with wrong data, "1,3" */
	long long points, done; /* for the progress line; rank 0 */
	double started;
	enum progress_line progress;
	size_t too_small;  /* sizes that left nothing per rank */
	int calls_checked; /* of a schedule with faults */
	size_t memory_init, memory_buffers, memory_collectives; /* -M: bytes in use on the device */
};

/* Largest buffer of any point of the sweep, bytes, on any rank. */
size_t run_largest(const struct bench *bench);

/* Measure every point of every cycle. 0, or a negative errno with the error set. Collective. */
int run_sweep(struct run *run);

/* A check found wrong data: remember whose; where all ranks have them, whose contribution
 * is at fault, if that is known. A report without wrong elements is fine. */
void run_note_culprits(struct run *run, const struct check_report *report);

/* Closing lines; decides between ok, wrong data and slow. Rank 0's figures; the outcome is
 * spread to all. Collective. */
int run_finish(struct run *run);
