/* baseline.h: what the healthy twin of a run delivered, beside what the run had reached. */
#pragma once

#include "evidence/evidence.h"

/* Read a healthy twin (--fault=none --out DIR) of the run: it has the run's program, backend, number of
 * ranks, options and calls, as far as these are known. 0, or -EINVAL with a usage error that says
 * what is missing or differs. evidence_release(twin) in either case. */
int baseline_load(struct evidence *twin, const char *dir, const struct evidence *run,
		  struct error *err);

/* A section of a Markdown page, if the run has a baseline (run->baseline): time and bus bandwidth of the
 * slowest rank in each timed call, healthy and here, as far as it came; the healthy one's rings. */
void baseline_print(FILE *out, const struct evidence *run);
