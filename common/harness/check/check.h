/* check.h: the data check: what every element must be, how a wrong one is counted, located and
 * named.
 *
 * Element = f(seed, rank, index). `index` counts elements from the start of the send pool, so
 * one filled pool serves every size and any rank can compute what any other sent. Contributions
 * to a reduction are chosen so that every order of reduction gives one exact result in that type
 * (check_plan.h says how). */
#pragma once

#include "base/dtype.h"
#include "check/segment.h"

/* A point's data are made of this. The same on every rank. */
struct check_data {
	uint32_t seed;
	enum dtype dtype;
	enum redop op; /* OP_NONE: elements are only moved, all bit patterns but NaN and
	                         * infinity occur */
	int nranks;
	bool avg_premultiplies; /* BACKEND_AVG_FIRST */
};

/* Every buffer is poisoned with this byte before it is written to, guards included. */
#define CHECK_POISON 0xA5

/* Bytes on each side of a buffer that must stay as they were. */
#define CHECK_GUARD 4096

enum wrong_kind {
	WRONG_NONE,
	WRONG_ZERO,    /* zero where the expected value is not */
	WRONG_STALE,   /* never written: the poison is still there */
	WRONG_SHIFTED, /* the right data, displaced */
	WRONG_MISSING, /* one rank's contribution left out */
	WRONG_DOUBLED, /* one rank's contribution counted twice */
	WRONG_NAN,
	WRONG_FLIPPED, /* one bit of one element, or of one rank's contribution to it */
	WRONG_GUARD,   /* bytes outside the receive buffer changed */
	WRONG_SEND,    /* the send buffer changed */
	WRONG_KEEP,    /* a buffer that must stay untouched was written */
	WRONG_OTHER    /* none of the above fits */
};

/* "none" "zero" "stale" "shifted" "missing" "doubled" "nan" "flipped" "guard" "send" "keep" "other". */
const char *wrong_kind_name(enum wrong_kind kind);

/* Raw outcome of comparing one receive buffer. */
struct verify_result {
	uint64_t wrong; /* elements that differ */
	uint64_t first; /* element index in the receive buffer of the first of them */
};

/* A failed check is reported like this; plain data, so that ranks can gather it. */
struct check_report {
	uint64_t wrong;	 /* wrong elements of this rank (for guard: wrong bytes) */
	int32_t kind;	 /* enum wrong_kind of the first */
	int32_t rank;	 /* the rank whose buffer is wrong */
	int32_t ranks;	 /* whose buffers are, where that was gathered; 0: it was not */
	int32_t culprit; /* rank whose contribution is missing, doubled or flipped, -1 where that is
	                       * not known */
	int64_t shift;	 /* WRONG_SHIFTED: elements; positive: data stand too late */
	uint64_t element;	    /* first wrong element, index in the receive buffer (guard: byte
	                       * offset from its start, as int64_t; send: element relative to the
	                       * send buffer, as int64_t) */
	char expected[48], got[48]; /* as dtype_format prints them */
};

/* One element of rank `rank` at `index`, dtype_size bytes to `bits`. */
void check_element(const struct check_data *data, int rank, uint64_t index, void *bits);

/* Writes to `bits` the element that a reduction over all ranks must give at `index`. */
void check_reduced(const struct check_data *data, uint64_t index, void *bits);

/* Host memory versions of the backend hooks `fill` and `verify`. `base` is the pool index of the
 * send buffers' first element, on every rank. */
void check_fill(const struct check_data *data, int rank, uint64_t base, size_t count, void *dst);
void check_verify(const struct check_data *data, const void *recv, const struct segment *segments,
		  int n, uint64_t base, struct verify_result *result);

/* One line without newline: "rank 2 element 17: expected 3 got 0: zero (12 wrong)". Returns buf. */
char *check_describe(const struct check_report *report, char *buf, size_t len);
