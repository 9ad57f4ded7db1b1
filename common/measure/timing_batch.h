/* timing_batch.h: between timing.c and timing_batch.c: a point's calls, made and waited for. */
#ifndef HANGAR_TIMING_BATCH_H
#define HANGAR_TIMING_BATCH_H

#include "measure/timing.h"

/* Until all calls that were issued have completed. 0 or a negative errno with the error set. */
int timing_wait(struct timing *timing);

/* Graph mode: capture a batch into timing->graph, launch it once and wait for it. */
int timing_capture(struct timing *timing);

#endif
