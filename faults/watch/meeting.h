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

/* Those who called init, in groups by id: has each as many as each of its ranks asked for? The views of
 * all ranks of the run. */
bool meeting_complete(const struct rank_view *const *views, size_t n);

#endif
