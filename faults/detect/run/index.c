/* index.c: signatures of records, and what communicators they are on. */
#include "run/index.h"

#include "base/call_value.h"

#define FNV_BASIS 0xcbf29ce484222325ull

static uint32_t fold(uint64_t hash)
{
	uint32_t folded = (uint32_t)(hash ^ hash >> 32);

	return folded ? folded : 1;
}

uint32_t call_signature(const struct record *record)
{
	return fold(record_hash(FNV_BASIS, record));
}

uint32_t call_signature_strict(const struct record *record)
{
	return fold(record_hash_strict(FNV_BASIS, record));
}

void call_index_make(struct call_index *x, const struct record *calls, size_t n)
{
	free(x->sig);
	memset(x, 0, sizeof(*x));
	if (n == 0)
		return;
	x->sig = must(malloc(n * sizeof(*x->sig)));
	x->comm = calls->comm;
	x->first_seq = calls->seq;
	x->first_ticket = calls->ticket;
	x->last_ticket = calls[n - 1].ticket;
	x->plain = true;
	for (size_t i = 0; i < n; i++) {
		const struct record *r = &calls[i];

		x->sig[i] = call_signature(r);
		record_set_add(&x->comms, r->comm);
		if (call_is_pair(r->kind))
			record_set_add(&x->pairs, r->comm);
		x->plain &= r->comm == x->comm && r->seq == x->first_seq + i &&
			    r->ticket == x->first_ticket + i;
	}
}
