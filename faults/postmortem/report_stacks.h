/* report_stacks.h: native stacks in reports: each rank's line that it is stuck on, and whole
 * stacks of a few. */
#pragma once

#include "evidence/evidence.h"

/* Lines "PREFIXrank 3 is stuck on ..." of all ranks whose stacks say so, `culprits` ones first, at
 * most `most`. Returns how many more there are. */
int report_stuck(FILE *out, const char *prefix, const struct evidence *evidence,
		 const char *culprits, int most);

/* A section "### Stacks" of a Markdown page: those lines, then the stacks of the culprits ("1,3",
 * "-": none) and of one rank that waits for them. Says so when no stacks were taken. */
void report_stacks(FILE *out, const struct evidence *evidence, const char *culprits);
