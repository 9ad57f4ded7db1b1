/* report.h: all output of rank 0: the sinks of the options, fed together. */
#pragma once

#include "backend/collective.h"
#include "options/options.h"
#include "report/sink.h"

#define REPORT_SINKS 8

struct report {
	struct sink *sinks[REPORT_SINKS];
	size_t n;
	FILE *table_file; /* --out DIR/table.txt */
	bool in_place;	  /* a point has two rows */
	double busbw_sum; /* for the average at the end */
	struct row_peak peak;
	bool ended; /* its closing lines are written */
	long long rows;
	long long wrong_checks;
};

/* Opens the sinks of the options and writes the headers: the table on standard output; --csv,
 * --json, -J, --metrics; with --out DIR table.txt, rows.csv and rows.jsonl. DIR is made if missing
 * and must not hold a run. Returns 0 or a negative errno with the error set. */
int report_open(struct report *report, const struct options *options,
		const struct collective *collective, const struct run_facts *facts,
		struct error *err);

/* The table's stream: standard error where --csv or --json is standard output. */
FILE *report_table(const struct options *options);

/* Checks what report_open would refuse, without making anything: existing files, missing and
 * unwritable folders. Returns 0, or a negative errno with a usage error that names the option. */
int report_check(const struct options *options, struct error *err);

/* Passes a row to every sink and adds it to the average. `out` is the out-of-place row of an
 * in-place one, else NULL. Returns 0 or a negative errno with the error set. */
int report_row(struct report *report, const struct row *row, const struct row *out);
/* Passes a row of a schedule's step to the sinks of rows, without the average. */
int report_step(struct report *report, const struct row *row);
/* Writes a note to every sink, printf style, no newline. */
int report_comment(struct report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same of a text as it is, for callers that hand over lines. */
int report_line(void *report, const char *text);
/* Ends every sink; sets average and peak of `summary`. */
int report_end(struct report *report, struct run_summary *summary);
void report_release(struct report *report);

/* One thread writes at a time: the sweep, or the closing lines of a sweep that a signal ends. Calls
 * of the functions above take the lock, and a holder may call them. */
void report_lock(void);
void report_unlock(void);
