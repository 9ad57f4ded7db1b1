/* perf_main.h: the program around a collective. */
#ifndef HANGAR_PERF_MAIN_H
#define HANGAR_PERF_MAIN_H

#include "backend/collective.h"

/* Options, processes, sweep, output: everything but the collective. Returns the exit code
 * (common/base/outcome.h). */
int perf_main(const struct collective *collective, int argc, char **argv);

/* The same with a fault filter in every rank's call chain; NULL: none. */
int perf_main_filtered(const struct collective *collective, const struct call_filter *filter,
		       int argc, char **argv);

#endif
