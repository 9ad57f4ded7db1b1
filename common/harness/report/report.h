/* report.h: everything that rank 0 writes: the sinks that the options ask for, fed together. */
#pragma once

#include "backend/collective.h"
#include "options/options.h"
#include "report/sink.h"

#define REPORT_SINKS 8

struct report {
	struct sink *sinks[REPORT_SINKS];
	size_t n;
	FILE *table_file; /* --out DIR/table.txt */
	double busbw_sum; /* for the closing average */
	long long rows;
	long long wrong_checks;
};

/* Open what the options name and write the headers: the table on standard output; --csv, --json,
 * -J, --metrics; and with --out DIR (made if missing, must not hold a run yet) table.txt, rows.csv and
 * rows.jsonl. 0 or a negative errno with the error set. */
int report_open(struct report *report, const struct options *options,
		const struct collective *collective, const struct run_facts *facts,
		struct error *err);

/* What report_open would refuse of these options, as far as that can be told without making anything:
 * files that exist, folders that are not there or cannot be written to. 0, or a negative errno with a
 * usage error that names the option. */
int report_check(const struct options *options, struct error *err);

int report_row(struct report *report, const struct row *row);
/* A remark for every sink, printf style, no newline. */
int report_comment(struct report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int report_end(struct report *report, struct run_summary *summary);
void report_release(struct report *report);
