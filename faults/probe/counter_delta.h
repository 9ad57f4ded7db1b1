/* tally.h: what the hosts of a run have counted meanwhile (common/machine/counters.h), as evidence: taken,
 * kept, said where something speaks. Children take it: a driver that is stuck answers nobody. */
#ifndef HANGAR_TALLY_H
#define HANGAR_TALLY_H

#include <stdio.h>

#include "diagnose/diagnose.h"
#include "probe/task.h"
#include "evidence/evidence.h"

/* A reading of this host as an errand: texts of counters.h, the host's first, then GPUs' where
 * `*gpus`, which must outlive it. */
struct errand tally_errand(const bool *gpus);

/* Keep with `rank` what lies between two readings that such errands told (either may be NULL, or
 * cut). Without a sound later one nothing is kept. `gpus`: they were asked for. */
void tally_take(struct evidence_rank *rank, const char *before, const char *after, bool gpus);

/* Keep with `rank` a difference as tally_text gave it, here or on another host. Nothing in it is
 * trusted: false where it is not sound, and nothing is kept. */
bool tally_take_text(struct evidence_rank *rank, const char *text);

/* rank-N.counters.json; the caller frees; NULL: nothing is kept with this rank, or no memory. */
char *tally_text(const struct evidence_rank *rank);

/* One line for every host whose counters speak, to the diagnosis' lines, as long as two are
 * left. */
void tally_note(const struct evidence *evidence, struct diagnosis *diagnosis);

/* Of the report: a line for every host, or that no counters were read. */
void tally_print(FILE *out, const struct evidence *evidence);

/* Section of a Markdown page: what moved, or that no counters were read. */
void tally_table(FILE *out, const struct evidence *evidence);

#endif
