/* schedule_parts.h: what the parts of schedule share. Internal to schedule. */
#pragma once

#include "schedule/schedule.h"

/* The parts of step `i` (from 0) on rank `rank`; how many. */
int schedule_parts(const struct schedule_setup *setup, int rank, int i,
		   struct step_part parts[SCHEME_PARTS]);

/* Slots of the pool for each step. Where a step uses but one, the next is left for what a fault writes beyond
 * its own buffer. */
int schedule_width(const struct schedule_setup *setup);

/* What a part of step `i` measures. */
struct point schedule_point(const struct schedule_setup *setup, const struct step_part *part,
			    int i);
