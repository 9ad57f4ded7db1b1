/* watch.c: names of a run's phases. */
#include "process/watch.h"

const char *phase_name(enum phase phase)
{
	static const char *const names[] = {
		[PHASE_START] = "start",       [PHASE_INIT] = "init",	[PHASE_SETUP] = "setup",
		[PHASE_WARMUP] = "warmup",     [PHASE_TIMED] = "timed", [PHASE_CHECK] = "check",
		[PHASE_FINALISE] = "finalise", [PHASE_SPARE] = "aside", [PHASE_DONE] = "done",
	};

	return (unsigned int)phase <= PHASE_DONE ? names[phase] : "unknown";
}
