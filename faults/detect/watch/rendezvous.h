/* rendezvous.h: whether all ranks have come to communicator init, with arguments that fit, and to a
 * communicator's first call. They come there together, from a barrier: a rank that is not there soon, or
 * asks for something else, will not be met, however long the library is given. Pure. */
#pragma once

#include "record/view.h"

enum rendezvous {
	RENDEZVOUS_OPEN, /* cannot be told yet: not all ranks are known, or a missing one may yet come */
	RENDEZVOUS_COMPLETE, /* all have come, and alike */
	RENDEZVOUS_MISSING,  /* some did not come, though they could */
	RENDEZVOUS_MISMATCH, /* all have come, some with arguments that do not fit */
	RENDEZVOUS_ABSENT,   /* all came to init, and all but some, who could, to the first call */
	RENDEZVOUS_CALLED,   /* all came to communicator 0's first call, too */
	RENDEZVOUS_DISMISSED /* they may not have; nobody is blamed for that before its deadline */
};

/* Returns true if they will not meet. */
static inline bool rendezvous_never(enum rendezvous how)
{
	return how >= RENDEZVOUS_MISSING && how <= RENDEZVOUS_ABSENT;
}

/* Tells how the ranks of a run of `nranks` meet, of which `n` are known. */
enum rendezvous rendezvous_of(const struct rank_view *views, size_t n, int nranks);

/* Returns true if some of those who called init did so with arguments that do not fit. */
bool rendezvous_mismatched(const struct rank_view *views, size_t n);

/* Returns true if it is inside init; or behind it, where a library made what cannot work: of
 * what was made from mismatched arguments; where some are absent: if it is in communicator 0's first
 * call. */
bool rendezvous_holds(const struct rank_view *view, enum rendezvous how);

/* Returns true for a rank that lives and has not called init. A surplus one and one that is done
 * never do. */
bool rendezvous_missing(const struct rank_view *view);

/* Returns true if it is in a first call on a communicator: none that it made there has completed, or one. */
bool rendezvous_in_first_call(const struct rank_view *view);

/* Of the members of a communicator in whose first call a rank waits: how many are known, how many never
 * come to it, and how many may come yet. */
struct gathering {
	size_t members, absent, open;
};

/* Counts `view`, which may be the waiting one's own. Never comes: who has made fewer collectives there than
 * the one that is waited in, is in no call, nor at work that it announced, and could make one (or is
 * stopped). Whoever waits for a send or receive waits for its partner alone, if that made no call there. */
void rendezvous_gather(struct gathering *gathering, const struct rank_view *waiting,
		       const struct rank_view *view);

/* Returns true if all are known, and have come or never come. */
bool rendezvous_abandoned(const struct gathering *gathering, const struct rank_view *waiting);

/* Of `nranks` ranks that all came to init: COMPLETE, ABSENT or CALLED, by communicator 0's first call. */
enum rendezvous rendezvous_first_call(const struct rank_view *views, size_t n, int nranks);

/* Those who called init form groups by id; nothing is wrong with a group that is as many as each of it
 * asked for, however many other groups there are. The rest, sorted, come first in `views`, those of
 * all ranks; returns how many they are. */
size_t rendezvous_incomplete(const struct rank_view **views, size_t n);
