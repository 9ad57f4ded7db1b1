/* postmortem.h: the page that an on-call engineer reads; and the wording that it shares with the
 * report. Internal to report.c. */
#pragma once

#include "diagnose/diagnose.h"

/* postmortem.md. `dir` is where the evidence lies: command.txt and nccl-*.log in it are read,
 * each if it is there. `drawable`: there is a timeline to draw. */
void postmortem_print(FILE *out, const struct diagnosis *diagnosis, const struct evidence *evidence,
		      const char *dir, bool drawable);

/* Writes where timelines parted, and in which call the others stand, or whose data were wrong
 * first; no full stop, no newline. */
void report_place(FILE *out, const struct diagnosis *diagnosis);
void report_hang(FILE *out, const struct diagnosis *diagnosis);

#define REPORT_ERRORS 16

/* Ranks that reported an error (view_error), the `culprits` ("1,3") first, at most REPORT_ERRORS of
 * them in `ranks`. Returns how many there are in all. */
int report_errors(const struct evidence *evidence, const char *culprits, int *ranks);

/* Hosts and the ranks on each, "a: 0-3, 8; b: 4-7" ("?" where unknown); cut with "..." at `len`. */
void report_hosts(const struct evidence *evidence, char *buf, size_t len);
