/* schedule.c: the schedule's own regularity, a period or equal steps, predicts calls. */
#include "run/comm_parts.h"

#define PERIOD_MAX  64
#define PERIOD_LOOK 1024 /* calls back in which it is looked whether the period ends sometimes */

/* A schedule whose counts go by about equal steps (rounding makes them uneven): the call `ahead`
 * after `seq` in *next, and by how much its count may be off. False: no such schedule. */
static bool next_step(const struct progress_comm *a, uint64_t seq, uint64_t ahead,
		      struct record *next, uint64_t *off)
{
	const struct record *last[3];
	int64_t step, before;

	for (uint64_t i = 0; i < 3; i++) {
		last[i] = seq > i ? progress_reference(a, seq - i) : NULL;
		if (!last[i])
			return false;
	}
	step = (int64_t)(last[0]->count - last[1]->count);
	before = (int64_t)(last[1]->count - last[2]->count);
	if (step == 0 || llabs(step / 4 - before / 4) > llabs(step / 32))
		return false;
	*next = *last[0];
	next->count = last[1]->count;
	if (progress_signed(a, next) != progress_signed(a, last[1]))
		return false; /* more than the count changes */
	next->count = last[0]->count + (uint64_t)step * ahead;
	*off = (uint64_t)llabs(step / 8) * ahead;
	return true;
}

bool comm_is_step(const struct progress_comm *a, int rank, uint64_t seq, uint64_t before,
		  uint64_t ahead)
{
	const struct record *made = progress_call(a, rank, seq);
	struct record next, same;
	uint64_t off = 0;

	if (!made || !next_step(a, before, ahead, &next, &off))
		return false;
	same = *made;
	same.count = next.count;
	return progress_signed(a, &same) == progress_signed(a, &next) &&
	       made->count - next.count + off <= 2 * off;
}

/* Counts the calls up to `seq` that are those of `p` calls before, as far back as is known. */
static uint64_t agreement(const struct progress_comm *a, uint64_t seq, uint64_t p)
{
	uint64_t i = 0;

	while (seq >= a->base + i + p && comm_reference_sig(a, seq - i) &&
	       comm_reference_sig(a, seq - i) == comm_reference_sig(a, seq - i - p))
		i++;
	return i;
}

/* Another distance agrees as long, and goes on with another call: the end of a run of calls alike, such as the
 * buckets of a training step, which has come before. */
static bool is_contradicted(const struct progress_comm *a, uint64_t seq, uint64_t period)
{
	uint64_t n = agreement(a, seq, period),
		 most = a->span < PERIOD_LOOK ? a->span : PERIOD_LOOK;

	for (uint64_t p = period + 1; p < most && seq >= a->base + p; p++)
		if (comm_reference_sig(a, seq + 1 - p) != comm_reference_sig(a, seq + 1 - period) &&
		    agreement(a, seq, p) >= n)
			return true;
	return false;
}

/* The shortest period that the reference has had up to `seq`, 0: none. */
static uint64_t period(const struct progress_comm *a, uint64_t seq)
{
	for (uint64_t p = 1; p <= PERIOD_MAX && seq >= a->base + 2 * p; p++)
		if (agreement(a, seq, p) >= (p < 3 ? 3 : p))
			return is_contradicted(a, seq, p) ? 0 : p;
	return 0;
}

uint64_t comm_next_expected(const struct progress_comm *a, uint64_t seq)
{
	uint64_t p = period(a, seq);

	return p ? comm_reference_sig(a, seq + 1 - p) : 0;
}

bool comm_runs_ahead(const struct progress_comm *a, int rank, uint64_t at)
{
	uint64_t p = period(a, at);

	for (uint64_t s = at; s <= a->tracks[rank].last; s++) {
		uint64_t ahead = s + 1 - at;

		if (p ? progress_sig(a, rank, s) !=
				    comm_reference_sig(a, at + 1 + (ahead - 1) % p - p)
		      : !comm_is_step(a, rank, s, at, ahead))
			return false;
	}
	return true;
}

/* A bit for the kind of a call: sends and receives, of which each rank has its own, have one. 0: not known. */
static unsigned kind_of(const struct record *r)
{
	return !r ? 0 : 1u << (call_is_pair(r->kind) ? CALL_SEND : r->kind);
}

/* The kinds of the reference's calls before `at`, the latest first; sends and receives in a row are one. */
static size_t kinds_before(const struct progress_comm *a, uint64_t at, unsigned kinds[PERIOD_MAX])
{
	const unsigned pair = 1u << CALL_SEND;
	size_t n = 0;

	for (uint64_t s = at - 1; s >= a->base && s > 0 && n < PERIOD_MAX; s--) {
		unsigned kind = kind_of(progress_reference(a, s));

		if (n == 0 || kind != pair || kinds[n - 1] != pair)
			kinds[n++] = kind;
	}
	return n;
}

/* Returns true if a call `ahead` of the next one may be of this kind: those every `p` before it were, or of several. */
static bool may_come(const unsigned *before, size_t n, size_t p, size_t ahead, unsigned kind)
{
	unsigned kinds = 0;

	for (size_t i = p - 1 - ahead % p; i < n; i += p)
		kinds |= before[i];
	return (kinds & (kinds - 1)) || kinds == kind;
}

/* Returns true if an amount is one that comes later, where amounts go by equal steps. */
static bool is_later(double amount, double now, double step)
{
	double steps = step != 0 ? round((amount - now) / step) : 0;

	return steps > 0 && fabs(amount - now - steps * step) <= fabs(step) / 8 * steps;
}

bool comm_keeps_kinds(const struct progress_comm *a, int rank, uint64_t at)
{
	const struct record *own = progress_call(a, rank, at), *here = progress_reference(a, at);
	unsigned kinds[PERIOD_MAX], kind = kind_of(own),
				    next = kind_of(progress_call(a, rank, at + 1));
	size_t n = next ? kinds_before(a, at, kinds) : 0;
	uint64_t last = at - 1;

	while (last > a->base && kind_of(progress_reference(a, last)) != kind)
		last--;
	for (size_t p = 2; n >= 3 * p; p++)
		if (may_come(kinds, n, p, 0, kind) && !may_come(kinds, n, p, 0, 0))
			return may_come(kinds, n, p, 1, next) &&
			       !(may_come(kinds, n, p, 1, kind) &&
				 may_come(kinds, n, p, 2, next)) &&
			       !is_later((double)own->count, (double)here->count,
					 (double)here->count -
						 (double)progress_reference(a, last)->count);
	return false;
}
