/* row.h: one measured point, and its columns. Every sink walks row_columns[]. */
#pragma once

#include "check/check.h"
#include "base/stats.h"

/* Changes when a column is removed, renamed or redefined. The CSV's first column. */
#define ROW_SCHEMA 1

struct row {
	/* The point. The groups have no names: a field is row->FIELD. */
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
				 * call, unless -a is set */
		double algbw_gbs, busbw_gbs; /* 1e9 bytes per second */
		int64_t wrong;		     /* wrong elements over all ranks; -1: not checked */
		double mean_us, min_us, p5_us, p95_us, p99_us, max_us, stddev_us;
		double ci_low_us, ci_high_us, ci_percent;
		int64_t samples;      /* number of samples */
		int64_t calls;	      /* calls per sample */
		const char *stop;     /* reason for the end of sampling: "ci" "budget" "count" */
		double enqueue_us;    /* host time per call to issue it, slowest rank's median */
		int32_t slowest_rank; /* the rank that was most often the slowest */
		double rank_spread_percent; /* (slowest - fastest rank's median) / fastest */
		int64_t warmup_calls;
	};
	/* Predictions by the topology (struct predictor); NaN and NULL: unknown. */
	struct {
		double predicted_us, predicted_busbw_gbs;
		double predicted_low_gbs, predicted_high_gbs; /* interval of nine in ten rows */
		double ceiling_busbw_gbs;		      /* limit of the links */
		double of_predicted_percent; /* predicted time over measured time */
		double of_ceiling_percent;   /* measured busbw over the ceiling */
		const char *predicted_algo, *predicted_proto;
		int32_t predicted_channels; /* -1: none */
	};
	/* Choices of the library in an untimed call (profiler/nccl_profiler.h); NULL, -1: none. */
	struct {
		const char *used_algo, *used_proto;
		int32_t used_channels;
	};
	char timestamp[32]; /* local time with zone, ISO 8601 */
	/* A schedule's step; 0, NaN and "" in a sweep. */
	struct {
		int32_t step;	  /* from 1 */
		double waited_us; /* of the rank that entered the step's last call first */
		char waiting[64]; /* ranks that waited in it for others, "0-2,5" */
	};
	struct check_report report; /* of the first wrong rank; wrong == 0 for correct data */
	/* Detail for JSON, of the row's maker: (skipped + samples) x nranks, row-major, us. */
	const double *sample_times_us;
	int64_t skipped;	      /* -K: first samples of it that are not in any statistic */
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
	const char *name; /* CSV and JSON name with its unit: "time_us" */
	const char *help; /* one line */
	enum column_type type;
	size_t offset; /* in struct row */
};

/* Predictions of rows and their result; another room makes them from a topology. */
struct predictor {
	void *ctx;
	/* Sets the row's predicted fields; leaves those of a row without prediction. */
	void (*row)(void *ctx, struct row *row);
	/* Writes the result over the rows so far as a note. Returns the median of measured speed
	 * over the lower end of the prediction's error bar (over the prediction, if it has no bar)
	 * in percent. NaN: no predictions, or they do not apply to this run. */
	double (*reached)(void *ctx, char *text, size_t len);
};

/* Sets the predicted fields to unknown. */
void row_no_prediction(struct row *row);

extern const struct column row_columns[];
extern const size_t row_column_count;

/* These follow for rows whose check failed. */
enum { WRONG_COLUMNS = 5 };
extern const struct column wrong_columns[WRONG_COLUMNS];

/* Formats a cell: doubles with up to 6 significant decimals, "nan" and "inf". Returns buf. */
char *column_format(const struct column *column, const struct row *row, char *buf, size_t len);
