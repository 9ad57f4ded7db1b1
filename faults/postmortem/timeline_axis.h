/* timeline_axis.h: from the clocks of ranks and hosts to one axis, and the stretches of it that
 * a picture may shorten. Internal to timeline.c. */
#pragma once

#include "postmortem/timeline.h"

/* Tells when the rank's evidence was taken, on its host's clock: as recorded, else the latest
 * time in it. 0: no time at all. */
uint64_t axis_seen(const struct evidence_rank *rank);

/* Nanoseconds from `seen` back to `time`, negative; NAN for a time that is 0, after it, or more
 * than a day before it. */
double axis_before(uint64_t time, uint64_t seen);

/* Move the lanes' times, which count from `seen` of each lane, onto the axis of the first host,
 * and set `end`. A lane whose clock cannot be its host's loses its calls. Returns the call on
 * which hosts were aligned; NULL when they were aligned on `seen`. */
const struct record *axis_align(struct timeline *timeline, const uint64_t *seen);

/* Find the breaks. */
void axis_breaks(struct timeline *timeline);
