/* comm_parts.h: what the files about one communicator share. Internal to progress. */
#pragma once

#include "run/comm.h"

/* The signature that the reference has at call `seq`, 0: not known. */
static inline uint64_t comm_reference_sig(const struct progress_comm *a, uint64_t seq)
{
	return seq >= a->base && seq - a->base < a->span ? a->reference[seq - a->base] : 0;
}

/* comm.c: the part of a track inside the window, from..to; false when there is none. */
bool comm_clip(const struct progress_comm *a, const struct track *t, uint64_t *from, uint64_t *to);

/* vote.c: fill in `reference`, `tie` and `tie_side` of what is laid out. */
void comm_vote(struct progress_comm *a);

/* progress_deviation.c: the first call in which rank and reference differ, 0: none. */
uint64_t comm_first_difference(const struct progress_comm *a, int rank);

/* deviation.c: returns true if the rank's (-1: the reference's) calls x and y are alike. Sends and receives
 * share one signature, so their kind and amount are compared, too. */
bool comm_alike(const struct progress_comm *a, int rank, uint64_t x, uint64_t y);

/* schedule.c: what the reference up to `seq` itself says of the call after it, where it has
 * a period: a signature, 0: it says nothing. */
uint64_t comm_next_expected(const struct progress_comm *a, uint64_t seq);

/* Returns true if rank's call `seq` is what equal steps of counts have `ahead` after `before`. */
bool comm_is_step(const struct progress_comm *a, int rank, uint64_t seq, uint64_t before,
		  uint64_t ahead);

/* Returns true if, while the others stand in call `at`, rank's calls from `at` on are those that
 * the schedule so far has from the one after. */
bool comm_runs_ahead(const struct progress_comm *a, int rank, uint64_t at);

/* Returns true if the kinds of rank's calls `at`, whose amount is another one, and `at` + 1 are those of the schedule so
 * far, every few calls, and would not be with a call left out. */
bool comm_keeps_kinds(const struct progress_comm *a, int rank, uint64_t at);
