/* part.h: evidence of a communicator's members alone, in the order of their numbers in it: roots, partners and ranks
 * are numbered so. Internal to diagnose. */
#pragma once

#include "evidence/evidence.h"

struct evidence_part {
	struct evidence evidence;    /* its `numbers` are those in the run, -1: unknown */
	struct evidence_rank *ranks; /* owned; their contents are borrowed */
	int *numbers;
};

/* Fills the part; what it held is released. */
void evidence_part_take(struct evidence_part *part, const struct evidence *evidence,
			const struct members *members);
void evidence_part_release(struct evidence_part *part);
