/* perf_fired.h: whether the faults that were ordered fired, told past the diagnoser. */
#pragma once

#include "process/supervisor.h"
#include "perf_rank.h"

struct fired_watch {
	struct supervisor_hooks hooks; /* the monitor's */
	const struct program *program;
	bool done;
};

/* With a fault in the run wrap the monitor's `hooks`, so that at the run's end a supervisor says on
 * standard error which --fault never fired on its rank, and that a test program's hook learns when
 * one fired. Else leave them alone. `watch` must outlive them. */
void fired_wrap(struct fired_watch *watch, struct supervisor_hooks *hooks,
		const struct program *program);

/* The run is over, with this exit code. Returns it, but 1 where --expect made it 0 and a fault
 * never fired on the rank: such a run proves nothing. Without --expect what happened keeps
 * its code. */
int fired_exit_code(const struct program *program, int code);
