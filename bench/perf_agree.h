/* perf_agree.h: ranks that were started with different options are refused before the first call. */
#ifndef HANGAR_PERF_AGREE_H
#define HANGAR_PERF_AGREE_H

#include "backend/job.h"
#include "perf_rank.h"

/* Ensures that all processes run the same program of the same version, and have alike the
 * options that must be alike. `backend` is what "auto" came to here. Collective over all
 * processes, after job_init. Returns 0, or on every rank a negative errno with a usage error
 * that names the ranks and their values. */
int perf_agree(struct job *job, const struct program *program, const char *backend);

#endif
