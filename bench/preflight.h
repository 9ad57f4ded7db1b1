/* preflight.h: what pre-flight's files share. The calls run in ranks, all else beside them. */
#pragma once

#include "machine/health_report.h"
#include "perf_main.h"

struct rank;

/* preflight_calls.c: a pseudo-collective; its run makes one small and one large call of each. */
extern const struct collective preflight;

/* Runs the calls, in place of a sweep. Collective. */
int preflight_run(struct rank *r);

/* The calls of this process' rank, by the words of a *_perf program. Rows and a verdict go to `fd` as
 * texts of reading_dump. Returns the exit code. */
int preflight_calls(int fd, int argc, char **argv);

/* preflight_judge.c */

/* Sets hosts beside each other: versions, limits, settings, GPUs. `first` and `local`: ranks. */
void preflight_compare(struct reading *hosts, int n);

/* Adds each pair to the host that is in more bad pairs than its other end, or to a host of its own
 * where both are in as many. Returns the number of hosts, `hosts` has room for two more. */
int preflight_blame(const struct health *health, struct reading *hosts, int n,
		    const struct reading *pairs, int npairs);
