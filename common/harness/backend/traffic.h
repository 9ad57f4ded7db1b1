/* traffic.h: alltoallv's amounts per pair of ranks: a generated pattern or a matrix file. */
#pragma once

#include "base/error.h"
#include "options/options.h"

struct traffic {
	int nranks;
	double spread;	/* generated pattern: 0 uniform .. 1 distance-weighted */
	double *matrix; /* nranks x nranks bytes, row = sender, already scaled; NULL: generated */
};

/* Reads the matrix file, if one is set. 0 or a negative errno with file, row and column. */
int traffic_init(struct traffic *traffic, const struct options *options, int nranks,
		 struct error *err);
void traffic_release(struct traffic *traffic);

/* Returns the elements from rank `from` to rank `to` at size `bytes`, in units of 16 bytes. */
size_t traffic_count(const struct traffic *traffic, int from, int to, size_t bytes, size_t elsize);
