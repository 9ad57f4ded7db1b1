/* soak.h: repeated sweeps (-N): outliers and drift of each point's time. Pure; of rank 0 alone. */
#pragma once

#define SOAK_WINDOW 20 /* rows of a point */

/* One point: a ring of its newest times, and the reference for drift. Initially zero. */
struct soak_point {
	double newest[SOAK_WINDOW], former[SOAK_WINDOW]; /* us */
	size_t rows, former_from;    /* number of rows; cycle of the first of `former` */
	size_t reported, unreported; /* cycle of the last reported outlier; unreported ones since */
};

struct soak {
	struct soak_point *points; /* in the sweep's order; owned */
	size_t npoints;
};

/* Adds the time of the next row of point number `i` of the sweep, which may be new. Returns `text`,
 * a note without the point's name, for an outlier among the newest rows (one per window; others are
 * counted) or for a drift of the newest window; else NULL. A drift is at least 2 % of the median,
 * with all but two rows beyond all but two of the reference: once in a million windows by chance.
 * The newest window then becomes the reference, so a drift is reported once. */
const char *soak_row(struct soak *soak, size_t i, double us, char *text, size_t len);
void soak_release(struct soak *soak);
