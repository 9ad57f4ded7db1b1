/* diagnose_pairs.c: sends and receives, whose signatures leave out kind, partner and size: what the records themselves tell. */
#include <stdio.h>

#include "call.h"
#include "inquiry.h"

bool call_in_pairs(const struct record *r)
{
	return r && (r->kind == CALL_SEND || r->kind == CALL_RECV);
}

bool waits_in_pairs(const struct inquiry *q, int rank)
{
	const struct rank_view *v = &q->evidence->ranks[rank].view;

	return v->completed < v->issued && call_in_pairs(q->align.tracks[rank].final);
}

/* Partners differ from rank to rank by right; the rest, where all ranks follow one plan, does not. */
static bool alike(const struct inquiry *q, int rank, uint64_t seq, int model, uint64_t its)
{
	const struct record *x = align_record(&q->align, rank, seq);
	const struct record *y = align_record(&q->align, model, its);

	return x && y && x->kind == y->kind && x->count == y->count && x->dtype == y->dtype;
}

/* `rank` made the calls of `model` but for one: which may it have left out? False: it made others. */
static bool compare_pairs(const struct inquiry *q, int rank, int model, struct deviation *out)
{
	const struct track *t = &q->align.tracks[rank], *m = &q->align.tracks[model];
	uint64_t from = t->first > m->first ? t->first : m->first;

	if (m->last != t->last + 1 || !t->final)
		return false;
	out->kind = DEVIATION_SKIPPED;
	out->shift = 1;
	for (out->high = from; out->high <= t->last; out->high++)
		if (!alike(q, rank, out->high, model, out->high))
			break;
	for (out->low = t->last + 1; out->low > from; out->low--)
		if (!alike(q, rank, out->low - 1, model, out->low))
			break;
	if (out->low > out->high)
		return false;
	if (out->low == from && from > 1)
		out->low = 1; /* it lies before what the rings still hold */
	return true;
}

int find_left_out(const struct inquiry *q, int rank, struct deviation *out)
{
	for (int model = 0; model < q->align.nranks; model++)
		if (q->align.tracks[model].known && !q->guilty[model] &&
		    compare_pairs(q, rank, model, out))
			return model;
	return -1;
}
