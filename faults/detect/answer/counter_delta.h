/* counter_delta.h: what a run's hosts counted during it (machine/reading.h): taken, saved, and noted where a counter
 * speaks. Children read the counters, since a driver may be stuck. */
#pragma once

#include "answer/answer.h"
#include "evidence/evidence.h"
#include "process/task.h"

/* A reading of this host as a task: texts of reading.h, the host's, then GPUs' where `*gpus`. */
struct task counter_delta_task(const bool *gpus);

/* Keep with `rank` what lies between two readings that such tasks told (either may be NULL, or
 * cut). Without a sound later one nothing is saved. `gpus`: they were asked for. */
void counter_delta_take(struct evidence_rank *rank, const char *before, const char *after,
			bool gpus);

/* One line for every host whose counters speak, to the diagnosis' lines, while two are left. */
void counter_delta_note(const struct evidence *evidence, struct answer *diagnosis);

/* Writes text into a page of Markdown: no bars, no markup, no control characters. */
void page_put(FILE *out, const char *text);

/* A line for every host, or that no counters were read; `page`: of Markdown, with changes. */
void counter_delta_print(FILE *out, const struct evidence *evidence, bool page);

/* Adds the notes of what is asked for after a verdict: hosts' counters, of a hang asynchronous errors, RAS' answer. */
void probe_note(const struct evidence *evidence, struct answer *answer);
