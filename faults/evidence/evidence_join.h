/* evidence_join.h: one folder of evidence, and what several of one run know together. Internal to
 * this room. */
#pragma once

#include "evidence/evidence.h"

/* `n` ranks of which nothing is known; free() them. */
struct evidence_rank *evidence_ranks_alloc(int n);

/* Reads what lies in one folder, with remarks on its files; the caller says who is missing, and
 * whether anything is there at all. Returns 0, or a negative errno with the error set: -ENOENT. */
int evidence_read_folder(struct evidence *evidence, const char *dir, struct error *err);
