/* tool_slow.c: all_reduce_perf in which one rank is slow without being at fault: looks like a hang
 * and is none. HANGAR_SLOW=RANK:FIRST:EVERY:SECONDS: is busy for FIRST seconds before its first call,
 * busy for SECONDS before every call whose number EVERY divides. HANGAR_SLOW=RANK:LOW:HIGH:COLLECTIVE: it
 * takes twice as long for calls of LOW to HIGH elements, in another collective: a regression. */

#include "bench/perf_main.h"
#include "backend/call.h"
#include "base/clock.h"
#include "backend/job.h"

struct slowness {
	int rank;
	double first, seconds;
	unsigned long every, calls;
	size_t low, high;
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
	double begin = clock_seconds();
	int rc;

	if (chain->backend->job->rank == s->rank) {
		s->calls++;
		if (s->calls == 1)
			be_busy(s->first);
		if (s->calls % s->every == 0)
			be_busy(s->seconds);
	}
	rc = chain_emit(chain, call);
	if (chain->backend->job->rank == s->rank && s->low <= call->count && call->count <= s->high)
		be_busy(clock_seconds() - begin);
	return rc;
}

/* The collective to run, or NULL when it is neither form. */
static const struct collective *read_slowness(const char *text, struct slowness *s)
{
	char name[32];

	*s = (struct slowness){ .every = 1, .low = 1 };
	if (text &&
	    sscanf(text, "%d:%lf:%lu:%lf", &s->rank, &s->first, &s->every, &s->seconds) == 4)
		return s->every == 0 ? NULL : &all_reduce;
	*s = (struct slowness){ .every = 1 };
	if (text && sscanf(text, "%d:%zu:%zu:%31s", &s->rank, &s->low, &s->high, name) == 4)
		for (int i = 0; collectives[i]; i++)
			if (strcmp(collectives[i]->name, name) == 0)
				return collectives[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct slowness slowness;
	struct call_filter filter = { .state = &slowness, .issue = issue };
	const struct collective *collective = read_slowness(getenv("HANGAR_SLOW"), &slowness);

	if (!collective) {
		fputs("HANGAR_SLOW must be RANK:FIRST:EVERY:SECONDS or RANK:LOW:HIGH:COLLECTIVE\n",
		      stderr);
		return 2;
	}
	return perf_main_hooked(collective, &(struct perf_hooks){ .filter = &filter }, argc, argv);
}
