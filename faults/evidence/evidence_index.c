/* evidence_index.c: what alignment needs of each call, computed once, in 8 bytes. */

#include "base/call_value.h"
#include "evidence/evidence.h"

#define FNV_BASIS 0xcbf29ce484222325ull

uint64_t evidence_signature(const struct record *record)
{
	uint64_t hash = record_hash(FNV_BASIS, record);

	return hash ? hash : 1;
}

uint64_t evidence_signature_strict(const struct record *record)
{
	uint64_t hash = record_hash_strict(FNV_BASIS, record);

	return hash ? hash : 1;
}

void evidence_index(struct evidence_rank *rank)
{
	struct evidence_index *x = &rank->index;
	const struct record *first = rank->calls;

	free(x->sig);
	memset(x, 0, sizeof(*x));
	if (rank->ncalls == 0)
		return;
	x->sig = malloc(rank->ncalls * sizeof(*x->sig));
	if (!x->sig)
		return;
	x->comm = first->comm;
	x->first_seq = first->seq;
	x->first_ticket = first->ticket;
	x->last_ticket = rank->calls[rank->ncalls - 1].ticket;
	x->plain = true;
	for (size_t i = 0; i < rank->ncalls; i++) {
		const struct record *r = &rank->calls[i];

		x->sig[i] = evidence_signature(r);
		record_set_add(&x->comms, r->comm);
		if (r->kind >= CALL_SEND)
			record_set_add(&x->pairs, r->comm);
		x->plain &= r->comm == x->comm && r->seq == x->first_seq + i &&
			    r->ticket == x->first_ticket + i;
	}
}
