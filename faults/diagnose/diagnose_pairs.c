/* diagnose_pairs.c: sends and receives, whose signatures leave out kind, partner and size: what the
 * records themselves tell. */
#include <inttypes.h>
#include <stdio.h>

#include "call.h"
#include "classes.h"
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

/* All calls of the rank on the communicator are known. */
static bool knows_all(const struct inquiry *q, int rank)
{
	const struct track *t = rank >= 0 && rank < q->align.nranks ? &q->align.tracks[rank] : NULL;

	return t && t->known && (!t->final || t->first == 1);
}

static bool is_pair(const struct inquiry *q, const struct record *r, enum call_kind kind, int peer)
{
	return r->comm == q->align.comm && r->kind == kind && r->peer == peer;
}

/* How many of this kind the rank has made with `peer` up to the call `end`. */
static uint64_t ordinal(const struct inquiry *q, int rank, const struct record *end)
{
	uint64_t n = 0;

	for (const struct record *r = q->align.tracks[rank].oldest; r <= end; r++)
		n += is_pair(q, r, end->kind, end->peer);
	return n;
}

/* The rank's nth of this kind with `peer`, NULL: it has not made so many. */
static const struct record *find_nth(const struct inquiry *q, int rank, enum call_kind kind,
				     int peer, uint64_t n)
{
	const struct track *t = &q->align.tracks[rank];

	for (const struct record *r = t->oldest; t->final && r <= t->final; r++)
		if (is_pair(q, r, kind, peer) && --n == 0)
			return r;
	return NULL;
}

/* Sends and receives between two ranks meet in the order in which they are made. The first that
 * the rank waits for and that cannot end: NULL where there is none or too little is known.
 * `theirs`: what its partner made of it, NULL: nothing. */
static const struct record *find_open(const struct inquiry *q, int rank,
				      const struct record **theirs)
{
	const struct track *t = &q->align.tracks[rank];

	if (!knows_all(q, rank) || !t->final)
		return NULL;
	for (uint64_t seq = inquiry_completed(q, rank) + 1; seq <= t->last; seq++) {
		const struct record *r = align_record(&q->align, rank, seq);

		if (!call_in_pairs(r) || !knows_all(q, r->peer))
			return NULL;
		*theirs = find_nth(q, r->peer, r->kind == CALL_SEND ? CALL_RECV : CALL_SEND, rank,
				   ordinal(q, rank, r));
		if (!*theirs || (*theirs)->count != r->count || (*theirs)->dtype != r->dtype)
			return r;
	}
	return NULL;
}

static void say_open(struct inquiry *q, int rank, const struct record *own,
		     const struct record *theirs)
{
	char one[160], other[160];

	inquiry_call(own, one, sizeof(one));
	if (theirs)
		inquiry_say(q->d, "Rank %d's call %" PRIu64 " (%s) meets rank %d's call %" PRIu64
				  " (%s): they do not fit.",
			    rank, own->seq, one, own->peer, theirs->seq,
			    inquiry_call(theirs, other, sizeof(other)));
	else
		inquiry_say(q->d, "Rank %d waits in call %" PRIu64 " (%s), of which rank %d has not "
				  "made its part.",
			    rank, own->seq, one, own->peer);
}

/* Where two that do not fit have met: either may be the one that is wrong. */
static void place_unequal(struct inquiry *q, const struct record *own, const struct record *theirs)
{
	struct diagnosis *d = q->d;

	d->comm = q->align.comm;
	d->hang_seq = inquiry_hang_point(q);
	d->seq_low = (int64_t)(own->seq < theirs->seq ? own->seq : theirs->seq);
	d->seq_high = (int64_t)(own->seq < theirs->seq ? theirs->seq : own->seq);
	snprintf(d->field, sizeof(d->field), own->count != theirs->count ? "count" : "dtype");
	inquiry_call(theirs, d->theirs, sizeof(d->theirs));
	inquiry_call(own, d->majority, sizeof(d->majority));
}

bool blame_unequal(struct inquiry *q)
{
	const struct record *theirs = NULL, *own;
	struct diagnosis *d = q->d;
	bool unequal = false;

	for (int i = 0; i < q->align.nranks && d->nlines < DIAGNOSIS_LINES / 2; i++) {
		own = find_open(q, i, &theirs);
		if (!own)
			continue;
		say_open(q, i, own, theirs);
		if (theirs && !unequal)
			place_unequal(q, own, theirs);
		unequal = unequal || theirs;
	}
	if (unequal)
		inquiry_conclude(q, CLASS_MISMATCH, "inconclusive");
	return unequal;
}

bool acquit_pairs(struct inquiry *q)
{
	const struct record *theirs = NULL;
	struct diagnosis *d = q->d;

	for (int i = 0; i < q->align.nranks; i++)
		if (q->guilty[i] && !find_open(q, i, &theirs))
			return false;
	for (int i = 0; i < q->align.nranks; i++)
		q->guilty[i] = false;
	q->nguilty = 0;
	d->seq_low = d->seq_high = -1;
	d->field[0] = d->theirs[0] = d->majority[0] = '\0';
	blame_unequal(q);
	return true;
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
