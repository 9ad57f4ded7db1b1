/* tool_slow.c: all_reduce_perf in which one rank is slow without being at fault: looks like a hang
 * and is none. HANGAR_SLOW=RANK:FIRST:EVERY:SECONDS: sleeps FIRST seconds before its first call, is
 * busy for SECONDS before every call whose number EVERY divides. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/perf_main.h"
#include "backend/call.h"
#include "base/clock.h"
#include "backend/job.h"

struct slowness {
	int rank;
	double first, seconds;
	unsigned long every, calls;
};

static void be_busy(double seconds)
{
	double end = clock_seconds() + seconds;

	while (clock_seconds() < end)
		;
}

static int issue(void *state, const struct call *call, struct chain *chain)
{
	struct slowness *s = state;

	if (chain->backend->job->rank == s->rank) {
		s->calls++;
		if (s->calls == 1)
			clock_nap(s->first);
		if (s->calls % s->every == 0)
			be_busy(s->seconds);
	}
	return chain_emit(chain, call);
}

int main(int argc, char **argv)
{
	struct slowness slowness = { 0 };
	struct call_filter filter = { .state = &slowness, .issue = issue };
	const char *text = getenv("HANGAR_SLOW");

	if (!text ||
	    sscanf(text, "%d:%lf:%lu:%lf", &slowness.rank, &slowness.first, &slowness.every,
		   &slowness.seconds) != 4 ||
	    slowness.every == 0) {
		fputs("HANGAR_SLOW must be RANK:FIRST:EVERY:SECONDS\n", stderr);
		return 2;
	}
	return perf_main_hooked(&all_reduce, &(struct perf_hooks){ .filter = &filter }, argc, argv);
}
