/* perf_fired.h: reports faults that did not fire, without the diagnoser. */
#pragma once

#include "process/supervisor.h"
#include "perf_rank.h"

struct fired_watch {
	struct supervisor_hooks hooks; /* the monitor's hooks */
	const struct program *program;
	bool done;
};

/* In a run with faults, wraps the monitor's `hooks`: at the end a supervisor prints each --fault
 * that did not fire on its rank, and a test program's hook is called when one fires. Otherwise
 * leaves them. `watch` must outlive them. */
void fired_wrap(struct fired_watch *watch, struct supervisor_hooks *hooks,
		const struct program *program);

/* Returns the exit code of a finished run: `code`, but 1 if --expect made it 0 and a fault did not
 * fire on the rank, since such a run proves nothing. */
int fired_exit_code(const struct program *program, int code);
