/* rendezvous.h: whether all ranks have come to communicator init, with arguments that fit. They
 * come there together, from a barrier: a rank that is not there soon, or asks for something
 * else, will not be met, however long the library is given for its init. Pure. */
#ifndef HANGAR_RENDEZVOUS_H
#define HANGAR_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>

#include "record/view.h"

enum rendezvous {
	RENDEZVOUS_OPEN, /* cannot be told yet: not all ranks are known, or a missing one may yet come */
	RENDEZVOUS_COMPLETE, /* all have come, and alike */
	RENDEZVOUS_MISSING,  /* some did not come, though they could */
	RENDEZVOUS_MISMATCH  /* all have come, some with arguments that do not fit */
};

/* Tells how the ranks of a run of `nranks` meet, of which `n` are known. Without memory:
 * RENDEZVOUS_OPEN. */
enum rendezvous rendezvous_of(const struct rank_view *views, size_t n, int nranks);

/* Returns true if some of those who called init did so with arguments that do not fit. False
 * without memory. */
bool rendezvous_mismatched(const struct rank_view *views, size_t n);

/* Returns true if it is inside init; or behind it, where a library made what cannot work: of
 * what was made from mismatched arguments. */
bool rendezvous_holds(const struct rank_view *view, enum rendezvous how);

/* Returns true for a rank that lives and has not called init. A surplus one and one that is done
 * never do. */
bool rendezvous_missing(const struct rank_view *view);

/* Those who called init form groups by id; nothing is wrong with a group that is as many as each of it
 * asked for, however many other groups there are. The rest, sorted, come first in `views`, those of
 * all ranks; returns how many they are. */
size_t rendezvous_incomplete(const struct rank_view **views, size_t n);

#endif
