/* counter_delta.h: what the hosts of a run have counted meanwhile (machine/reading.h), as evidence: taken,
 * saved, said where something speaks. Children take it: a driver that is stuck answers nobody. */
#pragma once

#include "diagnose/diagnose.h"
#include "process/task.h"
#include "evidence/evidence.h"

/* A reading of this host as a task: texts of reading.h, the host's first, then GPUs' where
 * `*gpus`, which must outlive it. */
struct task counter_delta_task(const bool *gpus);

/* Keep with `rank` what lies between two readings that such tasks told (either may be NULL, or
 * cut). Without a sound later one nothing is saved. `gpus`: they were asked for. */
void counter_delta_take(struct evidence_rank *rank, const char *before, const char *after,
			bool gpus);

/* One line for every host whose counters speak, to the diagnosis' lines, as long as two are
 * left. */
void counter_delta_note(const struct evidence *evidence, struct diagnosis *diagnosis);

/* Of the report: a line for every host, or that no counters were read. */
void counter_delta_print(FILE *out, const struct evidence *evidence);

/* Section of a Markdown page: what moved, or that no counters were read. */
void counter_delta_table(FILE *out, const struct evidence *evidence);
