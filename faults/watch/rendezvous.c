/* rendezvous.c: which ranks are missing at communicator init, and whether the arguments fit; which are
 * at a first call. */
#include "watch/rendezvous.h"

#include <stdlib.h>
#include <string.h>

#include "base/call_value.h"
#include "process/watch.h"

bool rendezvous_missing(const struct rank_view *view)
{
	/* ranks come there in PHASE_SETUP (perf_rank.c) */
	return view->process < PROCESS_EXITED && view->comm_state == RECORD_COMM_NONE &&
	       view->phase <= PHASE_SETUP;
}

/* By id, then by number of ranks asked for. */
static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = *(const struct rank_view *const *)a;
	const struct rank_view *y = *(const struct rank_view *const *)b;

	if (x->init_id != y->init_id)
		return x->init_id < y->init_id ? -1 : 1;
	return (x->init_nranks > y->init_nranks) - (x->init_nranks < y->init_nranks);
}

/* It is missing although its host lets it run. A stopped one does not run, and will not come. */
static bool is_absent(const struct rank_view *view)
{
	return rendezvous_missing(view) && (view->process == PROCESS_STOPPED || !view->descheduled);
}

bool rendezvous_mismatched(const struct rank_view *views, size_t n)
{
	const struct rank_view **all = malloc((n + 1) * sizeof(*all));
	bool any;

	for (size_t i = 0; all && i < n; i++)
		all[i] = &views[i];
	any = all && rendezvous_incomplete(all, n) > 0;
	free(all);
	return any;
}

enum rendezvous rendezvous_of(const struct rank_view *views, size_t n, int nranks)
{
	size_t lacking = 0, absent = 0, known = 0;

	for (size_t i = 0; i < n; i++) {
		lacking += rendezvous_missing(&views[i]);
		absent += is_absent(&views[i]);
		known += views[i].phase != PHASE_SPARE;
	}
	/* another group that has not started is waited for by nobody */
	if (lacking > 0)
		return absent == lacking && rendezvous_mismatched(views, n) ? RENDEZVOUS_MISSING
									    : RENDEZVOUS_OPEN;
	if (nranks <= 0 || known != (size_t)nranks)
		return RENDEZVOUS_OPEN;
	return rendezvous_mismatched(views, n) ? RENDEZVOUS_MISMATCH : RENDEZVOUS_COMPLETE;
}

bool rendezvous_holds(const struct rank_view *view, enum rendezvous how)
{
	if (how == RENDEZVOUS_ABSENT)
		return rendezvous_in_first_call(view) && view->last.comm == 0;
	return view->process == PROCESS_ALIVE && view->waiting &&
	       (view->comm_state == RECORD_COMM_INIT ||
		(how == RENDEZVOUS_MISMATCH && view->comm_state == RECORD_COMM_READY));
}

size_t rendezvous_incomplete(const struct rank_view **views, size_t n)
{
	size_t left = 0, end;

	qsort(views, n, sizeof(*views), compare_views);
	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && views[end]->init_id == views[i]->init_id;)
			end++;
		if (views[i]->init_id == 0 ||
		    (views[i]->init_nranks == views[end - 1]->init_nranks &&
		     views[i]->init_nranks >= 0 && (size_t)views[i]->init_nranks == end - i))
			continue;
		memmove(&views[left], &views[i], (end - i) * sizeof(*views));
		left += end - i;
	}
	return left;
}

/* ---- the first call ---- */

bool rendezvous_in_first_call(const struct rank_view *view)
{
	uint64_t pending = view->issued - view->completed;

	return view->process == PROCESS_ALIVE && view->waiting && view->last.ticket &&
	       view->last.comm < RECORD_COMMS && pending > 0 && pending >= view->last.seq;
}

static bool never_comes(const struct rank_view *view, const struct view_comm *comm)
{
	if (view->process == PROCESS_STOPPED)
		return comm->seq == 0 || view->issued > view->completed;
	return view->process == PROCESS_ALIVE && comm->state == RECORD_COMM_READY &&
	       comm->seq == 0 && view->issued == view->completed && !view->working &&
	       !view->descheduled;
}

static bool waits_for(const struct rank_view *waiting, const struct view_comm *comm)
{
	bool pair = waiting->last.kind == CALL_SEND || waiting->last.kind == CALL_RECV;

	return !pair || waiting->last.peer == comm->rank;
}

void rendezvous_gather(struct gathering *g, const struct rank_view *waiting,
		       const struct rank_view *view)
{
	const struct view_comm *comm = &view->comms[waiting->last.comm];

	if (comm->id == 0 || comm->id != waiting->comms[waiting->last.comm].id)
		return;
	g->members++;
	if (never_comes(view, comm))
		g->absent += waits_for(waiting, comm);
	else
		g->open += comm->seq == 0;
}

bool rendezvous_abandoned(const struct gathering *g, const struct rank_view *waiting)
{
	int nranks = waiting->comms[waiting->last.comm].nranks;

	return g->absent > 0 && g->open == 0 && nranks > 0 && g->members == (size_t)nranks;
}

/* Who is in communicator 0's first call, and waits for this one; NULL: nobody. */
static const struct rank_view *waiter_for(const struct rank_view *view,
					  const struct rank_view *views, size_t n)
{
	const struct view_comm *comm = &view->comms[0];

	for (size_t i = 0; i < n; i++)
		if (rendezvous_holds(&views[i], RENDEZVOUS_ABSENT) &&
		    views[i].comms[0].id == comm->id && waits_for(&views[i], comm))
			return &views[i];
	return NULL;
}

enum rendezvous rendezvous_first_call(const struct rank_view *views, size_t n, int nranks)
{
	uint64_t looked_at = 0; /* the communicator: once is enough */
	size_t called = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rank_view *waiting;
		struct gathering g = { 0 };

		called += views[i].comms[0].seq > 0;
		if (views[i].comms[0].id == looked_at ||
		    !never_comes(&views[i], &views[i].comms[0]))
			continue;
		waiting = waiter_for(&views[i], views, n);
		if (!waiting)
			continue;
		looked_at = waiting->comms[0].id;
		for (size_t k = 0; k < n; k++)
			rendezvous_gather(&g, waiting, &views[k]);
		if (rendezvous_abandoned(&g, waiting))
			return RENDEZVOUS_ABSENT;
	}
	return nranks > 0 && called == (size_t)nranks ? RENDEZVOUS_CALLED : RENDEZVOUS_COMPLETE;
}
