/* matrix.h: the measured times of pairs of ranks, and their digest for a model. */
#pragma once

#include "base/error.h"
#include "pairs/plan.h"

/* Messages under way at the same time. */
enum pair_load {
	PAIR_ALONE,    /* nothing: one way, one pair */
	PAIR_BOTH,     /* the same pair's message the other way */
	PAIR_DISJOINT, /* all pairs of the round, both ways */
	PAIR_ALL,      /* every rank with every other, both ways */
	PAIR_LOADS
};

enum { PAIR_SIZES = 9 };

extern const char *const pair_load_names[PAIR_LOADS];

struct json_t; /* jansson's */

struct pair_matrix {
	struct pair_plan plan; /* owned */
	int nnodes, nsizes;
	double bytes[PAIR_SIZES]; /* rising; the first is a message whose time is latency */
	double *us;		  /* pair_us; 0: not measured */
	bool host;		  /* ranks are processes that hold their data in host memory */
};

/* Takes the plan over and makes room. The caller sets the sizes. */
void pair_matrix_init(struct pair_matrix *m, const struct pair_plan *plan, int nnodes);
void pair_matrix_release(struct pair_matrix *m);

/* pair_us returns the place of one message's microseconds, from a to b (`back`: from b to a);
 * pair_places their number. */
double *pair_us(const struct pair_matrix *m, enum pair_load load, int size, int pair, bool back);
size_t pair_places(const struct pair_matrix *m);

/* GB/s of the largest size; NaN: not measured. */
double pair_gbs(const struct pair_matrix *m, enum pair_load load, int pair, bool back);

/* The "measured" part of a spec, and back. pair_matrix_parse returns 0, or -EINVAL with the error
 * set, which names `path`. The caller releases the matrix when 0 was returned. */
struct json_t *pair_matrix_json(const struct pair_matrix *m);
int pair_matrix_parse(struct pair_matrix *m, const struct json_t *json, const char *path,
		      struct error *err);

/* The digest of pairs inside of nodes (0) and between them (1). */
struct pair_digest {
	int nranks, nnodes, nsizes; /* nranks 0: nothing was measured */
	double bytes[PAIR_SIZES];
	double us[2][PAIR_LOADS][PAIR_SIZES]; /* pair_digest_of */
	double page_us; /* of a byte of pages that are new from the kernel; 0: not measured */
	bool host;	/* as the matrix's */
};

/* Returns the microseconds of the median pair. Collectives wait for the slowest pair: it counts
 * instead where it takes half as long again, but at most ten times the median, as beyond that a
 * rank was not let run. 0: no such pair. */
double pair_digest_of(const struct pair_matrix *m, bool far, enum pair_load load, int size);
void pair_digest_make(struct pair_digest *digest, const struct pair_matrix *m);

/* The median of each time of n digests of equal plans and sizes. */
void pair_digest_median(struct pair_digest *digest, const struct pair_digest *of, int n);

/* Returns the microseconds of a message of so many bytes, in a straight line between measured
 * sizes. Pairs of the other kind, then the load before, stand in for a load that was not measured. */
double pair_digest_us(const struct pair_digest *digest, bool far, enum pair_load load,
		      double bytes);

/* Returns true if 8 bytes took 200 us or more within a host (memory takes under 1, loopback 30), or
 * if a message took twice as long as one of the next larger size. Ranks were not let run then, and
 * the times are the scheduler's. */
bool pair_digest_disturbed(const struct pair_digest *digest);
