/* schedule.c: the schedule's own regularity, a period or equal steps of count, predicts
 * calls that no rank has made yet. */
#include "progress/comm_parts.h"

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
