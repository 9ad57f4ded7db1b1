/* perf_agree.h: before the first call, refuses ranks with different options and prints different
 * NCCL settings. */
#pragma once

#include "backend/job.h"
#include "settings/settings.h"
#include "perf_rank.h"

/* Checks that all processes run the same program and version with the same shared options.
 * `backend` is the resolved backend. Collective over all processes, after job_init. Returns 0, or
 * on every rank a negative errno with a usage error that names the ranks and their values. */
int perf_agree(struct job *job, const struct program *program, const char *backend);

/* Prints the settings in which ranks differ on standard error, in one line of rank 0. That is not
 * an error, but the first suspect of a hang. Collective. Returns 0 or a negative errno with the
 * error set. */
int perf_agree_settings(struct job *job, const struct settings *mine);
