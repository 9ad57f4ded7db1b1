/* perf_folder.h: the description of a run in the evidence of a failure. */
#pragma once

#include "evidence/evidence.h"
#include "perf_rank.h"

/* Describes the run in its evidence: the command without faults, and the options. */
void folder_describe(void *program, struct evidence *evidence);

/* Saves the command with its fault to `folder`, for the report's reproducer only: evidence_load
 * does not read it. */
void folder_save_command(void *program, const char *folder, int nranks);
