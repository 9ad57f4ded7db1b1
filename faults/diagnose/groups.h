/* groups.h: ranks split into groups, each with a communicator of its own (NCCL_TESTS_SPLIT). Calls are
 * compared within a group: those of another one say nothing. */
#ifndef HANGAR_GROUPS_H
#define HANGAR_GROUPS_H

#include <stdbool.h>

#include "diagnose/diagnose.h"

/* Where there are two groups or more, each complete: gives `investigate` the evidence of each, the
 * others' ranks left out of it, and keeps in `d` the finding that says most: who is the culprit before
 * "unexplained" before none. False, `d` as it was: there are no such groups, or no memory. */
bool groups_investigate(const struct evidence *evidence,
			void (*investigate)(const struct evidence *, struct diagnosis *),
			struct diagnosis *d);

#endif
