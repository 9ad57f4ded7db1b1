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

/* pair_us: the place of one message's us, from a to b (`back`: b to a); pair_places: how many. */
double *pair_us(const struct pair_matrix *m, enum pair_load load, int size, int pair, bool back);
size_t pair_places(const struct pair_matrix *m);

/* GB/s of the largest size; NaN: not measured. */
double pair_gbs(const struct pair_matrix *m, enum pair_load load, int pair, bool back);

/* The "measured" part of a spec, and back. pair_matrix_parse returns 0, or -EINVAL with the error
 * set, which names `path`. The caller releases the matrix when 0 was returned. */
struct json_t *pair_matrix_json(const struct pair_matrix *m);
int pair_matrix_parse(struct pair_matrix *m, const struct json_t *json, const char *path,
		      struct error *err);

/* The digest of pairs inside of nodes (0) and between them (1). 0: no such pair. */
struct pair_digest {
	int nranks, nnodes; /* nranks 0: nothing was measured */
	double us[2];	    /* of the smallest message, disjoint pairs */
	double gbs[2];	    /* of the largest, the same */
	double alone_gbs;   /* of the largest inside of a node, nothing else under way */
	bool host;	    /* as the matrix's */
};

/* A time is that of the median pair. The slowest pair, for which collectives wait, counts instead
 * where it takes half as long again, up to ten times the median: then a rank did not run. */
void pair_digest_make(struct pair_digest *digest, const struct pair_matrix *m);
