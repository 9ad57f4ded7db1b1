/* meter.h: what the calls of a run cost: totals and samples in, a row per communicator and kind of call out. Pure.
 *
 * Totals count all calls of a rank. Samples say how long some took: a sample stands for the calls of its communicator
 * that were made since the samples before it (struct meter_member's `gaps`), so that a rate of sampling that changes is no matter. In a
 * call that no rank leaves before all have come the rank that came last waits least: what the others took longer they waited,
 * and the least duration moves data. */
#pragma once

#include "base/call_value.h"
#include "pace/pace.h"

#define METER_ROWS   12	  /* of the printed table */
#define METER_KEPT   2048 /* durations that a row keeps: of more, so many at random */
#define METER_LAST   16 /* two blocks of calls that are sampled together (preload/library/stamps.c) */
#define METER_OPEN   1024  /* calls of a communicator to which not all have come; a power of two */
#define METER_EVENTS 50000 /* sampled calls of ranks that a trace has at most: two slices each */

/* One rank's calls of one kind; times in ns, each times the calls that its sample stands for. */
struct meter_member {
	uint64_t calls;	   /* all, by the rank's own count; 0: not known */
	uint64_t handed;   /* of these, to meters of a time that is over */
	double held, gaps; /* durations, and the calls for which they stand */
	double waited, waited_gaps;
};

struct meter_kind {
	uint64_t calls, bytes; /* all of the rank that made most */
	uint64_t bytes_handed;
	size_t samples; /* calls with a duration */
	double *took;	/* ns, METER_KEPT: the least duration of the ranks, of calls that all
	                        * have come to; else a rank's */
	double moved_ns,
		moved_bytes; /* of calls that all have come to; bytes times the bus factor */
	struct meter_member *members;
};

struct meter_comm {
	uint64_t id;
	int n;		/* ranks */
	char name[32];	/* NCCL's, "" where it has none */
	int32_t *ranks; /* by member, of the run; -1: not known */
	uint64_t *last; /* by member, how many calls were sampled, and the newest METER_LAST */
	struct meter_kind *kinds[CALL_KIND_COUNT]; /* NULL: no such call */
	struct meter_open *open;		   /* internal */
};

/* A sampled call of a rank. */
struct meter_event {
	uint64_t arrived_ns, seq, id;
	float took, waited; /* ns; waited is NaN where it is not known */
	int32_t rank;
	uint16_t comm; /* place in meter.comms */
	uint8_t kind;
};

struct meter_rank {
	uint64_t first_ns, last_ns; /* arrival and end of samples, by its clock; 0: none */
	bool device;		    /* the clock is its device's */
};

struct meter {
	struct meter_comm *comms;
	size_t ncomms;
	struct meter_rank *ranks; /* by rank of the run */
	int nranks;
	bool traces; /* events are kept; the caller sets it */
	struct meter_event *events;
	size_t nevents;
	unsigned shift; /* 1 of 2^shift sampled calls is among the events */
};

/* Some calls. Shares are of the time from the first to the last sample, 0.1 for 10 %, the mean over ranks; NaN: not
 * known, as without samples. */
struct meter_row {
	const struct meter_comm *comm; /* NULL: rows that were summed */
	size_t number;		       /* its place in meter.comms */
	int kind;
	size_t rows; /* that were summed */
	uint64_t calls, bytes;
	size_t samples;
	double median_ns,
		p95_ns; /* of what moves data; of calls that a rank may leave early, its duration */
	double busbw;	/* bytes per second */
	double held, waited; /* the stream was in such calls; of that, waiting for others */
	int32_t most, least; /* ranks that waited most and least; -1: not known */
	double most_waited, least_waited;
};

/* A zeroed meter is open. */
void meter_release(struct meter *meter);

/* Takes a sample. Samples of one rank and communicator come in the order of their calls. One that cannot be is left
 * out. `here`: of this host, whose clock the events have. */
void meter_add(struct meter *meter, const struct pace_sample *sample, bool here);

/* Sets what a rank has counted of its calls of one kind; `who` has communicator, rank, member, nmembers and kind. */
void meter_total(struct meter *meter, const struct pace_sample *who, uint64_t calls,
		 uint64_t bytes);
/* Sets the totals of `window`, which has the samples of the newest time, to what came since the last call of this. */
void meter_window(struct meter *meter, struct meter *window);
/* Sets the name of a communicator that is known. */
void meter_name(struct meter *meter, uint64_t comm, const char *name);

/* Closes the calls that were open at the last settling, too: a rank makes no samples of them. Once a second. */
void meter_settle(struct meter *meter);

/* Seconds from the first to the last sample of the rank that has most. */
double meter_seconds(const struct meter *meter);

/* Rows by the time that they take, for free(); `most` at most, the last one the sum of those that do not fit (0: all).
 * `seconds`: that shares are of. */
struct meter_row *meter_rows(const struct meter *meter, double seconds, size_t most, size_t *n);
/* All rows in one, with the ranks' waiting in all of their communicators. */
struct meter_row meter_whole(const struct meter *meter, double seconds);
/* A rank's calls in a row of meter_rows(): held and waited shares, of its duration. NaN: not known. */
void meter_member(const struct meter_row *row, int member, double seconds, double *held,
		  double *waited);

/* ---- text (meter_text.c) ---- */

/* "ranks 0-3", or its name. Returns buf. */
char *meter_label(const struct meter_comm *comm, char *buf, size_t len);
/* The table, lines that begin with "# "; of `columns` columns at most. Nothing without samples. */
void meter_print(FILE *out, const struct meter *meter, int columns);
/* One line without an end, of a meter of the last `seconds`. Returns buf. */
char *meter_line(const struct meter *meter, double seconds, char *buf, size_t len);
/* A row for each communicator, kind and rank (-1: all of them); Prometheus text; Chrome's trace. */
void meter_csv(FILE *out, const struct meter *meter);
void meter_prometheus(FILE *out, const struct meter *meter, bool over);
void meter_trace(FILE *out, const struct meter *meter);
