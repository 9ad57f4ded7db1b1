/* arrivals.c: questions that are answered from the frontier: call counts and states, without records. Ranks come to
 * communicator init from a barrier: a rank that is not there soon, or asks for something else, never is. */
#include "progress/progress.h"

#include "base/call_value.h"
#include "base/error.h"
#include "process/watch.h"

struct progress progress_of(const struct rank_view *first, size_t stride, size_t n)
{
	struct progress p = { .ranks = must(calloc(n + 1, sizeof(*p.ranks))), .nranks = (int)n };

	for (size_t i = 0; i < n; i++)
		p.ranks[i].view =
			(const struct rank_view *)(const void *)((const char *)first + i * stride);
	return p;
}

/* ---- members ---- */

const struct view_comm *progress_member(const struct rank_view *view, uint64_t id)
{
	for (int c = 0; id && c < VIEW_COMMS; c++)
		if (view->comms[c].id == id)
			return &view->comms[c];
	return NULL;
}

const struct view_comm *progress_open_comm(const struct rank_view *view)
{
	return view->oldest.ticket && view->oldest.comm < VIEW_COMMS
		       ? &view->comms[view->oldest.comm]
		       : NULL;
}

/* ---- communicator init ---- */

bool progress_lacks_init(const struct rank_view *view)
{
	/* ranks come there in PHASE_SETUP (perf_rank.c) */
	return view->process < PROCESS_EXITED && view->comm_state == RECORD_COMM_NONE &&
	       view->phase <= PHASE_SETUP;
}

/* By id, then by announced number of ranks. */
static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = *(const struct rank_view *const *)a;
	const struct rank_view *y = *(const struct rank_view *const *)b;

	if (x->init_id != y->init_id)
		return x->init_id < y->init_id ? -1 : 1;
	return (x->init_nranks > y->init_nranks) - (x->init_nranks < y->init_nranks);
}

/* A stopped rank will not come; one that its host keeps from running may. */
static bool is_absent(const struct rank_view *view)
{
	return progress_lacks_init(view) &&
	       (view->process == PROCESS_STOPPED || !view->descheduled);
}

bool progress_init_differs(const struct progress *p)
{
	const struct rank_view **all = must(malloc(((size_t)p->nranks + 1) * sizeof(*all)));
	bool any;

	for (int i = 0; i < p->nranks; i++)
		all[i] = p->ranks[i].view;
	any = progress_init_unequal(all, (size_t)p->nranks) > 0;
	free(all);
	return any;
}

enum arrivals progress_init(const struct progress *p, int nranks)
{
	int lacking = 0, absent = 0, known = 0;

	for (int i = 0; i < p->nranks; i++) {
		lacking += progress_lacks_init(p->ranks[i].view);
		absent += is_absent(p->ranks[i].view);
		known += p->ranks[i].view->phase != PHASE_SPARE;
	}
	/* a group that has not begun keeps no other one waiting */
	if (lacking > 0)
		return absent == lacking && progress_init_differs(p) ? ARRIVALS_MISSING
								     : ARRIVALS_OPEN;
	if (nranks <= 0 || known != nranks)
		return ARRIVALS_OPEN;
	return progress_init_differs(p) ? ARRIVALS_MISMATCH : ARRIVALS_COMPLETE;
}

bool progress_held_up(const struct rank_view *view, enum arrivals how)
{
	if (how == ARRIVALS_ABSENT)
		return progress_in_first_call(view) && view->last.comm == 0;
	return view->process == PROCESS_ALIVE && view->waiting &&
	       (view->comm_state == RECORD_COMM_INIT ||
		(how == ARRIVALS_MISMATCH && view->comm_state == RECORD_COMM_READY));
}

size_t progress_init_unequal(const struct rank_view **views, size_t n)
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

/* ---- a call ---- */

#define FIRST_CALLS 2

bool progress_in_first_call(const struct rank_view *view)
{
	uint64_t pending = view->issued - view->completed;

	return view->process == PROCESS_ALIVE && view->waiting && view->last.ticket &&
	       view->last.comm < VIEW_COMMS && pending > 0 &&
	       (pending >= view->last.seq || view->last.seq <= FIRST_CALLS);
}

/* Returns true for a member that made the call in which the other one waits. Sends and receives
 * have no numbers in common: any will do. */
static bool has_come(const struct view_comm *comm, const struct rank_view *waiting)
{
	return call_is_pair(waiting->last.kind)
		       ? comm->seq > comm->calls
		       : comm->calls >= waiting->comms[waiting->last.comm].calls;
}

/* Returns true for a rank inside of no call that does not wait for its device either. Sends and
 * receives that returned may be waited for at the end of their group. */
static bool in_no_call(const struct rank_view *view)
{
	if (view->issued == view->completed)
		return true;
	return view->last.ticket && view->last.state == RECORD_RETURNED &&
	       !call_is_pair(view->last.kind) && !view_awaits_device(view);
}

/* Returns true for a rank that could make a call, and is not about to. */
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
	return !call_is_pair(waiting->last.kind) || waiting->last.peer == comm->rank;
}

/* The members of the communicator in whose newest call a rank waits. */
struct missing_counts {
	size_t members; /* that are known */
	size_t absent; /* have not come, and never will: in no call, at no announced work, or stopped */
	size_t open; /* have not come, and may */
};

/* A rank in a send or receive waits for its partner alone, and that has come if it made any. */
static struct missing_counts count_missing(const struct progress *p,
					   const struct rank_view *waiting)
{
	uint32_t c = waiting->last.comm;
	struct missing_counts m = { 0 };

	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *view = p->ranks[i].view;
		const struct view_comm *comm = &view->comms[c];

		if (comm->id == 0 || comm->id != waiting->comms[c].id)
			continue;
		m.members++;
		if (never_comes(view, comm, waiting))
			m.absent += waits_for(waiting, comm);
		else
			m.open += !has_come(comm, waiting);
	}
	return m;
}

enum progress_answer progress_abandoned(const struct progress *p, const struct rank_view *waiting)
{
	const struct missing_counts m = count_missing(p, waiting);
	int nranks = waiting->comms[waiting->last.comm].nranks;

	if (nranks <= 0 || m.members != (size_t)nranks)
		return PROGRESS_UNKNOWN;
	return m.absent > 0 && m.open == 0 ? PROGRESS_YES : PROGRESS_NO;
}

/* A rank that waits for this one in communicator 0's first call; NULL: none does. */
static const struct rank_view *waiter_for(const struct progress *p, const struct rank_view *view)
{
	const struct view_comm *comm = &view->comms[0];

	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *other = p->ranks[i].view;

		if (progress_held_up(other, ARRIVALS_ABSENT) && other->comms[0].id == comm->id &&
		    waits_for(other, comm) && never_comes(view, comm, other))
			return other;
	}
	return NULL;
}

/* The most calls that any rank made on communicator 0. */
struct calls_made {
	uint64_t collectives, pairs;
};

static struct calls_made most_calls(const struct progress *p)
{
	struct calls_made most = { 0 };

	for (int i = 0; i < p->nranks; i++) {
		const struct view_comm *comm = &p->ranks[i].view->comms[0];

		if (comm->calls > most.collectives)
			most.collectives = comm->calls;
		if (comm->seq - comm->calls > most.pairs)
			most.pairs = comm->seq - comm->calls;
	}
	return most;
}

/* Returns true if another rank may wait for it in communicator 0's first call: cheap to ask of
 * all. */
static bool may_lack(const struct rank_view *view, const struct calls_made *most)
{
	const struct view_comm *comm = &view->comms[0];

	return view->process == PROCESS_STOPPED ||
	       (is_idle(view, comm) &&
		(comm->calls < most->collectives || (comm->seq == comm->calls && most->pairs > 0)));
}

enum arrivals progress_first_call(const struct progress *p, int nranks)
{
	struct calls_made most = most_calls(p);
	uint64_t looked_at = 0; /* the communicator: once is enough */
	int called = 0;

	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *view = p->ranks[i].view, *waiting = NULL;

		called += view->comms[0].seq > 0;
		if (view->comms[0].id != looked_at && may_lack(view, &most))
			waiting = waiter_for(p, view);
		if (!waiting)
			continue;
		looked_at = view->comms[0].id;
		if (progress_abandoned(p, waiting) == PROGRESS_YES)
			return ARRIVALS_ABSENT;
	}
	return nranks > 0 && called == nranks ? ARRIVALS_CALLED : ARRIVALS_COMPLETE;
}

static enum progress_answer answer(bool yes)
{
	return yes ? PROGRESS_YES : PROGRESS_NO;
}

/* By the oldest open call of the one and the other's count of calls. */
static enum progress_answer frontier_waits_for(const struct rank_view *rank,
					       const struct rank_view *other)
{
	const struct view_comm *own = progress_open_comm(rank), *theirs;

	if (rank == other || !rank->oldest.ticket)
		return PROGRESS_NO;
	theirs = own ? progress_member(other, own->id) : NULL;
	if (!own || (!theirs && other->comms[VIEW_COMMS - 1].id))
		return PROGRESS_UNKNOWN; /* more communicators than a view holds */
	if (!theirs || theirs->state == RECORD_COMM_INIT)
		return answer(theirs);
	if (call_is_pair(rank->oldest.kind))
		return answer(theirs->rank == rank->oldest.peer && !other->oldest.ticket);
	/* where sends and receives are counted among them numbers differ by right */
	if (own->calls != own->seq || theirs->calls != theirs->seq)
		return PROGRESS_UNKNOWN;
	return answer(theirs->seq < rank->open_seq);
}

enum progress_answer progress_waits_for(const struct progress *p, int rank, int other)
{
	const struct pending_call *in;

	if (!progress_played(p))
		return frontier_waits_for(p->ranks[rank].view, p->ranks[other].view);
	if (!progress_known(p, rank) || !progress_known(p, other))
		return PROGRESS_UNKNOWN;
	for (in = progress_at(p, rank); in; in = progress_also(p, in))
		if (pending_waits_for(p, in, other))
			return PROGRESS_YES;
	return PROGRESS_NO;
}
