/* perf_fired.h: whether the faults that were ordered fired, and when, told past the diagnoser. */
#ifndef HANGAR_PERF_FIRED_H
#define HANGAR_PERF_FIRED_H

#include <stdbool.h>

#include "process/supervisor.h"
#include "perf_rank.h"

struct fired_log {
	struct supervisor_hooks hooks; /* the monitor's */
	const struct program *program;
	const char *folder;
	bool done;
};

/* With a fault in the run wrap the monitor's `hooks`, so that at the run's end a supervisor says on
 * standard error which --fault never fired on its rank; and that with HANGAR_FAULT_LOG=FOLDER in
 * the environment it appends a line "RANK NANOSECONDS" to FOLDER/fired.txt: CLOCK_MONOTONIC, when
 * the rank's fault fired first. Else leave them alone. `log` must outlive them. */
void fired_wrap(struct fired_log *log, struct supervisor_hooks *hooks,
		const struct program *program);

/* The run is over, with this exit code. Returns it, but 1 where --expect made it 0 and a fault
 * never fired on the rank: such a run proves nothing. Without --expect what happened keeps
 * its code. */
int fired_judge(const struct program *program, int code);

#endif
