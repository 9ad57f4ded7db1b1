/* collective.h: what a bench/NAME_perf.c file states about its collective, and nothing else. */
#pragma once

#include "backend/call.h"
#include "base/dtype.h"
#include "check/segment.h"
#include "options/options.h"

struct traffic;

/* A point is measured here. */
struct geometry {
	int rank, nranks;
	int root;		       /* -1 for a collective without root */
	size_t elsize;		       /* bytes of one element */
	size_t bytes;		       /* size asked for: one entry of the sweep */
	size_t align;		       /* per-rank counts are rounded down to a multiple of this
	                                * many bytes */
	const struct traffic *traffic; /* alltoallv's matrix, else NULL */
};

/* One rank's buffers look like this. All in elements but `bytes`. */
struct shape {
	size_t send, recv;   /* elements of this rank's send and receive buffer */
	size_t count;	     /* nccl-tests' "count" column: the argument of the NCCL call */
	size_t bytes;	     /* nccl-tests' "size" column, the same on every rank: the
	                            * largest buffer */
	size_t inplace_send; /* where the two lie in the one buffer of the in-place variant */
	size_t inplace_recv;
};

/* One call to make: `send` and `recv` point at the first element. In place: into the same
 * buffer. */
struct invocation {
	const struct geometry *geometry;
	const struct shape *shape;
	const void *send;
	void *recv;
	enum dtype dtype;
	enum redop op;
	uint32_t comm;
	uint64_t offset; /* of the buffers in their pool, bytes */
};

struct collective {
	const char *name;  /* binary and CSV name without _perf, "all_reduce" */
	bool reduces;	   /* loops over operators */
	bool rooted;	   /* loops over roots */
	bool in_place;	   /* the in-place variant is legal */
	bool power_of_two; /* runs on 2, 4, 8... ranks only */
	bool irregular;	   /* takes its counts from a traffic matrix */

	/* Fill `shape` for geometry's rank and size. A count of 0 means that the size is too
	 * small for this many ranks. */
	void (*shape)(const struct geometry *geometry, struct shape *shape);

	/* Bytes whose ratio to the time is algbw, and busbw / algbw (nccl-tests
	 * doc/PERFORMANCE.md). */
	double (*alg_bytes)(const struct geometry *geometry, const struct shape *shape);
	double (*bus_factor)(const struct geometry *geometry);

	/* Write at most nranks segments that tile the receive buffer; returns how many. */
	int (*segments)(const struct geometry *geometry, const struct shape *shape,
			struct segment *segments);

	/* One call of this kind is the collective; or it is what `run` issues through the chain, which
	 * returns 0 or a negative errno. */
	enum call_kind call;
	int (*run)(struct chain *chain, const struct invocation *invocation);
};

/* Issue the collective once. 0 or a negative errno. */
int collective_run(const struct collective *collective, struct chain *chain,
		   const struct invocation *invocation);

/* Returns what the options must know of the collective. */
struct option_target collective_target(const struct collective *collective);

/* Shared by several collectives. */
/* the size column */
double alg_bytes_size(const struct geometry *geometry, const struct shape *shape);
double bus_factor_one(const struct geometry *geometry);	   /* 1 */
double bus_factor_slices(const struct geometry *geometry); /* (n-1)/n */

/* Per-rank count of a size that is split over all ranks: bytes / elsize / nranks, rounded down
 * to `align` bytes. */
size_t slice_count(const struct geometry *geometry);

/* Shapes shared by several: every buffer holds the whole size; a slice is sent and all slices
 * received; the reverse. In place the slice lies where it stands among all slices. */
void shape_whole(const struct geometry *geometry, struct shape *shape);
void shape_gather(const struct geometry *geometry, struct shape *shape);
void shape_scatter(const struct geometry *geometry, struct shape *shape);

/* `n` segments that copy `count` elements from each rank's send buffer at `from_at`, one after
 * the other. */
int segments_gather(int n, size_t count, size_t from_at, struct segment *segments);

/* One segment that covers the whole receive buffer. */
int segments_one(enum segment_kind kind, size_t count, int from, size_t from_at,
		 struct segment *segments);

/* The call that an invocation makes when it is one call of `kind`; the caller sets what else it
 * needs. */
struct call invocation_call(const struct invocation *invocation, enum call_kind kind);

/* Send and receive at once: `count` elements to rank `to` and as many from rank `from`, in one
 * group. */
int run_exchange(struct chain *chain, const struct invocation *invocation, size_t count,
		 const void *send, int to, void *recv, int from);
