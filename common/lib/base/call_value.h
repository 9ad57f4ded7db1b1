/* call_value.h: plain values for one communication call, one communicator request and one wrong
 * element. The filter chain of backend/call.h carries them and the flight recorder stores them. */
#pragma once

#include "base/dtype.h"

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

/* Returns true for a send or a receive. */
static inline bool call_is_pair(int kind)
{
	return kind == CALL_SEND || kind == CALL_RECV;
}

/* "AllReduce" "AllGather" ... "Send" "Recv": NCCL's function names without the prefix. */
const char *call_kind_name(enum call_kind kind);

struct call {
	uint32_t comm; /* communicator id; 0 is the one of all ranks */
	enum call_kind kind;
	const void *send; /* NULL for CALL_RECV */
	void *recv;	  /* NULL for CALL_SEND */
	size_t count;	  /* elements, with NCCL's meaning for this kind (per rank or not) */
	enum dtype dtype;
	enum redop op;	 /* OP_NONE where nothing is reduced */
	int peer;	 /* root or peer, -1 where there is none */
	uint32_t stream; /* stream id; 0 is the measured one */
	uint64_t offset; /* byte offset of the buffer in its pool, for the record */
	uint32_t site;	 /* line of code, for the record (record/record.h); 0: not known */
	/* CALL_ALLTOALLV only: arrays of nranks elements, counts and displacements in elements,
	 * owned by the caller and valid until the call is issued. */
	const size_t *send_counts, *send_at, *recv_counts, *recv_at;
};

#define COMM_ID_BYTES 128

/* Ranks of the group that share a communicator: n of them from `first` on, modulo the group's size; the
 * i-th is rank i of the communicator. */
struct comm_span {
	int first, n;
};

/* One rank hands this to communicator init. All ranks must agree in nranks and id. */
struct comm_request {
	uint32_t comm;			 /* communicator id, as in struct call */
	int rank, nranks;		 /* in the communicator */
	struct comm_span span;		 /* its members; or the nranks ranks after the span */
	unsigned char id[COMM_ID_BYTES]; /* NCCL's unique id; MPI: a tag (uint32_t) */
};

/* A wrong element that the check of a call found, as the flight recorder keeps it. */
struct wrong_data {
	uint64_t offset;	/* byte offset of the buffers in their pool */
	uint64_t index;		/* index of the element in the send buffers it comes from */
	uint64_t count;		/* consecutive wrong elements, this one the first */
	uint64_t expected, got; /* bits of the element */
	int32_t from;		/* rank the element comes from; -1: all ranks, by a reduction */
	int32_t culprit;	/* the one that explains a wrong reduction; -1: none */
	enum dtype dtype;
	bool sent; /* the element is in the rank's own send buffer; false: it was received */
};
