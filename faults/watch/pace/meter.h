/* meter.h: what the calls of a run cost: totals and samples in, a row per communicator and kind of call out. Pure.
 *
 * Totals count all calls of a rank. Samples say how long some took: a sample stands for the calls of its communicator
 * that were made since the samples before it, so that a rate of sampling that changes is no matter. In a call that no
 * rank leaves before all have come the rank that came last waits least: what the others took longer they waited, and
 * the least duration moves data. */
#pragma once

#include "base/call_value.h"
#include "base/error.h"
#include "pace/pace.h"

#define METER_ROWS 12	/* of the printed table */
#define METER_KEPT 2048 /* durations that a row keeps: of more, so many at random */
#define METER_LAST 16 /* two blocks of calls that are sampled together (preload/library/stamps.c) */
#define METER_LONG                                                                                 \
	250000000ull /* ns: longer calls are told one by one, and no sample stands for others */
#define METER_EVENTS 50000 /* sampled calls of ranks that a trace has at most: two slices each */

/* A rank's calls of one kind; ns, times the calls for which a sample stands. */
struct meter_member {
	uint64_t calls; /* all, by the rank's own count; 0: not known */
	struct {
		double ns, calls; /* the latter: those calls */
	} held, waited;
	double long_held, long_waited; /* ns, of calls longer than METER_LONG (meter_long) */
};

struct meter_kind {
	uint64_t calls, bytes; /* all of the rank that made most */
	size_t samples;	       /* calls with a duration */
	double *took;	       /* METER_KEPT, ns: the ranks' least, where it is known who waited */
	double *moved;	       /* of the same calls, bytes times the bus factor; 0: not known */
	struct meter_member *members;
};

struct meter_comm {
	uint64_t id;
	int n;		/* ranks */
	char name[32];	/* NCCL's, "": none */
	int32_t *ranks; /* by member, of the run; -1: not known */
	uint64_t *last; /* of each, how many were sampled, and the newest */
	struct meter_kind *kinds[CALL_KIND_COUNT]; /* NULL: no such call */
	struct meter_open *open;		   /* internal */
};

/* A sampled call of a rank; waited is NaN where it is not known. */
struct meter_event {
	struct pace_sample sample;
	double took_ns, waited_ns;
};

struct meter {
	struct meter_comm *comms;
	size_t ncomms;
	uint64_t (*spans)[2]; /* by rank of the run, ns: first arrival, last end; 0: none */
	int nranks;
	double seconds; /* from the first to the last sample of the rank that has most */
	bool traces;	/* events are kept; the caller sets it */
	const struct meter_model *model; /* of predictions, borrowed; NULL: none; the caller's */
	struct meter_event *events;
	size_t nevents;
	unsigned shift; /* 1 of 2^shift sampled calls is among the events */
};

/* Some calls. NaN: not known. Percent are of the time from the first sample to the last, the mean of ranks. */
struct meter_row {
	const struct meter_comm *comm; /* NULL: of several rows */
	size_t number, rows;	       /* its place in meter.comms; rows that were summed */
	int kind;
	int32_t rank; /* -1: all */
	double calls, bytes, samples;
	double median_us, p95_us; /* of moving data, or of all that it took */
	double busbw_gbs; /* half of the bytes moved at more: a first call, which connects, weighs as its bytes */
	double predicted_gbs; /* of a call of its mean size, on the topology that the user named */
	double held_percent, waited_percent; /* in such calls; waiting in them for others */
	int32_t most, least;		     /* ranks that waited most and least; -1: not known */
	double most_percent, least_percent;
};

/* A zeroed meter is open. */
void meter_release(struct meter *meter);

/* Takes a sample, in the order of a rank's calls on a communicator. `here`: of this host, for events. */
void meter_add(struct meter *meter, const struct pace_sample *sample, bool here);

/* Adds so much time in a call of this host that takes longer than METER_LONG, from who->arrived_ns to through_ns so far, and of
 * waiting there for others. Samples of such calls count as calls alone. */
void meter_long(struct meter *meter, const struct pace_sample *who, double held_ns,
		double waited_ns);

/* Sets what a rank has counted of its calls of one kind, `who`; `name`: of the communicator. */
void meter_total(struct meter *meter, const struct pace_sample *who, uint64_t calls, uint64_t bytes,
		 const char *name);

/* Closes the calls that were open at the last settling, too: a rank makes no samples of them. Once a second. */
void meter_settle(struct meter *meter);

/* Rows by the time that they take, for free(); `most` at most, the last one the sum of those that do not fit (0: all). */
struct meter_row *meter_rows(const struct meter *meter, size_t most, size_t *n);
/* All rows in one, with the ranks' waiting in all of their communicators. */
struct meter_row meter_whole(const struct meter *meter);
/* A member's part of a row; its median, p95 and busbw are the row's. */
struct meter_row meter_member(const struct meter *meter, const struct meter_row *row, int member);

struct meter_model;
/* A machine, by the name of a spec or a topology file (topo/topo.h). NULL with the error set. For free(). */
struct meter_model *meter_model_open(const char *topo, struct error *err);
/* Bus bandwidth (GB/s) of a collective of `nranks` ranks with so many bytes on such nodes. NaN: the model has none. */
double meter_predicted(const struct meter_model *model, int kind, int nranks, double bytes);

/* "ranks 0-3", or its name. Returns buf. */
char *meter_label(const struct meter_comm *comm, char *buf, size_t len);
/* The table, lines that begin with "# "; of `columns` columns at most. Nothing without samples. */
void meter_print(FILE *out, const struct meter *meter, int columns);
/* A row for each communicator, kind and rank (-1: all of them); Prometheus text; Chrome's trace. */
void meter_csv(FILE *out, const struct meter *meter);
void meter_trace(FILE *out, const struct meter *meter);
/* `job`: a label of each series; "": none. */
void meter_prometheus(FILE *out, const struct meter *meter, const char *job);
/* "1,234"; "1.23 GB" from bytes. Return buf, of METER_CELL bytes. */
#define METER_CELL 24
char *meter_count(double n, char *buf);
char *meter_bytes(double bytes, char *buf);
