/* rendezvous.c: which ranks are missing at communicator init, and whether the arguments fit; which are
 * at a first call. */
#include "watch/rendezvous.h"

#include "base/call_value.h"
#include "base/error.h"
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
	const struct rank_view **all = must(malloc((n + 1) * sizeof(*all)));
	bool any;

	for (size_t i = 0; i < n; i++)
		all[i] = &views[i];
	any = rendezvous_incomplete(all, n) > 0;
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

/* ---- the first calls ---- */

/* The second one has no warm call before it that a deadline could be taken from. */
#define FIRST_CALLS 2

bool rendezvous_in_first_call(const struct rank_view *view)
{
	uint64_t pending = view->issued - view->completed;

	return view->process == PROCESS_ALIVE && view->waiting && view->last.ticket &&
	       view->last.comm < VIEW_COMMS && pending > 0 &&
	       (pending >= view->last.seq || view->last.seq <= FIRST_CALLS);
}

static bool is_pair(const struct record *call)
{
	return call->kind == CALL_SEND || call->kind == CALL_RECV;
}

/* It has made the call in which the other one waits; sends and receives have no numbers in common. */
static bool has_come(const struct view_comm *comm, const struct rank_view *waiting)
{
	return is_pair(&waiting->last) ? comm->seq > comm->calls
				       : comm->calls >= waiting->comms[waiting->last.comm].calls;
}

/* It is inside of no call, and does not wait for its device either. Sends and receives that returned may
 * be waited for at the end of their group. */
static bool in_no_call(const struct rank_view *view)
{
	if (view->issued == view->completed)
		return true;
	return view->last.ticket && view->last.state == RECORD_RETURNED && !is_pair(&view->last) &&
	       view->device_wait != RECORD_DEVICE_AWAITED;
}

/* It could make a call, and is not about to. */
static bool is_idle(const struct rank_view *view, const struct view_comm *comm)
{
	return view->process == PROCESS_ALIVE && comm->state == RECORD_COMM_READY &&
	       in_no_call(view) && !view->working && !view->descheduled;
}

static bool never_comes(const struct rank_view *view, const struct view_comm *comm,
			const struct rank_view *waiting)
{
	if (view->process == PROCESS_STOPPED)
		return !has_come(comm, waiting) || view->issued > view->completed;
	return !has_come(comm, waiting) && is_idle(view, comm);
}

static bool waits_for(const struct rank_view *waiting, const struct view_comm *comm)
{
	return !is_pair(&waiting->last) || waiting->last.peer == comm->rank;
}

void rendezvous_gather(struct gathering *g, const struct rank_view *waiting,
		       const struct rank_view *view)
{
	const struct view_comm *comm = &view->comms[waiting->last.comm];

	if (comm->id == 0 || comm->id != waiting->comms[waiting->last.comm].id)
		return;
	g->members++;
	if (never_comes(view, comm, waiting))
		g->absent += waits_for(waiting, comm);
	else
		g->open += !has_come(comm, waiting);
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
		    views[i].comms[0].id == comm->id && waits_for(&views[i], comm) &&
		    never_comes(view, comm, &views[i]))
			return &views[i];
	return NULL;
}

/* Made on communicator 0, by whoever made most. */
struct calls_made {
	uint64_t collectives, pairs;
};

static struct calls_made most_calls(const struct rank_view *views, size_t n)
{
	struct calls_made most = { 0 };

	for (size_t i = 0; i < n; i++) {
		const struct view_comm *comm = &views[i].comms[0];

		if (comm->calls > most.collectives)
			most.collectives = comm->calls;
		if (comm->seq - comm->calls > most.pairs)
			most.pairs = comm->seq - comm->calls;
	}
	return most;
}

/* Somebody may wait for it in communicator 0's first call: cheap to ask of everybody. */
static bool may_lack(const struct rank_view *view, const struct calls_made *most)
{
	const struct view_comm *comm = &view->comms[0];

	return view->process == PROCESS_STOPPED ||
	       (is_idle(view, comm) &&
		(comm->calls < most->collectives || (comm->seq == comm->calls && most->pairs > 0)));
}

enum rendezvous rendezvous_first_call(const struct rank_view *views, size_t n, int nranks)
{
	struct calls_made most = most_calls(views, n);
	uint64_t looked_at = 0; /* the communicator: once is enough */
	size_t called = 0;

	for (size_t i = 0; i < n; i++) {
		const struct view_comm *comm = &views[i].comms[0];
		const struct rank_view *waiting = NULL;
		struct gathering g = { 0 };

		called += comm->seq > 0;
		if (comm->id != looked_at && may_lack(&views[i], &most))
			waiting = waiter_for(&views[i], views, n);
		if (!waiting)
			continue;
		looked_at = comm->id;
		for (size_t k = 0; k < n; k++)
			rendezvous_gather(&g, waiting, &views[k]);
		if (rendezvous_abandoned(&g, waiting))
			return RENDEZVOUS_ABSENT;
	}
	return nranks > 0 && called == (size_t)nranks ? RENDEZVOUS_CALLED : RENDEZVOUS_COMPLETE;
}
