/* perf_folder.h: what an abnormal run's evidence says of the run, and what a healthy twin keeps. */
#pragma once

#include "evidence/evidence.h"
#include "perf_rank.h"

/* Names the run in its evidence: the command, without faults, and the options. */
void folder_describe(void *program, struct evidence *evidence);

/* The command with its fault to `folder`, for the report's reproducer alone: evidence_load does not read it. */
void folder_save_command(void *program, const char *folder, int nranks);

/* Keep a rank's calls of a healthy twin in the folder of --out, if there is one, for --baseline. 0 or a negative
 * errno with the error set. */
int folder_keep_twin(const struct program *program, int rank, int nranks, const char *backend,
		     struct error *err);
