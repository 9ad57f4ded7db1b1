/* align_parts.h: what the parts of align share. Internal to align. */
#pragma once

#include "align/align.h"

/* The signature that the reference has at call `seq`, 0: nobody knows. */
static inline uint64_t align_reference_sig(const struct align *a, uint64_t seq)
{
	return seq >= a->base && seq - a->base < a->span ? a->reference[seq - a->base] : 0;
}

/* align.c: the part of a track inside the window, from..to; false when there is none. */
bool align_clip(const struct align *a, const struct track *t, uint64_t *from, uint64_t *to);

/* align_apart.c: gives ranks that have no part in the others' sends and receives the numbers that the others'
 * calls have. */
void align_number_apart(struct align *a, const struct evidence *evidence);

/* align_vote.c: fill in `reference`, `tie` and `sided` of what is laid out. */
void align_find_reference(struct align *a);

/* align_compare.c: the first call in which rank and reference differ, 0: none. */
uint64_t align_first_difference(const struct align *a, int rank);

/* align_compare.c: returns true if the rank's (-1: the reference's) calls x and y are alike. Of sends
 * and receives that says no more than that both are one: then kind and amount, too. */
bool align_alike(const struct align *a, int rank, uint64_t x, uint64_t y);

/* align_schedule.c: what the reference up to `seq` itself says of the call after it, where it has
 * a period: a signature, 0: it says nothing. */
uint64_t align_next_expected(const struct align *a, uint64_t seq);

/* Returns true if rank's call `seq` is what a schedule whose counts go by equal steps has
 * `ahead` calls after `before`. */
bool align_is_step(const struct align *a, int rank, uint64_t seq, uint64_t before, uint64_t ahead);

/* Returns true if, while the others stand in call `at`, rank's calls from `at` on are those that
 * the schedule so far has from the one after. */
bool align_runs_ahead(const struct align *a, int rank, uint64_t at);
