/* perf_folder.h: where an abnormal run keeps its evidence: results/runs/DATE-PROGRAM-KEY below the
 * working directory. */
#pragma once

#include "evidence/evidence.h"
#include "perf_rank.h"

/* Makes one and writes its name to `path`. false: none could be made, and standard error has said
 * which and why; `path` is empty then. */
bool folder_make(char *path, size_t len, const struct program *program);

/* The same with the name that another host told, which is made unless it is there: hosts may share
 * it. A name of anything else than such a folder is passed over in silence. */
bool folder_take(char *path, size_t len, const char *told, const struct program *program);

/* Names the run in its evidence: the command, without faults, and the options. */
void folder_describe(const struct program *program, struct evidence *evidence);

/* Keep a rank's calls of a healthy twin in the folder of --out, if there is one, for --baseline. 0 or a negative
 * errno with the error set. */
int folder_keep_twin(const struct program *program, int rank, int nranks, const char *backend,
		     struct error *err);
