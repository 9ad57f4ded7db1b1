/* preflight.h: what pre-flight's files share. The calls run in ranks, all else beside them. */
#pragma once

#include "perf_main.h"

struct rank;

/* preflight_calls.c: a pseudo-collective; its run makes one small and one large call of each. */
extern const struct collective preflight;

/* Runs the calls, in place of a sweep. Collective. */
int preflight_run(struct rank *r);

/* The calls of this process' rank, by the words of a *_perf program. Rows and a verdict go to `fd` as
 * texts of reading_dump. Returns the exit code. */
int preflight_calls(int fd, int argc, char **argv);
