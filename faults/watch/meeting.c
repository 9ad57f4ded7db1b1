/* meeting.c: who lacks at communicator init, and do the arguments fit. */
#include "meeting.h"

#include "watch.h"

bool meeting_lacks(const struct rank_view *view)
{
	return view->process < PROCESS_EXITED && view->comm_state == RECORD_COMM_NONE &&
	       view->phase <= PHASE_INIT;
}

/* As many with this one's id as it asked for, and all for as many. */
static bool group_complete(const struct rank_view *const *views, size_t n,
                           const struct rank_view *of)
{
	int64_t members = 0;

	for (size_t i = 0; i < n; i++) {
		if (views[i]->init_id != of->init_id)
			continue;
		if (views[i]->init_nranks != of->init_nranks)
			return false;
		members++;
	}
	return members == of->init_nranks;
}

bool meeting_complete(const struct rank_view *const *views, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (views[i]->init_id != 0 && !group_complete(views, n, views[i]))
			return false;
	return true;
}
