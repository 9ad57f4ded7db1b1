/* rule_pairs.c: sends and receives, whose signatures leave out kind, partner and size: what the
 * records themselves tell. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/call_value.h"
#include "diagnose/rule.h"

/* What one look costs is bounded: pending calls of a rank, ranks of a run. */
#define PENDING_MAX 64
#define RANKS_MAX   1024

static bool is_pair_kind(int kind)
{
	return kind == CALL_SEND || kind == CALL_RECV;
}

bool call_in_pairs(const struct record *r)
{
	return r && is_pair_kind(r->kind);
}

bool waits_in_pairs(const struct inquiry *q, int rank)
{
	const struct rank_view *v = &q->evidence->ranks[rank].view;
	const struct track *t = &q->align.tracks[rank];

	return v->completed < v->issued && t->final && is_pair_kind(t->last_kind);
}

bool all_wait_in_pairs(const struct inquiry *q)
{
	for (int i = 0; i < q->align.nranks; i++)
		if (q->guilty[i] && !waits_in_pairs(q, i))
			return false;
	return q->nguilty > 0;
}

/* Is the rank's number within its communicator that of the run? Not so where ranks are split into
 * groups: partners are numbered within theirs. */
static bool numbered_alike(const struct inquiry *q, int rank)
{
	const struct record_header *h = q->evidence->ranks[rank].recorder;
	const struct record_init *init = h ? &h->inits[q->align.comm] : NULL;

	return !init || init->state == RECORD_COMM_NONE ||
	       (init->rank == rank && init->nranks == q->evidence->nranks);
}

/* All calls of the rank on the communicator are known. */
static bool knows_all(const struct inquiry *q, int rank)
{
	const struct track *t = rank >= 0 && rank < q->align.nranks ? &q->align.tracks[rank] : NULL;

	return t && t->known && (!t->final || (t->first == 1 && t->whole)) &&
	       numbered_alike(q, rank);
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

static uint64_t last_looked(const struct track *t, uint64_t done)
{
	return t->last < done + PENDING_MAX ? t->last : done + PENDING_MAX;
}

bool partners_known(const struct inquiry *q, int rank)
{
	const struct track *t = &q->align.tracks[rank];
	uint64_t done = inquiry_completed(q, rank);

	if (!knows_all(q, rank) || t->last > done + PENDING_MAX)
		return false;
	for (uint64_t seq = done + 1; seq <= t->last; seq++) {
		const struct record *r = align_record(&q->align, rank, seq);

		if (!call_in_pairs(r) || !knows_all(q, r->peer))
			return false;
	}
	return true;
}

/* Sends and receives between two ranks meet in the order in which they are made. The first that
 * the rank waits for and that cannot end: NULL where there is none or too little is known.
 * `theirs`: what its partner made of it, NULL: nothing. */
static const struct record *find_open(const struct inquiry *q, int rank,
				      const struct record **theirs)
{
	const struct track *t = &q->align.tracks[rank];
	uint64_t done;

	if (!knows_all(q, rank) || !t->final)
		return NULL;
	done = inquiry_completed(q, rank);
	for (uint64_t seq = done + 1; seq <= last_looked(t, done); seq++) {
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
		inquiry_say(q->d,
			    "Rank %d's call %" PRIu64 " (%s) meets rank %d's call %" PRIu64
			    " (%s): they do not fit.",
			    inquiry_number(q, rank), own->seq, one, inquiry_number(q, own->peer),
			    theirs->seq, inquiry_call(theirs, other, sizeof(other)));
	else
		inquiry_say(q->d,
			    "Rank %d waits in call %" PRIu64 " (%s), of which rank %d has not "
			    "made its part.",
			    inquiry_number(q, rank), own->seq, one, inquiry_number(q, own->peer));
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
	int n = q->align.nranks < RANKS_MAX ? q->align.nranks : RANKS_MAX;
	const struct record *theirs = NULL, *own;
	struct diagnosis *d = q->d;
	bool unequal = false;

	for (int i = 0; i < n && d->nlines < DIAGNOSIS_LINES / 2; i++) {
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

/* Of more ranks than are looked at all go free: to name some of them would be a guess. */
bool acquit_pairs(struct inquiry *q)
{
	const struct record *theirs = NULL;
	struct diagnosis *d = q->d;
	size_t looked = 0;

	for (int i = 0; i < q->align.nranks && looked < RANKS_MAX; i++) {
		looked += q->guilty[i];
		if (q->guilty[i] && !find_open(q, i, &theirs))
			return false;
	}
	for (int i = 0; i < q->align.nranks; i++)
		q->guilty[i] = false;
	q->nguilty = 0;
	d->seq_low = d->seq_high = -1;
	d->field[0] = d->theirs[0] = d->majority[0] = '\0';
	blame_unequal(q);
	return true;
}

bool pairs_point_at(const struct inquiry *q, int rank, bool extra)
{
	int n = q->align.nranks < RANKS_MAX ? q->align.nranks : RANKS_MAX;
	const struct record *theirs = NULL, *own;

	if (extra && find_open(q, rank, &theirs))
		return true;
	for (int i = 0; i < n; i++) {
		own = find_open(q, i, &theirs);
		if (own && own->peer == rank)
			return true;
	}
	return false;
}

bool guilty_awaited(const struct inquiry *q)
{
	int n = q->align.nranks < RANKS_MAX ? q->align.nranks : RANKS_MAX;
	bool *awaited = calloc((size_t)q->align.nranks + 1, sizeof(*awaited));
	bool certain = awaited && n == q->align.nranks, all = true;

	for (int i = 0; awaited && i < n; i++) {
		const struct record *theirs, *own = find_open(q, i, &theirs);

		if (own)
			awaited[own->peer] = true;
		else if (waits_in_pairs(q, i) && !partners_known(q, i))
			certain = false;
	}
	for (int i = 0; awaited && i < n; i++)
		all = all && (!q->guilty[i] || awaited[i]);
	free(awaited);
	return all || !certain;
}

bool pairs_contradict(const struct inquiry *q, const struct deviation *d, int rank)
{
	bool skipped = d->kind == DEVIATION_SKIPPED;

	if (q->d->outcome != OUTCOME_HANG || (!skipped && d->kind != DEVIATION_EXTRA) ||
	    !call_in_pairs(align_reference(&q->align, d->high)))
		return false;
	if (d->agreed <= 1)
		return true;
	return skipped ? !guilty_awaited(q) : partners_known(q, rank) && !waits_in_pairs(q, rank);
}

/* What a send and its receive have in common: between whom, which of theirs, how much. Sums of it are
 * compared, so that every bit has to depend on all of that. */
static uint64_t meeting(int from, int to, uint64_t nth, const struct record *r)
{
	struct record ends = { .kind = CALL_SEND, .count = (uint64_t)from << 32 | (uint32_t)to };
	struct record amount = { .kind = CALL_SEND, .dtype = r->dtype, .count = r->count };
	uint64_t hash = record_hash_strict(record_hash_strict(nth, &ends), &amount);

	hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15ull;
	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
	return hash ^ hash >> 32;
}

/* Adds the rank's sends to `sum`, takes its receives from it; `others`: of its collectives, in their
 * order. `made`: two words per rank, all 0 before and after. False: a partner is not known. */
static bool add_meetings(const struct inquiry *q, int rank, uint64_t *made, uint64_t *sum,
			 uint64_t *others)
{
	const struct track *t = &q->align.tracks[rank];
	bool known = true;

	for (const struct record *r = t->oldest; known && t->final && r <= t->final; r++) {
		bool sent = r->kind == CALL_SEND;

		if (r->comm != q->align.comm)
			continue;
		known = !call_in_pairs(r) || knows_all(q, r->peer);
		if (!call_in_pairs(r))
			*others = record_hash(*others, r);
		else if (known && sent)
			*sum += meeting(rank, r->peer, made[2 * r->peer]++, r);
		else if (known)
			*sum -= meeting(r->peer, rank, made[2 * r->peer + 1]++, r);
	}
	for (const struct record *r = t->oldest; known && t->final && r <= t->final; r++)
		if (r->comm == q->align.comm && call_in_pairs(r))
			made[2 * r->peer] = made[2 * r->peer + 1] = 0;
	return known;
}

bool lacks_meeting(struct inquiry *q)
{
	uint64_t *made = calloc(2 * (size_t)q->align.nranks + 1, sizeof(*made));
	uint64_t sum = 0, first = 0;
	bool all = made != NULL;

	for (int i = 0; all && i < q->align.nranks; i++) {
		uint64_t others = 0;

		all = knows_all(q, i) && add_meetings(q, i, made, &sum, &others) &&
		      (i == 0 || others == first);
		first = others;
	}
	free(made);
	return !all || sum != 0;
}
