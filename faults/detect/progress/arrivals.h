/* arrivals.h: which ranks have come to communicator init and to a call, which have not, and
 * which of those could come. Ranks come to init from a barrier: a rank that is not there soon,
 * or asks for something else, never is, however long the library is given. Pure. */
#pragma once

#include "progress/progress.h"

enum progress_answer {
	PROGRESS_NO,
	PROGRESS_YES,
	PROGRESS_UNKNOWN /* records have left the ring, or a view does not hold the communicator */
};

enum arrivals {
	ARRIVALS_OPEN,	    /* not all ranks are known, or a missing one may yet come */
	ARRIVALS_COMPLETE,  /* all have come to init, with arguments that fit */
	ARRIVALS_MISSING,   /* some did not come to init, though they could */
	ARRIVALS_MISMATCH,  /* all have come to init, some with arguments that do not fit */
	ARRIVALS_ABSENT,    /* some did not come to the first call, though they could */
	ARRIVALS_CALLED,    /* all came to communicator 0's first call, too */
	ARRIVALS_DISMISSED, /* the diagnoser saw no cause in it: deadlines alone count */
};

/* Returns true if some ranks wait for others that never come. */
static inline bool arrivals_never(enum arrivals how)
{
	return how >= ARRIVALS_MISSING && how <= ARRIVALS_ABSENT;
}

/* ---- members ---- */

/* The communicator with this id in the view; NULL: the rank is no member, or the view does not
 * hold it. */
const struct view_comm *progress_member(const struct rank_view *view, uint64_t id);

/* The communicator of the oldest call that is not over; NULL: none is open, or the view does not
 * hold it. */
const struct view_comm *progress_open_comm(const struct rank_view *view);

/* ---- communicator init ---- */

/* Returns true for a rank that lives and has not called init. A surplus rank and one that is
 * done never do. */
bool progress_lacks_init(const struct rank_view *view);

/* Which ranks of a run of `nranks` have come to init: OPEN to MISMATCH. */
enum arrivals progress_init(const struct progress *progress, int nranks);

/* Ranks in init form groups by id. A group is right if it has as many ranks as each of them
 * announced. Returns how many ranks are in other groups; these stand first in `views` then, by
 * id and number. */
size_t progress_init_unequal(const struct rank_view **views, size_t n);
/* Returns true if there are any. */
bool progress_init_differs(const struct progress *progress);

/* ---- a call ---- */

/* The members of the communicator in whose newest call a rank waits. */
struct progress_missing {
	size_t members; /* that are known */
	size_t absent; /* have not come, and never will: in no call, at no announced work, or stopped */
	size_t open; /* have not come, and may */
};

/* Counts them. A rank in a send or receive waits for its partner alone, and that has come if it
 * made any. */
struct progress_missing progress_missing(const struct progress *progress,
					 const struct rank_view *waiting);

/* Returns YES if some never come and nothing is open; UNKNOWN where not all members are known. */
enum progress_answer progress_abandoned(const struct progress *progress,
					const struct rank_view *waiting);

/* Returns true for a rank in one of its first two calls on a communicator: these have no warm
 * call before them that a deadline could be taken from. */
bool progress_in_first_call(const struct rank_view *view);

/* Arrivals at communicator 0's first call, where all `nranks` ranks came to init: COMPLETE,
 * ABSENT or CALLED. */
enum arrivals progress_first_call(const struct progress *progress, int nranks);

/* Returns true if the rank waits for ranks that never come: inside of init; with MISMATCH also
 * behind it; with ABSENT in communicator 0's first call. */
bool progress_held_up(const struct rank_view *view, enum arrivals how);

/* Returns whether `rank` has a call open to which `other` has not come. */
enum progress_answer progress_waits_for(const struct rank_view *rank,
					const struct rank_view *other);
