/* sink.h: the sinks of rows: table, CSV, JSON lines, nccl-tests' JSON, Prometheus; of rank 0. */
#pragma once

#include "backend/backend.h"
#include "base/error.h"
#include "options/options.h"
#include "report/row.h"

/* A rank in the header. Plain data, gathered over MPI. */
struct rank_facts {
	int32_t rank, node, local_rank, pid;
	char host[64];
	struct backend_facts device;
};

/* The data of a run besides its rows. Borrowed by the sinks until they are closed. */
struct run_facts {
	const char *program; /* "all_reduce_perf" */
	int argc;
	char **argv; /* the command as typed, before a start under mpirun */
	const struct options *options;
	const char *backend;
	const char *mpi_library; /* "Open MPI v4.1.4, ..." one line */
	const char *hangar_version;
	char started[32]; /* local time with zone, ISO 8601 */
	bool predicted;	  /* rows may have predictions */
	int nranks, nnodes;
	const struct rank_facts *ranks; /* nranks entries */
};

/* -M, bytes of device memory; 0 0 0 without -M. */
struct memory_use {
	size_t init, buffers, collectives;
};

/* The fastest row of a sweep. */
struct row_peak {
	double busbw_gbs; /* 0: no row */
	uint64_t size;
	const char *placement;
};

/* The end of a run, for the closing lines. */
struct run_summary {
	enum outcome outcome;
	bool interrupted; /* by a signal: JSON lines and metrics are left as those of a run that goes on */
	struct row_peak peak;
	int64_t wrong_checks; /* (rank, point) pairs that failed: "Out of bounds values" */
	bool checked;
	double avg_busbw_gbs; /* mean of all rows' busbw */
	int calls_checked;    /* for a schedule with faults, which has no rows; 0: a sweep */
	struct memory_use memory;
};

struct sink;

/* Any hook except free may be NULL. Hooks return 0 or a negative errno with the error set. */
struct sink_ops {
	int (*begin)(struct sink *sink, const struct run_facts *facts);
	int (*row)(struct sink *sink, const struct row *row);
	/* A whole point, after its rows: `in` is NULL for a collective without that placement. */
	int (*point)(struct sink *sink, const struct row *out, const struct row *in);
	int (*comment)(struct sink *sink, const char *line); /* one line without '#' */
	int (*end)(struct sink *sink, const struct run_summary *summary);
	void (*free)(struct sink *sink); /* also after a failed begin; of itself, too */
};

struct sink {
	const struct sink_ops *ops;
	struct error *err; /* borrowed */
};

/* The table on `out` (not closed): nccl-tests' 13 columns, then hangar's by `kind`. Every other
 * line starts with '#'. TABLE_HANGAR is 140 characters wide: only the first placement has room for
 * prediction, share and spread. `checked` false prints N/A for #wrong. A line is a point, with both
 * placements. Flushed per line. */
struct sink *sink_table_new(FILE *out, enum table_kind kind, bool checked, bool timestamps,
			    struct error *err);

/* Writes the lines above the table's headings. */
void sink_table_head(FILE *out, const struct run_facts *facts);

/* CSV: a header line, then one line per row (RFC 4180), flushed per row. An existing file is a
 * usage error, -EEXIST. Returns NULL with the error set if it cannot be created. */
struct sink *sink_csv_new(const char *path, struct error *err);

/* JSON lines (jansson): {"type":"header",...} first, then {"type":"row",...},
 * {"type":"comment",...}, last {"type":"end",...}; each flushed. The header has command, versions,
 * hosts, devices, seed, options, allowed environment. The file must not exist, as for CSV. */
struct sink *sink_json_new(const char *path, struct error *err);

/* nccl-tests' JSON version 3, written at the end of the run; without an end the file is removed. An
 * existing FILE is kept and FILE.0, FILE.1, ... is used, as in nccl-tests. */
struct sink *sink_nccl_json_new(const char *path, struct error *err);

/* Prometheus text (metrics hangar_*) for node_exporter's textfile collector. `path`, which is
 * borrowed, is replaced as a whole at the begin of the run, every 10 s with new rows, and at the
 * end. For a hung or killed run it contains hangar_run_completed 0. */
struct sink *sink_metrics_new(const char *path, struct error *err);
