/* perf_folder.h: the description of a run in the evidence of a failure. */
#pragma once

#include "evidence/evidence.h"
#include "perf_rank.h"

/* Describes the run in its evidence: the command without faults, and the options. */
void folder_describe(void *program, struct evidence *evidence);

/* The command with its fault, as struct diagnoser_site wants it. */
void folder_again(void *program, char *command, size_t len, int nranks);
