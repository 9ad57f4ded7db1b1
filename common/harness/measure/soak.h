/* soak.h: a sweep that runs again and again (-N): a point's newest time beside its former ones.
 * Pure functions; rank 0 alone has a soak. */
#pragma once

#define SOAK_WINDOW 20 /* rows of a point */

/* One point: its newest times, a ring, and those that drift is told from. Zero to begin with. */
struct soak_point {
	double newest[SOAK_WINDOW], former[SOAK_WINDOW]; /* us */
	size_t rows, former_from; /* rows so far; cycle of the first of `former` */
	size_t said, unsaid;	  /* cycle of the last outlier that was said; how many since */
};

struct soak {
	struct soak_point *points; /* in the sweep's order; owned */
	size_t npoints;
};

/* Takes the time of the next row of point number `i` of the sweep, which may be new. Returns `text`, a
 * remark without the point's name, when the row is an outlier among the newest (one a window; the others
 * are counted), or the newest window has drifted from the former one: at least 2 % of the median, and all
 * but two of its rows beyond all but two of the former's (once in a million windows by chance); then it
 * takes that one's place, so that a drift is said once. Else NULL. */
const char *soak_row(struct soak *soak, size_t i, double us, char *text, size_t len);
void soak_release(struct soak *soak);
