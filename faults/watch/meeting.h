/* meeting.h: have all ranks of a host come to communicator init, and with arguments that fit? They come
 * there together, from a barrier: who is not there soon, or asks for something else, will not be
 * met, however long the library is given for its init. Pure. */
#ifndef HANGAR_MEETING_H
#define HANGAR_MEETING_H

#include <stdbool.h>
#include <stddef.h>

#include "view.h"

/* Is it a rank that lives and has not called init? A surplus one and one that is done never do. */
bool meeting_lacks(const struct rank_view *view);

/* Those who called init form groups by id; nothing is wrong with a group that is as many as each of it
 * asked for, however many other groups there are. The rest, sorted, come first in `views`, those of
 * all ranks; returns how many they are. */
size_t meeting_incomplete(const struct rank_view **views, size_t n);

#endif
