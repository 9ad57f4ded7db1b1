/* schedule_parts.h: shared by the files of schedule. Internal to schedule. */
#pragma once

#include "schedule/schedule.h"

/* Writes the parts of step `i` (from 0) on rank `rank`; returns their number. */
int schedule_parts(const struct schedule_setup *setup, int rank, int i,
		   struct step_part parts[SCHEME_PARTS]);

/* Pool slots per step. After a step with one slot the next stays free for a fault's writes past its
 * buffer. */
int schedule_width(const struct schedule_setup *setup);

/* The point that a part of step `i` measures. */
struct point schedule_point(const struct schedule_setup *setup, const struct step_part *part,
			    int i);
