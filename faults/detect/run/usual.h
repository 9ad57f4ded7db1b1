/* usual.h: how long waits of one kind usually last, in a program that knows nothing of hangar. Pure. */
#pragma once

#define USUAL_WAITS 256

struct usual {
	float waits[USUAL_WAITS]; /* seconds, the newest, one after the other, round and round */
	uint64_t n;		  /* waits that ended */
	double longest;		  /* seconds */
};

/* A wait ended after so many seconds. The first `left_out` are warm-up and count for nothing. */
void usual_add(struct usual *usual, double seconds, uint64_t left_out);

/* Seconds within which 99 of 100 of the newest waits ended. The rank has been through `calls`
 * calls, of which only those are waits here that lasted long enough to be seen. */
double usual_p99(const struct usual *usual, uint64_t calls);

/* Seconds after which a wait is late: longer than 1 s, than five times that, and than any that
 * ended. While fewer than eight are known: `unknown`. */
double usual_late(const struct usual *usual, uint64_t calls, double unknown);
