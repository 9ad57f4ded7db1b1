/* usual.c: a ring of waits and its quantile. */
#include "run/usual.h"

#include "base/stats.h"

#define LATE_SECONDS 1.0
#define LATE_TIMES   5	 /* of the 99th percentile */
#define LATE_LONGEST 1.2 /* times the longest */
#define KNOWN_CALLS  8

void usual_add(struct usual *u, double seconds, uint64_t left_out)
{
	if (u->n++ < left_out)
		return;
	u->waits[(u->n - 1 - left_out) % USUAL_WAITS] = (float)seconds;
	u->longest = fmax(u->longest, seconds);
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

double usual_p99(const struct usual *u, uint64_t calls)
{
	float sorted[USUAL_WAITS];
	size_t known = calls > u->n ? calls : u->n;

	/* what was never seen, and warm-up, lasted for 0 s */
	known = known < USUAL_WAITS ? known : USUAL_WAITS;
	memcpy(sorted, u->waits, sizeof(sorted));
	qsort(sorted, USUAL_WAITS, sizeof(*sorted), compare);
	return known ? (double)sorted[USUAL_WAITS - 1 - known / 100] : 0;
}

double usual_late(const struct usual *u, uint64_t calls, double unknown)
{
	if (calls < KNOWN_CALLS && u->n < KNOWN_CALLS)
		return fmax(unknown, LATE_LONGEST * u->longest);
	return fmax(fmax(LATE_SECONDS, LATE_TIMES * usual_p99(u, calls)),
		    LATE_LONGEST * u->longest);
}
