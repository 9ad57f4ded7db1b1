/* diagnose_pairs.c: sends and receives, whose signatures leave out kind, partner and size: what the
 * records themselves tell. */
#include <inttypes.h>

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

/* Partners differ from rank to rank by right; the rest, where all follow one plan, does not. */
static bool alike(const struct inquiry *q, int rank, uint64_t seq, int model, uint64_t its)
{
	const struct record *x = align_record(&q->align, rank, seq);
	const struct record *y = align_record(&q->align, model, its);

	return x && y && x->kind == y->kind && x->count == y->count && x->dtype == y->dtype;
}

/* `rank` made the calls of `model` but for one less or one more: which may it be? False: others. */
static bool compare_pairs(const struct inquiry *q, int rank, int model, struct deviation *out)
{
	const struct track *t = &q->align.tracks[rank], *m = &q->align.tracks[model];
	uint64_t from = t->first > m->first ? t->first : m->first;
	bool skipped = out->kind == DEVIATION_SKIPPED;

	if (!t->final || (skipped ? m->last != t->last + 1 : m->last + 1 < t->last))
		return false;
	for (out->high = from; out->high <= t->last; out->high++)
		if (!alike(q, rank, out->high, model, out->high))
			break;
	for (out->low = t->last + 1; out->low > from; out->low--)
		if (!alike(q, rank, out->low - 1, model, skipped ? out->low : out->low - 2))
			break;
	if (!skipped && out->low > from)
		out->low--; /* the call before those that are moved */
	if (out->low > out->high || (!skipped && out->high > t->last))
		return false;
	if (out->low == from && from > 1)
		out->low = 1; /* it lies before what the rings still hold */
	return true;
}

static int find_model(const struct inquiry *q, int rank, struct deviation *out)
{
	for (int i = 0; i < q->align.nranks; i++)
		if (q->align.tracks[i].known && !q->guilty[i] && compare_pairs(q, rank, i, out))
			return i;
	return -1;
}

bool all_wait_in_pairs(const struct inquiry *q)
{
	for (int i = 0; i < q->align.nranks; i++)
		if (q->guilty[i] && !waits_in_pairs(q, i))
			return false;
	return q->nguilty > 0;
}

bool place_in_pairs(struct inquiry *q, enum deviation_kind kind)
{
	uint64_t low = UINT64_MAX, high = 0, last = 0;
	struct diagnosis *d = q->d;
	int model = -1, one = -1;

	for (int i = 0; i < q->align.nranks; i++) {
		struct deviation at = { .kind = kind };

		if (!q->guilty[i])
			continue;
		model = call_in_pairs(q->align.tracks[i].final) ? find_model(q, i, &at) : -1;
		if (model < 0)
			return false;
		low = at.low < low ? at.low : low;
		high = at.high > high ? at.high : high;
		last = q->align.tracks[i].last;
		one = i;
	}
	if (model < 0)
		return false;
	d->seq_low = (int64_t)low;
	d->seq_high = (int64_t)high;
	inquiry_call(kind == DEVIATION_SKIPPED ? NULL : align_record(&q->align, one, high),
		     d->theirs, sizeof(d->theirs));
	inquiry_call(kind == DEVIATION_SKIPPED ? align_record(&q->align, model, high) : NULL,
		     d->majority, sizeof(d->majority));
	if (high > last)
		return false;
	inquiry_say(d, "From call %" PRIu64 " on %s sends and receives are those of rank %d moved "
		       "by 1.", high, q->nguilty == 1 ? "its" : "their", model);
	return true;
}
