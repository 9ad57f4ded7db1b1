/* perf_judge.h: the diagnoser's place in a run that went wrong: behind the monitor, before the verdict. */
#ifndef HANGAR_PERF_JUDGE_H
#define HANGAR_PERF_JUDGE_H

#include "../faults/diagnose/diagnose.h"
#include "../faults/watch/monitor.h"
#include "perf_rank.h"

struct judge {
	const struct program *program;
	struct evidence evidence;
	struct diagnosis diagnosis;
	const struct record_memory **memories; /* by rank; owned */
	char command[1024];                    /* as given; the evidence has it without the fault */
	char folder[200];                      /* "" when none could be made */
};

/* The monitor's hooks: sharpen() names class, ranks and place from this node's evidence; save() writes it
 * to a folder of its own below results/runs/ and says what to do. */
struct monitor_judge judge_hooks(struct judge *judge);

#endif
