/* extension.c: how long, and how often one looks again meanwhile. */
#include "watch/extension.h"

#define LEAST_NS 250000000ull /* between two looks */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool extension_grant(struct extension *extension, double waited, uint64_t excuse_ns, uint64_t now)
{
	uint64_t step = (uint64_t)(waited * 0.5e9), end = excuse_ns;

	if (!extension->counted && waited > 0) {
		extension->counted = true;
		end = later(end, now + (uint64_t)(waited * EXTENSION_TIMES * 1e9));
	}
	extension->end_ns = later(extension->end_ns, end);
	if (now >= extension->end_ns)
		return false;
	if (extension->since_ns == 0)
		extension->since_ns = now;
	step = step < LEAST_NS ? LEAST_NS : step;
	extension->until_ns = now + step < extension->end_ns ? now + step : extension->end_ns;
	return true;
}

bool extension_holds(const struct extension *extension, uint64_t now)
{
	return now < extension->until_ns;
}

bool extension_over(const struct extension *extension, uint64_t now)
{
	return extension->until_ns != 0 && now >= extension->until_ns;
}
