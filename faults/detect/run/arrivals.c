/* arrivals.c: which ranks have come to init and to a call, and which never come: by records where they are laid out, else
 * by the frontier: call counts and states. Ranks come to communicator init from a barrier: a rank that is not there
 * soon, or asks for something else, never is. */
#include "base/call_value.h"
#include "base/error.h"
#include "process/watch.h"
#include "run/comm.h"

struct progress progress_of(const struct rank_view *first, size_t stride, size_t n)
{
	struct progress p = { .ranks = must(calloc(n + 1, sizeof(*p.ranks))), .nranks = (int)n };

	for (size_t i = 0; i < n; i++) {
		const char *view = (const char *)first + i * stride;

		p.ranks[i].view = (const struct rank_view *)(const void *)view;
		p.ranks[i].present = true;
	}
	return p;
}

static enum progress_answer answer(bool yes)
{
	return yes ? PROGRESS_YES : PROGRESS_NO;
}

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

enum arrivals progress_init(const struct progress *p, int nranks)
{
	int lacking = 0, absent = 0, known = 0;

	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *v = p->ranks[i].view;
		bool lacks = progress_lacks_init(v);

		lacking += lacks; /* a stopped rank will not come */
		absent += lacks &&
			  (view_stopped(v) || (v->process == PROCESS_ALIVE && !v->descheduled));
		known += v->phase != PHASE_SPARE;
	}
	/* a group that has not begun keeps no other one waiting */
	if (lacking > 0)
		return absent == lacking && progress_init_unequal(p, NULL) > 0 ? ARRIVALS_MISSING
									       : ARRIVALS_OPEN;
	if (nranks <= 0 || known != nranks)
		return ARRIVALS_OPEN;
	return progress_init_unequal(p, NULL) > 0 ? ARRIVALS_MISMATCH : ARRIVALS_COMPLETE;
}

bool progress_held_up(const struct rank_view *view, enum arrivals how)
{
	if (how == ARRIVALS_ABSENT)
		return progress_in_first_call(view) && view->last.comm == 0;
	return view->process == PROCESS_ALIVE && view->waiting &&
	       (view->comm_state == RECORD_COMM_INIT ||
		(how == ARRIVALS_MISMATCH && view->comm_state == RECORD_COMM_READY));
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

/* Returns true for a rank that could make a call, and is not about to: it is inside of none, and does not wait for its device either.
 * Sends and receives that returned may be waited for at the end of their group. */
static bool is_idle(const struct rank_view *view, const struct view_comm *comm)
{
	return view->process == PROCESS_ALIVE && comm->state == RECORD_COMM_READY &&
	       !view->working && !view->descheduled &&
	       (view->issued == view->completed ||
		(view->last.ticket && view->last.state == RECORD_RETURNED &&
		 !call_is_pair(view->last.kind) && !view_awaits_device(view)));
}

struct awaited progress_awaited(const struct progress *p, const struct rank_view *waiting)
{
	const struct view_comm *comm = &waiting->comms[waiting->last.comm];

	return (struct awaited){ .progress = p,
				 .id = comm->id,
				 .nranks = comm->nranks,
				 .n = call_is_pair(waiting->last.kind) ? comm->seq : comm->calls,
				 .pair = call_is_pair(waiting->last.kind),
				 .peer = waiting->last.peer };
}

/* Sends and receives have no numbers in common: a rank has come if it made any. */
static bool has_come(const struct view_comm *comm, const struct awaited *call)
{
	return call->pair ? comm->seq > comm->calls : comm->calls >= call->n;
}

static enum presence presence_by_counts(const struct awaited *call, const struct rank_view *view)
{
	const struct view_comm *comm = progress_member(view, call->id);
	bool stopped = view_stopped(view);

	if (!comm)
		return PRESENCE_APART;
	if (has_come(comm, call))
		return stopped && view->issued > view->completed ? PRESENCE_STOPPED : PRESENCE_CAME;
	return stopped || is_idle(view, comm) ? PRESENCE_ABSENT : PRESENCE_OPEN;
}

static enum presence presence_by_records(const struct awaited *call, int rank)
{
	const struct track *t = &call->records->tracks[rank];
	const struct rank_view *v = call->records->ranks[rank].view;

	if (!t->known)
		return PRESENCE_APART;
	if (t->last >= call->n)
		return PRESENCE_CAME;
	if (t->last + 1 < call->n || t->inside || view_awaits_device(v) ||
	    /* an error of the library ends ranks wherever they are */
	    (view_finished(v) && v->outcome == OUTCOME_ERROR && v->error_code != 0) ||
	    (call->idle && progress_in_pairs(call->records, rank)))
		return PRESENCE_OPEN;
	return PRESENCE_ABSENT;
}

enum presence progress_presence(const struct awaited *call, int rank)
{
	return call->records ? presence_by_records(call, rank)
			     : presence_by_counts(call, call->progress->ranks[rank].view);
}

/* Returns true if the rank keeps those that wait in the call for ever. */
static bool holds_up(const struct awaited *call, int rank)
{
	enum presence presence = progress_presence(call, rank);

	if (presence != PRESENCE_ABSENT && presence != PRESENCE_STOPPED)
		return false;
	return call->records || !call->pair ||
	       progress_member(call->progress->ranks[rank].view, call->id)->rank == call->peer;
}

static void add_maker(struct missing *m, const struct rank_view *v)
{
	m->phase = v->phase > m->phase ? v->phase : m->phase;
	if (v->waiting && v->completed < v->issued)
		m->what = v->what;
	else if (v->waiting)
		m->through = v->what;
}

enum progress_answer progress_missing(const struct awaited *call, struct rank_set *absent,
				      struct missing *m)
{
	const struct progress_comm *a = call->records;
	int n = a ? a->nranks : call->progress->nranks;

	*m = (struct missing){ .call = 0 };
	for (int i = 0; i < n && (!a || call->n); i++) {
		enum presence presence = progress_presence(call, i);

		m->members += presence != PRESENCE_APART;
		m->came += presence == PRESENCE_CAME;
		m->open += presence == PRESENCE_OPEN;
		if (a && presence == PRESENCE_CAME)
			add_maker(m, a->ranks[i].view);
		if (!holds_up(call, i))
			continue;
		m->call = call->n;
		if (absent)
			rank_set_add(absent, i);
	}
	if (!a && (call->nranks <= 0 || m->members != (size_t)call->nranks))
		return PROGRESS_UNKNOWN;
	return answer(m->call > 0 && m->open == 0);
}

/* A rank that waits for this one in communicator 0's first call; NULL: none does. */
static const struct rank_view *waiter_for(const struct progress *p, int rank)
{
	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *other = p->ranks[i].view;
		struct awaited call;

		if (!progress_held_up(other, ARRIVALS_ABSENT))
			continue;
		call = progress_awaited(p, other);
		if (holds_up(&call, rank))
			return other;
	}
	return NULL;
}

/* Returns true if another rank may wait for it in communicator 0's first call: cheap to ask of all. The latest calls that
 * ranks wait in: a collective, and a send or receive. */
static bool may_lack(const struct rank_view *view, const struct awaited *latest)
{
	const struct view_comm *comm = &view->comms[0];

	return view_stopped(view) ||
	       (is_idle(view, comm) &&
		(!has_come(comm, &latest[0]) || (latest[1].pair && !has_come(comm, &latest[1]))));
}

enum arrivals progress_first_call(const struct progress *p, int nranks)
{
	uint64_t looked_at = 0; /* the communicator: once is enough */
	struct awaited call, latest[2] = { { .n = 0 } };
	const struct rank_view *waiting;
	struct missing missing;
	int called = 0;

	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *view = p->ranks[i].view;

		called += view->comms[0].seq > 0;
		if (!progress_held_up(view, ARRIVALS_ABSENT))
			continue;
		call = progress_awaited(p, view);
		if (call.n >= latest[call.pair].n)
			latest[call.pair] = call;
	}
	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *view = p->ranks[i].view;

		if (view->comms[0].id == looked_at || !may_lack(view, latest))
			continue;
		waiting = waiter_for(p, i);
		if (!waiting)
			continue;
		looked_at = view->comms[0].id;
		call = progress_awaited(p, waiting);
		if (progress_missing(&call, NULL, &missing) == PROGRESS_YES)
			return ARRIVALS_ABSENT;
	}
	return nranks > 0 && called == nranks ? ARRIVALS_CALLED : ARRIVALS_COMPLETE;
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
	return answer(!has_come(theirs, &(struct awaited){ .n = rank->open_seq }));
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

/* ---- by records: the first call that not all came to ---- */

uint64_t progress_completed(const struct progress_comm *a, int which)
{
	const struct progress_rank *rank = &a->ranks[which];
	const struct track *t = &a->tracks[which];
	const struct call_index *x = rank->index;
	const struct record *r = t->final;
	uint64_t done = rank->view->completed, n = t->last;

	if (t->plain) { /* as below, by arithmetic */
		done = done < x->last_ticket ? done : x->last_ticket;
		return done < x->first_ticket ? t->first - 1 : t->first + (done - x->first_ticket);
	}
	while (r && !record_done(r, rank->view->completed)) {
		if (r == t->oldest)
			return t->first - 1;
		r--;
		while (r > t->oldest && r->comm != a->comm)
			r--;
	}
	for (done = r && r->comm == a->comm ? r->seq : 0; t->own && done > 0; n--)
		if (n < t->first || t->own[n - t->first] <= done)
			return n;
	return r ? (done ? done : t->first - 1) : 0;
}

int64_t progress_hang_point(const struct progress_comm *a)
{
	uint64_t least = UINT64_MAX, done = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];
		bool elsewhere = t->own && call_is_pair(t->last_kind);
		uint64_t at = t->last +
			      (elsewhere || !(t->inside || view_awaits_device(a->ranks[i].view)));

		if (!t->known)
			continue;
		if (at <= a->top && at < least)
			least = at;
		at = progress_completed(a, i) + 1;
		done = at < done ? at : done;
	}
	if (least != UINT64_MAX)
		return (int64_t)least;
	return done <= a->top ? (int64_t)done : -1;
}

bool progress_in_init(const struct progress_comm *a, int rank)
{
	const struct progress_rank *r = &a->ranks[rank];

	return r->present && r->view->comm_state == RECORD_COMM_INIT &&
	       r->view->process < PROCESS_EXITED;
}

size_t progress_count_in_init(const struct progress_comm *a)
{
	size_t n = 0;

	for (int i = 0; i < a->nranks; i++)
		n += progress_in_init(a, i);
	return n;
}

/* Returns true if the rank waits in a call of another communicator, which is told there. */
static bool waits_elsewhere(const struct progress_comm *a, int rank)
{
	int number = members_rank(a->members, rank);
	const struct record_header *h = a->ranks[rank].recorder;
	const struct pending_call *in = progress_played(a->progress) && number >= 0
						? progress_at(a->progress, number)
						: NULL;

	for (uint32_t c = 1; h && c < RECORD_COMMS; c++)
		if (c != a->comm && h->inits[c].state == RECORD_COMM_INIT)
			return true; /* inside init of another communicator, for a rank that does not come */
	return in && in->members != a->members;
}

struct awaited progress_first_missing(const struct progress_comm *a)
{
	uint64_t least = a->top, idle = a->top; /* calls of any rank; outside of pairs */
	struct awaited call = { .records = a };

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];

		if (!t->known || t->last >= a->top)
			continue;
		if (waits_elsewhere(a, i))
			return call;
		least = t->last < least ? t->last : least;
		if (t->last < idle && !progress_in_pairs(a, i))
			idle = t->last;
	}
	call.idle = idle < a->top;
	least = call.idle ? idle : least;
	call.n = least < a->top ? least + 1 : 0;
	return call;
}

bool missing_passed(const struct missing *missing, const struct rank_view *v)
{
	if (view_finished(v))
		return true;
	if (v->phase > missing->phase && v->phase != PHASE_SPARE)
		return true;
	return v->waiting && missing->what && strcmp(v->what, missing->what) != 0;
}

bool progress_awaits_only(const struct progress *p, const struct pending_call *in,
			  const bool *marked)
{
	bool any = false;

	for (int i = 0; i < in->members->nranks; i++) {
		int rank = members_rank(in->members, i);

		if (rank < 0 || !pending_waits_for(p, in, rank))
			continue;
		if (!marked[rank])
			return false;
		any = true;
	}
	return any;
}
