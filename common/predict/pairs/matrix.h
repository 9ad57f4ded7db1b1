/* matrix.h: what pairs of ranks reached, and what it comes to for a model. */
#pragma once

#include "base/error.h"
#include "pairs/plan.h"

/* How much goes on beside a message. */
enum pair_load {
	PAIR_ALONE,    /* nothing: one way, one pair */
	PAIR_BOTH,     /* the same pair's message the other way */
	PAIR_DISJOINT, /* all pairs of the round, both ways */
	PAIR_ALL,      /* every rank with every other, both ways */
	PAIR_LOADS
};

enum { PAIR_SIZES = 8 };

extern const char *const pair_load_names[PAIR_LOADS];

struct json_t; /* jansson's */

struct pair_matrix {
	struct pair_plan plan; /* owned */
	int nnodes, nsizes;
	double bytes[PAIR_SIZES]; /* rising; the first is a message whose time is latency */
	double *us;		  /* pair_us; 0: not measured */
	bool host;		  /* ranks are processes that hold their data in host memory */
};

/* Take the plan over and make room; sizes are the caller's to set. */
void pair_matrix_init(struct pair_matrix *m, const struct pair_plan *plan, int nnodes);
void pair_matrix_release(struct pair_matrix *m);

/* The place of one message's microseconds, from a to b (`back`: from b to a), and how many places. */
double *pair_us(const struct pair_matrix *m, enum pair_load load, int size, int pair, bool back);
size_t pair_places(const struct pair_matrix *m);

/* GB/s of the largest size; NaN: not measured. */
double pair_gbs(const struct pair_matrix *m, enum pair_load load, int pair, bool back);

/* The "measured" part of a spec, and back. pair_matrix_parse returns 0, or -EINVAL with the error
 * set, which names `path`; the matrix is the caller's to release when it returned 0. */
struct json_t *pair_matrix_json(const struct pair_matrix *m);
int pair_matrix_parse(struct pair_matrix *m, const struct json_t *json, const char *path,
		      struct error *err);

/* Of all pairs inside of nodes (0) and between them (1). */
struct pair_digest {
	int nranks, nnodes, nsizes; /* nranks 0: nothing was measured */
	double bytes[PAIR_SIZES];
	double us[2][PAIR_LOADS][PAIR_SIZES]; /* pair_digest_of */
	bool host;			      /* as the matrix's */
};

/* Microseconds of the median pair; of the slowest one, for which collectives wait, where it takes half
 * as long again, ten times as long at most: beyond that a rank was not let run. 0: there is none. */
double pair_digest_of(const struct pair_matrix *m, bool far, enum pair_load load, int size);
void pair_digest_make(struct pair_digest *digest, const struct pair_matrix *m);

/* Microseconds of a message of so many bytes, in a straight line between the sizes that were measured.
 * What was not measured of one kind of pairs is taken of the other, else of the load before. */
double pair_digest_us(const struct pair_digest *digest, bool far, enum pair_load load,
		      double bytes);

/* Returns true if 8 bytes took 200 us or more within a host, where memory takes under one and loopback 30:
 * ranks were not let run, and the times are the scheduler's. */
bool pair_digest_disturbed(const struct pair_digest *digest);
