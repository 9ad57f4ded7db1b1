/* probe.h: slow evidence, asked for when the verdict is out and the ranks are still there. */
#pragma once

#include "diagnose/diagnose.h"
#include "process/task.h"
#include "evidence/evidence.h"

#define PROBE_SECONDS 2.0 /* for all */
#define PROBE_EACH    1.0 /* for the stacks of a process, and for NCCL RAS */

/* Take the native stacks of every rank i with local[i] whose process is there
 * (evidence->ranks[i].stack), those of ranks `culprits` first; and with the nccl backend ask NCCL
 * RAS (evidence->ras). All at once, PROBE_SECONDS at most; what was cut says so in its text.
 * The ranks go on afterwards. `before`: a task of counter_delta.h, started when the run did; it is ended,
 * counters are read again, and what lies between is saved with the first of the local ranks; NULL:
 * no counters are asked for. */
void probe_ranks(struct evidence *evidence, const bool *local, const char *culprits,
		 struct task *before);

/* Add to the diagnosis' lines what the hosts' counters say, and NCCL itself: of a hang whether
 * communicators report an asynchronous error, where there is room; and RAS's word, in the place
 * of the last line where there is none. Nothing of what was not asked. */
void probe_note(const struct evidence *evidence, struct diagnosis *diagnosis);
