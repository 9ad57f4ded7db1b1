/* row.h: one measured point, and the columns it is printed as. Every sink walks row_columns[]. */
#pragma once

#include "check/check.h"
#include "base/stats.h"

/* Changes when a column is removed, renamed or changes its meaning; adding one keeps it. First
 * column of the CSV. */
#define ROW_SCHEMA 1

struct row {
	/* The point. Groups have no names: a field is row->FIELD. */
	struct {
		int32_t schema;
		const char *collective; /* "all_reduce" */
		const char *backend;	/* "nccl" "mpi" */
		int32_t nranks, nnodes;
		uint64_t size;		  /* bytes */
		uint64_t count;		  /* elements */
		const char *type, *redop; /* dtype_name, redop_name */
		int32_t root;		  /* -1: none */
		const char *placement;	  /* "out-of-place" "in-place" */
		const char *mode;	  /* "stream" "isolated" "graph" */
		int32_t cycle;		  /* -N */
	};
	/* The measurement. */
	struct {
		double time_us; /* median over the samples; a sample is the slowest rank's time per
	                         * call (-a says otherwise) */
		double algbw_gbs, busbw_gbs; /* 1e9 bytes per second */
		int64_t wrong;		     /* wrong elements over all ranks; -1: not checked */
		double mean_us, min_us, p5_us, p95_us, p99_us, max_us, stddev_us;
		double ci_low_us, ci_high_us, ci_percent;
		int64_t samples;      /* how many */
		int64_t calls;	      /* calls per sample */
		const char *stop;     /* why sampling ended: "ci" "budget" "count" */
		double enqueue_us;    /* host time per call to issue it, slowest rank's median */
		int32_t slowest_rank; /* the rank that was slowest most often */
		double rank_spread_percent; /* (slowest - fastest rank's median) / fastest */
		int64_t warmup_calls;
	};
	/* The topology predicts this (struct predictor); NaN and NULL where it says nothing. */
	struct {
		double predicted_us, predicted_busbw_gbs;
		double predicted_low_gbs, predicted_high_gbs; /* nine in ten lay between */
		double ceiling_busbw_gbs;		      /* what the links could carry */
		double of_predicted_percent; /* predicted time over measured time */
		double of_ceiling_percent;   /* measured busbw over the ceiling */
		const char *predicted_algo, *predicted_proto;
		int32_t predicted_channels; /* -1: none */
	};
	/* The library really did this in an untimed call (base/nccl_profiler.h); NULL, -1: it did
	 * not say. */
	struct {
		const char *used_algo, *used_proto;
		int32_t used_channels;
	};
	char timestamp[32];	    /* local time with zone, ISO 8601 */
	struct check_report report; /* of the first bad rank; wrong == 0 when all is right */
	/* Detail for JSON, owned by whoever fills the row: (skipped + samples) x nranks, row-major,
	 * us. May be NULL. */
	const double *sample_times_us;
	int64_t skipped; /* -K: samples of it that come first and count for nothing else */
	const struct stats *per_rank; /* nranks entries, us; may be NULL */
};

enum column_type {
	COLUMN_INT32,
	COLUMN_INT64,
	COLUMN_UINT64,
	COLUMN_DOUBLE,
	COLUMN_STRING /* const char * */,
	COLUMN_TEXT, /* char[] in place */
	COLUMN_WRONG /* int32_t, enum wrong_kind */
};

struct column {
	const char *name;    /* CSV and JSON name with the unit in it: "time_us" */
	const char *heading; /* one word for the table beyond nccl-tests' 13, NULL: not in
	                      * the table */
	const char *unit;    /* "us" "GB/s" "B" "" */
	const char *help;    /* one line */
	enum column_type type;
	size_t offset;	/* in struct row */
	bool predicted; /* in the table only where predictions are made */
};

/* Predictions of rows, and what they came to; made of a topology elsewhere. */
struct predictor {
	void *ctx;
	/* Fill in the row's predicted fields; those of a row it knows nothing of stay as they
	 * are. */
	void (*row)(void *ctx, struct row *row);
	/* Writes what the rows so far came to, as a remark. Returns the median of measured speed
	 * over the lower end of what is predicted (its error bar; where it was never scored, over
	 * the prediction) in percent, NaN when nothing was predicted, or the predictions are no
	 * measure of this run. */
	double (*reached)(void *ctx, char *text, size_t len);
};

/* Set the predicted fields to "nothing is known". */
void row_no_prediction(struct row *row);

extern const struct column row_columns[];
extern const size_t row_column_count;

/* Behind them: what was wrong, of rows whose check failed. */
enum { WRONG_COLUMNS = 5 };
extern const struct column wrong_columns[WRONG_COLUMNS];

/* The cell as text: doubles with up to 6 significant decimals; NaN
 * and infinity as "nan" and "inf". Returns buf. */
char *column_format(const struct column *column, const struct row *row, char *buf, size_t len);

/* ---- the out-of-place and the in-place row of one point ---- */

enum { PAIR_OUT, PAIR_IN, PAIR_SIDES };

/* Held until both are there: a line of nccl-tests' table and a result of its JSON show the two side by
 * side. Zeroed is empty. The rows' strings are borrowed and must stay (they are names from const tables);
 * their detail arrays are copied. */
struct row_pair {
	bool has[PAIR_SIDES];
	struct row rows[PAIR_SIDES];
};

/* Returns true when nothing is held. */
bool row_pair_empty(const struct row_pair *pair);

/* Returns true when `row` may stand beside what is held: it is empty, or `row` is the missing
 * in-place twin of the same point. */
bool row_pair_takes(const struct row_pair *pair, const struct row *row);

/* Hold a copy of a row that row_pair_takes(). */
void row_pair_put(struct row_pair *pair, const struct row *row);

/* Forget what is held and free it. */
void row_pair_clear(struct row_pair *pair);

/* Any row of the pair that holds what both share: size, count, type, operator, root. The pair is
 * not empty. */
const struct row *row_pair_any(const struct row_pair *pair);

/* Returns true when this column is one of those that name the point, the same in both
 * placements. */
bool row_pair_shared(const struct column *column);
