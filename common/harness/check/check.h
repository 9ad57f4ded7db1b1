/* check.h: the data check: expected elements, and count, place and name of wrong ones. Element =
 * f(seed, rank, index). `index` counts elements from the start of the send pool, so one filled pool
 * serves every size, and any rank can compute the data of another. A reduction's contributions give
 * one exact result in every order of reduction (see check_plan.h). */
#pragma once

#include "base/dtype.h"
#include "check/segment.h"

/* The parameters of a point's data, equal on all ranks. */
struct check_data {
	uint32_t seed;
	enum dtype dtype;
	enum redop op; /* OP_NONE: elements are moved; all bits but NaN and infinity */
	int nranks;
	bool avg_premultiplies; /* BACKEND_AVG_FIRST */
};

/* Every buffer, with its guards, is filled with this byte before use. */
#define CHECK_POISON 0xA5

/* Bytes on each side of a buffer that must not change. */
#define CHECK_GUARD 4096

enum wrong_kind {
	WRONG_NONE,
	WRONG_ZERO,    /* zero, and another value is expected */
	WRONG_STALE,   /* never written: still poison */
	WRONG_SHIFTED, /* correct data at a wrong offset */
	WRONG_MISSING, /* one rank's contribution is missing */
	WRONG_DOUBLED, /* one rank's contribution is counted twice */
	WRONG_NAN,
	WRONG_FLIPPED, /* one flipped bit in an element, or in one rank's contribution to it */
	WRONG_GUARD,   /* bytes outside the receive buffer changed */
	WRONG_SEND,    /* the send buffer changed */
	WRONG_KEEP,    /* a buffer that must not change was written */
	WRONG_OTHER    /* no other kind fits */
};

/* "none" "zero" "stale" "shifted" "missing" "doubled" "nan" "flipped" "guard" "send" "keep" "other". */
const char *wrong_kind_name(enum wrong_kind kind);

/* The raw result of a comparison of one receive buffer. */
struct verify_result {
	uint64_t wrong; /* elements that differ */
	uint64_t first; /* element index in the receive buffer of the first one */
};

/* The report of a failed check; plain data that ranks can gather. */
struct check_report {
	uint64_t wrong;	  /* wrong elements of this rank (for guard: wrong bytes) */
	int32_t kind;	  /* enum wrong_kind of the first wrong element */
	int32_t rank;	  /* the rank whose buffer is wrong */
	int32_t ranks;	  /* number of ranks with wrong buffers, after a gather; 0: not gathered */
	int32_t culprit;  /* rank whose contribution is missing, doubled or flipped, -1: unknown */
	int64_t shift;	  /* WRONG_SHIFTED: elements; positive: the data are too far back */
	uint64_t element; /* the first, by index in the receive buffer (guard: byte offset from its
			   * start; send: element of the send buffer; both as int64_t) */
	char expected[48], got[48]; /* in dtype_format's form */
};

/* Writes the element of rank `rank` at `index`, dtype_size bytes, to `bits`. */
void check_element(const struct check_data *data, int rank, uint64_t index, void *bits);

/* Writes the element of the reduction over all ranks at `index` to `bits`. */
void check_reduced(const struct check_data *data, uint64_t index, void *bits);

/* The backend hooks `fill` and `verify` for host memory. `base` is the pool index of the first
 * element of the send buffers, on every rank. */
void check_fill(const struct check_data *data, int rank, uint64_t base, size_t count, void *dst);
void check_verify(const struct check_data *data, const void *recv, const struct segment *segments,
		  int n, uint64_t base, struct verify_result *result);

/* Writes one line: "rank 2 element 17: expected 3 got 0: zero (12 wrong)". Returns buf. */
char *check_describe(const struct check_report *report, char *buf, size_t len);
