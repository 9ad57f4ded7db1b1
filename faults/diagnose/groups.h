/* groups.h: ranks split into groups, each with a communicator of its own (NCCL_TESTS_SPLIT). Calls are
 * compared within a group: those of another one say nothing. */
#pragma once

#include "diagnose/diagnose.h"

/* Gives `investigate` the evidence of each group, the others' ranks left out of it, where there
 * are two groups or more, each complete. The finding that says most is left in `d`: one with
 * culprits before "unexplained" before none. Returns false, `d` as it was, if there are no such
 * groups. */
bool groups_investigate(const struct evidence *evidence,
			void (*investigate)(const struct evidence *, struct diagnosis *),
			struct diagnosis *d);
