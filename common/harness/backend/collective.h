/* collective.h: the description of a collective that bench/NAME_perf.c contains. */
#pragma once

#include "backend/call.h"
#include "base/dtype.h"
#include "check/segment.h"
#include "options/options.h"

struct traffic;

/* The parameters of a point on a rank. */
struct geometry {
	int rank, nranks;
	int root;		       /* -1 for a collective without root */
	size_t elsize;		       /* bytes of one element */
	size_t bytes;		       /* requested size: one entry of the sweep */
	size_t align;		       /* counts of ranks are multiples of this many bytes */
	const struct traffic *traffic; /* alltoallv's matrix, else NULL */
};

/* The shape of one rank's buffers, in elements except `bytes`. */
struct shape {
	size_t send, recv;   /* elements of this rank's send and receive buffer */
	size_t count;	     /* nccl-tests' "count" column: the argument of the NCCL call */
	size_t bytes;	     /* nccl-tests' "size" column: the largest buffer of a rank */
	size_t inplace_send; /* offsets of the two in the one buffer of the in-place variant */
	size_t inplace_recv;
};

/* A call to make: `send` and `recv` point at the first element; in place they share a buffer. */
struct invocation {
	const struct geometry *geometry;
	const struct shape *shape;
	const void *send;
	void *recv;
	enum dtype dtype;
	enum redop op;
	uint32_t comm;
	uint64_t offset; /* byte offset of the buffers in their pool */
};

struct collective {
	const char *name;  /* binary and CSV name without _perf, "all_reduce" */
	bool reduces;	   /* loops over operators */
	bool rooted;	   /* loops over roots */
	bool in_place;	   /* the in-place variant is legal */
	bool power_of_two; /* runs on 2, 4, 8... ranks only */
	bool irregular;	   /* takes its counts from a traffic matrix */

	/* Sets `shape` for geometry's rank and size. A count of 0 means that the size is too small
	 * for the number of ranks. */
	void (*shape)(const struct geometry *geometry, struct shape *shape);

	/* Bytes per time for algbw, NULL: the size; busbw / algbw, NULL: 1. The formulas are nccl-tests'. */
	double (*alg_bytes)(const struct geometry *geometry, const struct shape *shape);
	double (*bus_factor)(const struct geometry *geometry);

	/* Writes at most nranks segments that tile the receive buffer; returns their number. */
	int (*segments)(const struct geometry *geometry, const struct shape *shape,
			struct segment *segments);

	/* With `run` NULL the collective is one call of this kind. Otherwise `run` issues its calls
	 * through the chain and returns 0 or a negative errno. */
	enum call_kind call;
	int (*run)(struct chain *chain, const struct invocation *invocation);
};

/* Issues the collective once. Returns 0 or a negative errno. */
int collective_run(const struct collective *collective, struct chain *chain,
		   const struct invocation *invocation);

/* Returns the collective's properties for the option parser. */
struct option_target collective_target(const struct collective *collective);

/* Shared by several collectives: (n-1)/n. */
double bus_factor_slices(const struct geometry *geometry);

/* Returns the per-rank count of a split size: bytes / elsize / nranks, down to `align` bytes. */
size_t slice_count(const struct geometry *geometry);

/* Shared shapes: every buffer holds the whole size; the send buffer is a slice and the receive
 * buffer all slices; the reverse. In place the slice lies at its own position among all slices. */
void shape_whole(const struct geometry *geometry, struct shape *shape);
void shape_gather(const struct geometry *geometry, struct shape *shape);
void shape_scatter(const struct geometry *geometry, struct shape *shape);

/* Shared contents of a receive buffer: the reduction; the root's data; every rank's slice. Where
 * send buffers hold a slice for each rank it is this rank's own. With a root the other ranks'
 * buffers must not change, except by segments_root. */
int segments_reduce(const struct geometry *geometry, const struct shape *shape,
		    struct segment *segments);
int segments_root(const struct geometry *geometry, const struct shape *shape,
		  struct segment *segments);
int segments_gather(const struct geometry *geometry, const struct shape *shape,
		    struct segment *segments);

/* Writes one segment that covers the receive buffer. */
int segments_one(enum segment_kind kind, size_t count, int from, size_t from_at,
		 struct segment *segments);

/* Returns the call of an invocation of a single `kind`; the caller sets the other fields. */
struct call invocation_call(const struct invocation *invocation, enum call_kind kind);

/* Sends `count` elements to rank `to` and receives as many from rank `from`, in one group. */
int run_exchange(struct chain *chain, const struct invocation *invocation, size_t count,
		 const void *send, int to, void *recv, int from);
