/* schedule_parts.h: shared by the files of schedule. Internal to schedule. */
#pragma once

#include "schedule/schedule.h"

/* scheme.c: writes the parts of step `i` (from 0) on rank `rank` of the group, in order; returns their
 * number. On communicators other than the first an irregular collective becomes alltoall, since its
 * matrix is that of all ranks. */
int schedule_parts(const struct schedule_setup *setup, int rank, int i,
		   struct step_part parts[SCHEME_PARTS]);

/* Seconds of a step on a rank: all, and from its last call to the end. */
struct step_cost {
	double took, inside;
};

/* schedule_rows.c: writes a row for each timed step, in `costs` from the first of them. Collective. */
int schedule_rows(struct run *run, const struct step_cost costs[SCHEDULE_TIMED]);

/* Pool slots per step; after a step with one the next stays free for a fault's writes beyond. */
int schedule_width(const struct schedule_setup *setup);

/* Returns a part of step `i` on rank `rank` of the group. */
struct step_part schedule_part(const struct schedule_setup *setup,
			       const struct collective *collective, uint32_t comm, int slot,
			       int rank, int i);
