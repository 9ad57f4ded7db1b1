/* perf_agree.h: before the first call, ranks that were started with different options are refused, and
 * different settings of NCCL are said. */
#pragma once

#include "backend/job.h"
#include "settings/settings.h"
#include "perf_rank.h"

/* Ensures that all processes run the same program of the same version, and have alike the
 * options that must be alike. `backend` is what "auto" came to here. Collective over all
 * processes, after job_init. Returns 0, or on every rank a negative errno with a usage error
 * that names the ranks and their values. */
int perf_agree(struct job *job, const struct program *program, const char *backend);

/* Says on standard error, in one line of rank 0's, in which settings ranks differ: that is no error,
 * but the first suspect should they hang. Collective. 0 or a negative errno with the error set. */
int perf_agree_settings(struct job *job, const struct settings *mine);
