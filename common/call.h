/* call.h: one communication call as a value, and the chain it travels: fault filter, flight recorder, backend. */
#ifndef HANGAR_CALL_H
#define HANGAR_CALL_H

#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "dtype.h"
#include "watch.h"

enum call_kind {
	CALL_ALL_REDUCE,
	CALL_ALL_GATHER,
	CALL_REDUCE_SCATTER,
	CALL_BROADCAST,
	CALL_REDUCE,
	CALL_ALLTOALL,
	CALL_ALLTOALLV,
	CALL_GATHER,
	CALL_SCATTER,
	CALL_SEND,
	CALL_RECV,
	CALL_KIND_COUNT
};

/* "AllReduce" "AllGather" ... "Send" "Recv": NCCL's function names without the prefix. */
const char *call_kind_name(enum call_kind kind);

struct call {
	uint32_t comm;       /* communicator id; 0 is the one of all ranks */
	enum call_kind kind;
	const void *send;    /* NULL for CALL_RECV */
	void *recv;          /* NULL for CALL_SEND */
	size_t count;        /* elements, with NCCL's meaning for this kind (per rank for gathers, scatters, alltoall) */
	enum dtype dtype;
	enum redop op;       /* OP_NONE where nothing is reduced */
	int peer;            /* root or peer, -1 where there is none */
	uint32_t stream;     /* stream id; 0 is the measured one */
	uint64_t offset;     /* byte offset of the buffer in its pool, for the record */
	/* CALL_ALLTOALLV only: arrays of nranks elements, counts and displacements in elements, owned by the caller and
	 * valid until the call is issued. */
	const size_t *send_counts, *send_at, *recv_counts, *recv_at;
};

struct chain;

/* The fault filter. `issue` receives the call that the benchmark wants to make and passes on what is really made: it may
 * call chain_emit() not at all, once, several times or with another call, and may hold the thread. NULL filter: passes
 * every call unchanged. Returns 0 or a negative errno. */
struct call_filter {
	void *state;
	int (*issue)(void *state, const struct call *call, struct chain *chain);
};

struct chain {
	struct backend *backend;
	const struct watch *watch;        /* may be NULL */
	const struct call_filter *filter; /* may be NULL */
};

/* Make a call: filter, recorder, backend. Returns 0 or a negative errno (kept in the backend's error). */
int chain_call(struct chain *chain, const struct call *call);

/* The part behind the filter: record, then issue. For filters only. */
int chain_emit(struct chain *chain, const struct call *call);

/* Calls between begin and end start together (ncclGroupStart/End; MPI: non-blocking, completed at the end). */
int chain_group_begin(struct chain *chain);
int chain_group_end(struct chain *chain);

/* Stream-ordered local copy; no communication, not recorded. */
int chain_copy(struct chain *chain, void *dst, const void *src, size_t bytes);

#endif
