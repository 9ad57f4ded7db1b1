/* perf_check.h: checks before any rank is started. */
#pragma once

#include "perf_rank.h"

/* Checks --expect's class, as no run could meet an unknown one. 0, or -EINVAL with the error. */
int check_expect(const struct options *options, struct error *err);

/* Returns the schedule of a run with --fault: the requested one, else a fault's; NULL: plain. */
const char *program_schedule(const struct program *program);

/* Sets and checks the schedule of a run with --fault on `ranks` ranks. `traffic`, which is borrowed, is
 * used for an irregular collective. Returns 0 or a negative errno with a usage error. */
int check_schedule(const struct program *program, int ranks, const struct traffic *traffic,
		   struct schedule_setup *setup, struct error *err);

/* Checks a bare start of `ranks` ranks for errors that each rank would otherwise find later: files
 * and folders that cannot be made, an unreadable topology or traffic matrix, a root that is not a
 * rank, faults and their schedule, a standard output that accepts nothing. Returns 0 or a negative
 * errno with the error set. */
int check_start(const struct program *program, int ranks, struct error *err);

/* Warns on standard error, once a run, that with --fault and --no-watch a hang is not detected. */
void warn_unwatched(const struct program *program);
