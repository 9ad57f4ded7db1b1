/* index.h: answers about a rank's records that are asked for again and again, looked up once. */
#pragma once

#include "base/error.h"
#include "record/record.h"

struct call_index {
	uint32_t *sig;		 /* call_signature of each call; owned; NULL: there are none */
	struct record_set comms; /* there are calls on these communicators */
	struct record_set pairs; /* sends or receives among them */
	bool plain;		 /* one communicator; tickets and call numbers without a gap */
	uint32_t comm;		 /* where plain: which, and the first call's numbers */
	uint64_t first_seq, first_ticket, last_ticket;
};

/* Makes the index of `n` records, oldest first. Releases the content it had before. */
void call_index_make(struct call_index *index, const struct record *calls, size_t n);

/* The signature of a call: the fields in which all ranks must agree, never 0. Sends and receives are
 * all one call, or (strict) told apart by kind, amount and type. 32 bits: a large run has many. */
uint32_t call_signature(const struct record *record);
uint32_t call_signature_strict(const struct record *record);
