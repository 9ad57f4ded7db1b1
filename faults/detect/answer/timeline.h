/* timeline.h: the calls of all ranks around the divergence on one time axis, to look at: a
 * Chrome trace and a table that plots/timeline.gp draws.
 *
 * It shows: from TIMELINE_BEFORE calls before the lower of divergence and hang point to the
 * end, at most TIMELINE_CALLS of a rank. Times are as hostile as the evidence: a call whose
 * times cannot be (after the verdict, a day before it, ending before it began) is left out and
 * counted. Clocks of several hosts are aligned on the end of the last call that all completed. */
#pragma once

#include "answer/answer.h"
#include "evidence/evidence.h"

#define TIMELINE_BEFORE 4
#define TIMELINE_CALLS	64
#define TIMELINE_TRACE	65536 /* calls of all ranks together of a run that came to its end */
#define TIMELINE_LANES	128   /* ranks in the trace: those drawn, then by number */
#define TIMELINE_DRAWN	16    /* all ranks, else the culprits, their neighbours, first and last */
#define TIMELINE_BREAKS 8

enum span_state {
	SPAN_DONE,	/* completed, as far as the recorder saw */
	SPAN_FAILED,	/* the backend returned an error */
	SPAN_QUEUED,	/* returned; over or not is not known */
	SPAN_UNFINISHED /* started and never ended: it ends at the verdict */
};

/* Times in nanoseconds after the first call shown. */
struct span {
	const struct record *call;
	enum span_state state;
	double enter, leave;
	double joined; /* when the last rank entered this call; `leave` where one never did */
	double device_start, device_end; /* NAN: not sampled */
};

struct lane {
	int rank;
	bool culprit, drawn;
	struct span *spans; /* by ticket; owned */
	size_t nspans;
	double wait_since; /* start of the wait that the rank is in, NAN: none */
	uint64_t seen;	   /* when its evidence was taken, on its host's clock */
	double end;	   /* the same, on the axis */
	size_t host;	   /* in order of appearance */
	char note[192];	   /* how it stands at the verdict, in words */
};

struct gap {
	double low, high;
};

struct timeline {
	const struct evidence *evidence;
	const struct answer *diagnosis;
	struct lane *lanes; /* owned, by rank */
	size_t nlanes, ndrawn;
	size_t calls;		 /* at most so many of a lane */
	double end;		 /* the verdict */
	double divergence, hang; /* first entry into these calls, NAN: none */
	/* long stretches in which nothing begins or ends on the drawn lanes */
	struct gap breaks[TIMELINE_BREAKS];
	size_t nbreaks;
	size_t nhosts, dropped;
	char notes[512]; /* what a reader must know: clocks, what was left out; sentences */
};

/* How many of a rank's newest calls are shown of a run that came to its end. */
size_t timeline_newest(int nranks);

/* Until timeline_release. The evidence and the diagnosis must outlive it.
 * `diagnosis` NULL: the run came to its end, and the newest calls are shown. */
void timeline_init(struct timeline *timeline, const struct answer *diagnosis,
		   const struct evidence *evidence);
void timeline_release(struct timeline *timeline);

/* Returns true if there is a call on a drawn lane. Without one plots/plot draws nothing. */
bool timeline_drawable(const struct timeline *timeline);

extern const char *const span_state_names[];

/* Chrome trace format (JSON object with "traceEvents", times in microseconds): chrome://tracing
 * and Perfetto read it. A process is a rank; its threads are calls, device, and what the host
 * waits in. Whole or not at all. 0 or a negative errno. */
int timeline_save_trace(const struct timeline *timeline, const char *path);

/* Table of the drawn lanes, first line the names of columns. `row` says what a line is: title,
 * note, lane, call, break, divergence, hang, verdict. Whole or not at all. 0 or a negative errno. */
int timeline_save_csv(const struct timeline *timeline, const char *path);

/* timeline_axis.c: move the lanes' times, which count from each lane's moment `seen`, onto the axis of
 * the first host, and set `end`. A lane whose clock cannot be its host's loses its calls. Returns
 * the call on which hosts were aligned; NULL when they were aligned on `seen`. */
const struct record *axis_align(struct timeline *timeline);
/* Add to all times of a lane. */
void move_lane(struct lane *lane, double by);
void axis_breaks(struct timeline *timeline);
