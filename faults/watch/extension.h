/* extension.h: a hang for which nothing in the evidence gives a cause gets more time. Slow is not hung.
 *
 * On a crowded host all ranks may be in the same call long after its deadline, with nobody
 * missing: a driver that maps memory for ten runs at once, 1 GiB beside busy loops. A cause that
 * is found is said at once; where there is none, the time waited so far may grow to EXTENSION_TIMES
 * as much more before "unexplained" is said. Pure; times as of clock_ns(). */
#ifndef HANGAR_EXTENSION_H
#define HANGAR_EXTENSION_H

#include <stdbool.h>
#include <stdint.h>

#define EXTENSION_TIMES 5

struct extension {
	uint64_t
		until_ns; /* not judged again before, unless something else happens; 0: no extension */
	uint64_t end_ns;   /* then a verdict it is */
	bool counted;	   /* end_ns allows for a wait that nothing explains */
	uint64_t since_ns; /* when time was first granted; 0: it was not */
	int32_t rank;	   /* who had waited longest then, ... */
	uint64_t
		wait_ns; /* ... since when, on its host's clock: the wait that is doubted. The caller's. */
};

/* No cause was found for a wait of `waited` seconds (0: one was), or it is excused until `excuse_ns`
 * (0: not at all). true: the run goes on until until_ns; false: the benefit is used up. */
bool extension_grant(struct extension *extension, double waited, uint64_t excuse_ns, uint64_t now);

/* Is it still time that was granted? */
bool extension_holds(const struct extension *extension, uint64_t now);

/* Was time granted, and is it over? */
bool extension_over(const struct extension *extension, uint64_t now);

#endif
