/* deviation.c: how one rank's calls differ from those that most ranks made. */
#include "run/comm_parts.h"

#define SHIFT_MAX 8 /* calls skipped or added in one place */

static uint64_t sig_of(const struct progress_comm *a, int rank, uint64_t seq)
{
	return rank < 0 ? comm_reference_sig(a, seq) : progress_sig(a, rank, seq);
}

bool comm_alike(const struct progress_comm *a, int rank, uint64_t x, uint64_t y)
{
	const struct record *one, *other;

	if (!sig_of(a, rank, x) || sig_of(a, rank, x) != sig_of(a, rank, y))
		return false;
	one = rank < 0 ? progress_reference(a, x) : progress_call(a, rank, x);
	other = rank < 0 ? progress_reference(a, y) : progress_call(a, rank, y);
	return !one || !other || call_signature_strict(one) == call_signature_strict(other);
}

uint64_t comm_first_difference(const struct progress_comm *a, int rank)
{
	uint64_t from, to;

	if (!comm_clip(a, &a->tracks[rank], &from, &to))
		return 0;
	for (uint64_t s = from; s <= to; s++) {
		uint64_t sig = a->tracks[rank].sig[s - a->tracks[rank].first];
		uint64_t ref = a->reference[s - a->base];

		if (sig && ref && sig != ref)
			return s;
	}
	return 0;
}

/* Counts the calls after `at` that speak for the rank being the reference moved by `shift`
 * (positive: calls are missing); -1: some call speaks against it. */
static int64_t fits(const struct progress_comm *a, int rank, uint64_t at, int64_t shift)
{
	uint64_t from = shift < 0 ? at + (uint64_t)-shift : at + (shift == 0);
	int64_t n = 0;

	for (uint64_t s = from; s <= a->tracks[rank].last; s++) {
		uint64_t sig = progress_sig(a, rank, s);
		uint64_t ref = comm_reference_sig(a, s + (uint64_t)shift);

		if (sig && ref && sig != ref)
			return -1;
		n += sig && ref;
	}
	return n;
}

/* Nothing follows the call that differs: it may be the next (skipped) or one again (extra). */
static enum deviation_kind kind_of_last(const struct progress_comm *a, int rank, uint64_t at)
{
	uint64_t sig = progress_sig(a, rank, at), next = comm_reference_sig(a, at + 1);
	bool extra = sig == comm_reference_sig(a, at - 1), skipped;

	skipped = next ? sig == next : comm_runs_ahead(a, rank, at);
	if (extra && skipped)
		return DEVIATION_UNCLEAR;
	return extra ? DEVIATION_EXTRA : skipped ? DEVIATION_SKIPPED : DEVIATION_FIELD;
}

/* Returns true if another rank than this one waits, and none has gone further than call `at`. */
static bool waits_at(const struct progress_comm *a, int rank, uint64_t at)
{
	bool any = false;

	for (int i = 0; i < a->nranks; i++) {
		const struct rank_view *v = a->ranks[i].view;

		if (i == rank || !a->tracks[i].known)
			continue;
		if (a->tracks[i].last > at)
			return false;
		any |= a->tracks[i].last == at && v->process == PROCESS_ALIVE &&
		       !view_finished(v) && v->completed < v->issued;
	}
	return any;
}

/* Several explanations fit: how many calls the rank made in all decides. `held`: the others wait in the call, so that they made
 * none behind it either way. */
static enum deviation_kind kind_by_length(const struct progress_comm *a, int rank, bool skipped,
					  bool extra, bool held)
{
	uint64_t mine = a->tracks[rank].last, others = 0;

	for (int i = 0; i < a->nranks; i++)
		if (i != rank && a->tracks[i].known && a->tracks[i].last > others)
			others = a->tracks[i].last;
	if (skipped && mine < others)
		return DEVIATION_SKIPPED;
	if (extra && mine > others && !held)
		return DEVIATION_EXTRA;
	return DEVIATION_UNCLEAR;
}

uint64_t progress_swapped(const struct progress_comm *a, int rank, int other, uint64_t at)
{
	uint64_t n = 0;

	for (uint64_t s = at; s <= a->tracks[rank].last; s++) {
		uint64_t own = progress_sig(a, rank, s);
		uint64_t ref = sig_of(a, other, s);

		if (!own || !ref || own == ref || s == at)
			continue;
		if (n > 0 || s - at > SHIFT_MAX || own != sig_of(a, other, at) ||
		    ref != progress_sig(a, rank, at))
			return 0;
		n = s - at;
	}
	return n;
}

/* The others stand in call `at`, which let this rank go on: nothing of theirs is there to compare what follows
 * with. It is that call, made otherwise, where more than its amount is the same, or where the schedule so far
 * has what this rank made next, or its kind. */
static bool is_other_field(const struct progress_comm *a, int rank, uint64_t at)
{
	const struct record *own = progress_call(a, rank, at), *ref = progress_reference(a, at);
	uint64_t next = comm_next_expected(a, at);

	if (comm_reference_sig(a, at + 1) || !own || !ref || own->kind != ref->kind)
		return false;
	if (own->count == ref->count)
		return (own->dtype != ref->dtype) + (own->op != ref->op) +
			       (own->peer != ref->peer) ==
		       1;
	return (next ? progress_sig(a, rank, at + 1) == next
		     : comm_is_step(a, rank, at + 1, at, 1)) ||
	       comm_keeps_kinds(a, rank, at);
}

#define EXCHANGE_MAX 4096 /* sends and receives in a row */

/* The sends and receives in a row that begin with call `at` of the rank (-1: of the reference), up to a collective. 0: there
 * are none, they begin before it, or their end is not known. */
static uint64_t exchange_at(const struct progress_comm *a, int rank, uint64_t at)
{
	for (uint64_t n = 0; n < EXCHANGE_MAX; n++) {
		const struct record *r =
			rank < 0 ? progress_reference(a, at + n) : progress_call(a, rank, at + n);

		if (!r)
			return 0;
		if (!call_in_pairs(r))
			return n;
		if (n == 0 && at > 1 &&
		    call_in_pairs(rank < 0 ? progress_reference(a, at - 1)
					   : progress_call(a, rank, at - 1)))
			return 0;
	}
	return 0;
}

/* An exchange counts as a single call: left out, or made too often, it explains more than several calls of the other kind do. A
 * single one of these explains as much. DEVIATION_NONE: no exchange explains it. */
static enum deviation_kind kind_of_exchange(const struct progress_comm *a, int rank, uint64_t at,
					    uint64_t *shift)
{
	uint64_t theirs = exchange_at(a, -1, at), own = exchange_at(a, rank, at);
	bool skipped = theirs > 1 && fits(a, rank, at, (int64_t)theirs) > 0;
	bool extra = own > 1 && own < at && fits(a, rank, at, -(int64_t)own) > 0;
	bool call = skipped ? at > 1 && fits(a, rank, at, -1) > 0 : fits(a, rank, at, 1) > 0;

	if (skipped == extra)
		return DEVIATION_NONE;
	*shift = skipped ? theirs : own;
	if (call)
		return kind_by_length(a, rank, true, true, false);
	return skipped ? DEVIATION_SKIPPED : DEVIATION_EXTRA;
}

static enum deviation_kind find_kind(const struct progress_comm *a, int rank, uint64_t at,
				     uint64_t *shift)
{
	bool field = fits(a, rank, at, 0) > 0;
	bool ahead = !comm_reference_sig(a, at + 1) && comm_runs_ahead(a, rank, at);
	enum deviation_kind exchange;

	*shift = 1;
	if (at == a->tracks[rank].last)
		return kind_of_last(a, rank, at);
	*shift = progress_swapped(a, rank, -1, at);
	if (*shift &&
	    kind_by_length(a, rank, fits(a, rank, at, 1) > 0, at > 1 && fits(a, rank, at, -1) > 0,
			   false) == DEVIATION_UNCLEAR)
		return DEVIATION_SWAPPED;
	exchange = kind_of_exchange(a, rank, at, shift);
	if (exchange != DEVIATION_NONE)
		return exchange;
	for (uint64_t n = 1; n <= SHIFT_MAX; n++) {
		bool skipped = fits(a, rank, at, (int64_t)n) > 0 || (n == 1 && ahead);
		bool extra = n < at && fits(a, rank, at, -(int64_t)n) > 0;

		*shift = n;
		if (!skipped && !extra)
			continue;
		if (field || (skipped && extra))
			return kind_by_length(a, rank, skipped, extra,
					      n == 1 && ahead && waits_at(a, rank, at));
		return skipped ? DEVIATION_SKIPPED : DEVIATION_EXTRA;
	}
	return field || is_other_field(a, rank, at) ? DEVIATION_FIELD : DEVIATION_UNCLEAR;
}

/* Removing or adding the calls a little earlier would have given the same sequence. */
static uint64_t earliest(const struct progress_comm *a, int rank, uint64_t at,
			 const struct deviation *d)
{
	const struct track *t = &a->tracks[rank];

	if (at == t->first && t->first > 1)
		return 1; /* it lies before what the ring still holds */
	while (at > a->base + 1 &&
	       comm_alike(a, d->kind == DEVIATION_SKIPPED ? -1 : rank, at - 1 + d->shift, at - 1))
		at--;
	return at;
}

/* Counts the calls that speak for the rank having the reference's plan, but for the deviation. */
static uint64_t agreed(const struct progress_comm *a, int rank, uint64_t at,
		       const struct deviation *d)
{
	int64_t shift = d->kind == DEVIATION_SKIPPED ? (int64_t)d->shift
			: d->kind == DEVIATION_EXTRA ? -(int64_t)d->shift
						     : 0;
	int64_t behind = fits(a, rank, at, shift);
	uint64_t n = behind > 0 ? (uint64_t)behind : 0, from, to;

	if (comm_clip(a, &a->tracks[rank], &from, &to))
		for (uint64_t s = from; s < at; s++)
			n += progress_sig(a, rank, s) &&
			     progress_sig(a, rank, s) == comm_reference_sig(a, s);
	return n;
}

struct deviation progress_deviation(const struct progress_comm *a, int rank)
{
	uint64_t at = comm_first_difference(a, rank);
	struct deviation d = { .kind = DEVIATION_NONE };

	if (!at)
		return d;
	d.kind = find_kind(a, rank, at, &d.shift);
	d.low = d.high = at;
	if (d.kind == DEVIATION_SKIPPED || d.kind == DEVIATION_EXTRA)
		d.low = earliest(a, rank, at, &d);
	d.agreed = agreed(a, rank, at, &d);
	return d;
}

int progress_differs(const struct progress_comm *a, struct deviation *first, struct rank_set *same,
		     struct rank_set *other)
{
	int who = -1;

	*first = (struct deviation){ .kind = DEVIATION_NONE };
	for (int i = 0; i < a->nranks; i++) {
		struct deviation one = progress_deviation(a, i);

		if (one.kind == DEVIATION_NONE || (who >= 0 && one.high > first->high))
			continue;
		if (who < 0 || one.high < first->high) {
			rank_set_clear(same);
			rank_set_clear(other);
			*first = one;
			who = i;
		}
		rank_set_add(one.kind == first->kind && one.shift == first->shift ? same : other,
			     i);
	}
	return who;
}

#define POINTED_MAX 8 /* ranks of which it is asked which ranks wait for them */

/* Returns true if the deviation of one rank may be that from a plan of its own: it says nothing. */
static bool is_of_plan(const struct progress_comm *a, const struct deviation *one, int rank,
		       size_t odd)
{
	if (a->any_program && one->high < a->tracks[rank].first + PLAN_LONG)
		return false;
	if (one->kind != DEVIATION_SKIPPED && one->kind != DEVIATION_EXTRA)
		return false;
	return one->agreed >= PLAN_MIN ||
	       (odd < POINTED_MAX && progress_points_at(a, rank, one->kind == DEVIATION_EXTRA));
}

struct plan progress_plan(const struct progress_comm *a)
{
	struct plan plan = { .followed = false };
	size_t odd = 0;

	if (a->tie && (a->tie < a->base + PLAN_MIN || !a->tie_side))
		return plan;
	if (a->any_program && !comm_reference_sig(a, a->base)) /* no majority was left of it */
		return plan;
	for (int i = 0; i < a->nranks; i++) {
		struct deviation one = progress_deviation(a, i);

		if (one.kind == DEVIATION_NONE)
			continue;
		if (!is_of_plan(a, &one, i, odd))
			return plan;
		odd++;
	}
	plan.followed = true;
	plan.few = odd * 2 < (size_t)a->nranks + a->tie_side;
	return plan;
}
