/* extension.c: how long, and how often one looks again meanwhile. */
#include "watch/extension.h"

#define LEAST_NS 250000000ull /* between two looks */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool doubt_grant(struct doubt *doubt, double waited, uint64_t excuse_ns, uint64_t now)
{
	uint64_t step = (uint64_t)(waited * 0.5e9), end = excuse_ns;

	if (!doubt->counted && waited > 0) {
		doubt->counted = true;
		end = later(end, now + (uint64_t)(waited * DOUBT_TIMES * 1e9));
	}
	doubt->end_ns = later(doubt->end_ns, end);
	if (now >= doubt->end_ns)
		return false;
	if (doubt->since_ns == 0)
		doubt->since_ns = now;
	step = step < LEAST_NS ? LEAST_NS : step;
	doubt->until_ns = now + step < doubt->end_ns ? now + step : doubt->end_ns;
	return true;
}

bool doubt_holds(const struct doubt *doubt, uint64_t now)
{
	return now < doubt->until_ns;
}

bool doubt_over(const struct doubt *doubt, uint64_t now)
{
	return doubt->until_ns != 0 && now >= doubt->until_ns;
}
