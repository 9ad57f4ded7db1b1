/* perf_check.h: what is refused before any rank is started. */
#pragma once

#include "perf_rank.h"

/* --expect's class: one that no verdict can have would fail every run. 0, or -EINVAL with a usage
 * error. */
int check_expect(const struct options *options, struct error *err);

/* The schedule of a run with --fault: what was asked for, else what its first fault that has one wants; NULL:
 * the plain one. */
const char *program_schedule(const struct program *program);

/* Of a bare start of `ranks` ranks, what these would find out later, each for itself: files and folders
 * that cannot be made, a topology or a traffic matrix that cannot be read, a root that is no rank,
 * faults and their schedule, a standard output that nothing can be written to. 0 or a negative errno
 * with the error set. */
int check_start(const struct program *program, int ranks, struct error *err);

/* Says on standard error, once a run, that with --fault and --no-watch nobody will notice a hang. */
void warn_unwatched(const struct program *program);

/* --baseline: the folder must hold the healthy twin of this command on `ranks` ranks (0: not known). 0 or -EINVAL
 * with a usage error. */
int check_baseline(const struct program *program, int ranks, struct error *err);
