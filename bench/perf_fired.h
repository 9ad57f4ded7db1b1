/* perf_fired.h: tells whoever scores verdicts when a fault fired, past the diagnoser. */
#ifndef HANGAR_PERF_FIRED_H
#define HANGAR_PERF_FIRED_H

#include <stdbool.h>

#include "../common/supervisor.h"
#include "perf_rank.h"

struct fired_log {
	struct supervisor_hooks hooks;  /* the monitor's */
	const struct program *program;
	const char *folder;
	bool done;
};

/* The monitor's hooks; with HANGAR_FAULT_LOG=FOLDER in the environment and a fault in the run wrapped, so that
 * a guilty rank's supervisor appends a line "RANK NANOSECONDS" to FOLDER/fired.txt: CLOCK_MONOTONIC, when the
 * rank's fault fired first. `log` must outlive them. */
struct supervisor_hooks fired_hooks(struct fired_log *log, const struct supervisor_hooks *monitor,
                                    const struct program *program);

#endif
