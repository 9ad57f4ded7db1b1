/* play.c: how far a run can have come: which pending calls have started, which have ended. A rank of which too little is
 * known may have come anywhere, so no call waits for it. */
#include "run/progress.h"

#include "base/call_value.h"
#include "process/watch.h"
#include "run/flows.h"

#define PENDING_MAX 1024 /* of a rank with more calls that have not completed nothing is known */

static size_t pending_most(const struct progress *p)
{
	return p->rules ? SIZE_MAX : PENDING_MAX;
}

bool progress_over(const struct progress *p, const struct record *call)
{
	return p->blocks && (call->flags & RECORD_ALONE) && call->state == RECORD_RETURNED;
}

/* Returns true if the rank waits for no other one any more; its sends and receives may still be open. */
static bool has_left(const struct progress_rank *r)
{
	return r->view->process >= PROCESS_EXITED;
}

/* Returns true if the rank may still wait for its call `i`, by what is known of that rank alone. Where
 * calls block, it is in the last one, or in sends and receives at the end of their group. */
static bool is_pending(const struct progress *p, const struct progress_rank *r, size_t i)
{
	const struct record *call = &r->calls[i], *newest = &r->calls[r->ncalls - 1];

	if (record_done(call, r->view->completed) || view_died(r->view))
		return false;
	if (has_left(r) && !call_is_pair(call->kind))
		return false;
	if (!p->blocks)
		return !r->times || r->times[i].end_ns == 0;
	if (newest->state == RECORD_ISSUING)
		return call == newest;
	if (progress_over(p, call))
		return false;
	while (newest > call && call_is_pair(newest->kind))
		newest--;
	return call_is_pair(newest->kind);
}

struct rank_comm *progress_part(const struct progress *p, int rank, uint32_t comm)
{
	struct rank_calls *calls = &p->pending[rank];
	size_t low = 0, high = calls->ncomms;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls->comms[middle].members->comm < comm)
			low = middle + 1;
		else
			high = middle;
	}
	return low < calls->ncomms && calls->comms[low].members->comm == comm ? &calls->comms[low]
									      : NULL;
}

/* Adds a rank's calls: collectives are counted, pending calls are noted. False: needed calls are not known. */
static bool add_calls(struct progress *p, int rank)
{
	const struct progress_rank *r = &p->ranks[rank];
	struct rank_calls *calls = &p->pending[rank];
	struct record_set streams = { { 0 } };
	uint64_t last[RECORD_COMMS] = { 0 };
	bool cut[RECORD_COMMS] = { false };

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct record *call = &r->calls[i];
		bool pair = call_is_pair(call->kind), pending = is_pending(p, r, i);
		uint64_t *before = call->comm < RECORD_COMMS ? &last[call->comm] : NULL;
		struct rank_comm *comm;

		if (!before || (*before && call->seq != *before + 1))
			return false;
		cut[call->comm] |= !*before && call->seq > 1;
		if ((cut[call->comm] && pair) || (pending && calls->n == pending_most(p)))
			return false;
		comm = progress_part(p, rank, call->comm);
		if (comm && !*before)
			comm->made = comm->started = call->seq - 1;
		*before = call->seq;
		if (!comm)
			continue;
		comm->made += !pair;
		comm->started += !pair && !pending;
		if (!pending)
			continue;
		calls->streams += !record_set_has(&streams, call->stream);
		record_set_add(&streams, call->stream);
		calls->calls[calls->n++] = (struct pending_call){
			.call = call,
			.members = comm->members,
			.rank = rank,
			.nth = comm->made,
			.partner = pair ? members_rank(comm->members, call->peer) : 0
		};
	}
	return r->ncalls ? r->calls[r->ncalls - 1].ticket >= r->view->issued : r->view->issued == 0;
}

/* Finds the partner's half of a send or receive. */
static void find_match(struct progress *p, struct pending_call *own, const struct flows *flows)
{
	struct rank_calls *partner = &p->pending[own->partner];

	size_t low = 0, high = partner->n; /* records lie in the order of the calls */

	own->theirs =
		progress_flow_match(flows, progress_part(p, own->rank, own->call->comm)->place,
				    own->call);
	while (own->theirs && low < high) {
		size_t middle = low + (high - low) / 2;

		if (partner->calls[middle].call < own->theirs)
			low = middle + 1;
		else
			high = middle;
	}
	if (own->theirs && low < partner->n && partner->calls[low].call == own->theirs)
		own->match = &partner->calls[low];
}

/* Matches the members' pending sends and receives; flows are made where there is one. */
static void match_members(struct progress *p, const struct members *members)
{
	struct flows flows = { .calls = NULL };

	for (int m = 0; m < members->nranks; m++) {
		int rank = members_rank(members, m);

		for (size_t i = 0; rank >= 0 && i < p->pending[rank].n; i++) {
			struct pending_call *c = &p->pending[rank].calls[i];

			if (c->members != members || !call_is_pair(c->call->kind) ||
			    !progress_known(p, c->partner))
				continue;
			if (!flows.calls)
				flows_init(&flows, p, members);
			find_match(p, c, &flows);
		}
	}
	flows_release(&flows);
}

/* Returns true if collectives wait for the rank with this part: a member by a recorder's word, or by its calls. */
static bool counts_in(const struct members *members, const struct rank_comm *part)
{
	return part->members == members && (part->made > 0 || members->ranks || members->comm == 0);
}

bool pending_waits_for(const struct progress *p, const struct pending_call *in, int rank)
{
	const struct rank_comm *part;

	if (!progress_known(p, rank))
		return false;
	if (call_is_pair(in->call->kind))
		return rank == in->partner &&
		       (!in->theirs || (in->match && in->match->state == CALL_QUEUED));
	part = progress_part(p, rank, in->call->comm);
	return part && part->started < in->nth && counts_in(in->members, part);
}

bool pending_unequal(const struct pending_call *in)
{
	return in->theirs && !progress_fits(in->theirs, in->call);
}

/* Finds how many collectives all members have started, as far as these are known. */
static void find_common(struct progress *p, size_t k)
{
	const struct members *m = &p->members->list[k];
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < m->nranks; i++) {
		int rank = members_rank(m, i);
		const struct rank_comm *part =
			progress_known(p, rank) ? progress_part(p, rank, m->comm) : NULL;

		if (part && counts_in(m, part) && part->started < least)
			least = part->started;
	}
	p->common[k].least = least;
	p->common[k].stale = false;
}

static uint64_t bytes_of(const struct record *call)
{
	return call->dtype < DT_COUNT ? call->count * dtype_size((enum dtype)call->dtype)
				      : call->count;
}

/* Returns true if a collective of these two members can end: what each gives is what the other takes. */
static bool meet(const struct record *a, const struct record *b)
{
	return a->kind == b->kind && a->peer == b->peer &&
	       (a->kind == CALL_ALLTOALLV || bytes_of(a) == bytes_of(b));
}

/* Finds the first collective that cannot end, as its members' arguments do not fit. */
static void find_unlike(struct progress *p, size_t k)
{
	const struct members *m = &p->members->list[k];
	const struct record **first = NULL;
	uint64_t most = 0;

	for (int i = 0; i < m->nranks; i++) {
		int rank = members_rank(m, i);
		const struct rank_comm *part = rank < 0 ? NULL : progress_part(p, rank, m->comm);

		most = part && part->made > most ? part->made : most;
	}
	first = must(calloc(most + 1, sizeof(*first)));
	for (int i = 0; i < m->nranks; i++) {
		int rank = members_rank(m, i);

		for (size_t c = 0; rank >= 0 && c < p->pending[rank].n; c++) {
			const struct pending_call *own = &p->pending[rank].calls[c];

			if (own->members != m || call_is_pair(own->call->kind))
				continue;
			if (!first[own->nth])
				first[own->nth] = own->call;
			else if (!meet(first[own->nth], own->call) &&
				 own->nth < p->common[k].unlike)
				p->common[k].unlike = own->nth;
		}
	}
	free(first);
}

/* Returns true if the rank goes on as soon as the call has started: what it sends is buffered, and
 * it waits for nothing of others. */
static bool leaves_early(const struct progress *p, const struct pending_call *c)
{
	const struct record *call = c->call;
	bool root = !call_is_pair(call->kind) &&
		    progress_part(p, c->rank, call->comm)->place == call->peer;

	if (!p->rules || bytes_of(call) > p->rules->eager)
		return false;
	return call->kind == CALL_SEND ||
	       ((call->kind == CALL_BROADCAST || call->kind == CALL_SCATTER) && root) ||
	       ((call->kind == CALL_REDUCE || call->kind == CALL_GATHER) && !root);
}

/* Returns true if it starts beside the sends and receives before it, as far as is known. */
static bool starts_beside(const struct record *call)
{
	return call_is_pair(call->kind) && !(call->flags & RECORD_ALONE);
}

/* The same, given what stands before it on its stream: sends and receives alone. */
static bool starts_beside_pairs(const struct record *call)
{
	return starts_beside(call) && !(call->flags & RECORD_HEADS);
}

static void start_call(struct progress *p, struct rank_calls *calls, struct pending_call *c)
{
	size_t end = (size_t)(c - calls->calls) + 1;

	c->state = CALL_STARTED;
	calls->end = end > calls->end ? end : calls->end;
	if (call_is_pair(c->call->kind))
		return;
	progress_part(p, c->rank, c->call->comm)->started = c->nth;
	p->common[c->members - p->members->list].stale = true;
}

/* Returns true if a rank makes a call before which so many are not over. */
static bool is_made(const struct progress *p, int open)
{
	return !p->rules || p->rules->ahead < 0 || open <= p->rules->ahead;
}

size_t progress_made(const struct progress *p, int rank)
{
	const struct rank_calls *calls = &p->pending[rank];
	size_t made = 0;

	for (int open = 0; made < calls->n && is_made(p, open); made++)
		open += calls->calls[made].state != CALL_ENDED;
	return made;
}

/* Starts the calls that no other one stands before on their streams. Returns true if there was any. */
static bool start_calls(struct progress *p, struct rank_calls *calls)
{
	enum { FREE, PAIRS, TAKEN };
	uint8_t streams[UINT8_MAX + 1] = { FREE };
	int taken = 0, open = 0;
	bool any = false;

	for (size_t i = calls->first; i < calls->n && taken < calls->streams; i++) {
		struct pending_call *c = &calls->calls[i];
		uint8_t *stream = &streams[c->call->stream], was = *stream;

		if (c->state == CALL_ENDED)
			continue;
		if (!is_made(p, open++))
			break;
		if (c->state == CALL_QUEUED &&
		    (was == FREE || (was == PAIRS && starts_beside_pairs(c->call)))) {
			start_call(p, calls, c);
			any = true;
		}
		*stream = (was == FREE && starts_beside(c->call)) ||
					  (was == PAIRS && starts_beside_pairs(c->call))
				  ? PAIRS
				  : TAKEN;
		taken += *stream == TAKEN && was != TAKEN;
	}
	calls->moves = false;
	return any;
}

static bool waits_on(const struct progress *p, const struct pending_call *c)
{
	const struct common_start *common = &p->common[c->members - p->members->list];

	if (leaves_early(p, c))
		return false;
	if (call_is_pair(c->call->kind))
		return pending_waits_for(p, c, c->partner) || pending_unequal(c);
	return common->least < c->nth || common->unlike <= c->nth;
}

/* Ends the calls that have nothing left to wait for. Returns true if there was any. */
static bool end_calls(const struct progress *p, struct rank_calls *calls)
{
	for (size_t i = calls->first; i < calls->end; i++) {
		struct pending_call *c = &calls->calls[i];

		if (c->state != CALL_STARTED || waits_on(p, c))
			continue;
		c->state = CALL_ENDED;
		calls->moves = true;
	}
	while (calls->first < calls->n && calls->calls[calls->first].state == CALL_ENDED)
		calls->first++;
	return calls->moves;
}

/* Gives each rank its part in the communicators that it is a member of: these come by their numbers. */
static void place_ranks(struct progress *p, const struct members_list *l)
{
	size_t room = 0, at = 0;

	for (size_t k = 0; k < l->n; k++)
		for (int i = 0; i < l->list[k].nranks; i++)
			if (members_rank(&l->list[k], i) >= 0) {
				p->pending[members_rank(&l->list[k], i)].ncomms++;
				room++;
			}
	p->comms = must(calloc(room + 1, sizeof(*p->comms)));
	for (int i = 0; i < p->nranks; i++) {
		p->pending[i].comms = p->comms + at;
		at += p->pending[i].ncomms;
		p->pending[i].ncomms = 0;
	}
	for (size_t k = 0; k < l->n; k++)
		for (int i = 0; i < l->list[k].nranks; i++) {
			int rank = members_rank(&l->list[k], i);

			if (rank >= 0)
				p->pending[rank].comms[p->pending[rank].ncomms++] =
					(struct rank_comm){ .members = &l->list[k], .place = i };
		}
}

/* Makes room for the calls that may be pending, and adds them. */
static void add_all_calls(struct progress *p)
{
	size_t room = 0;

	for (int i = 0; i < p->nranks; i++)
		room += p->ranks[i].ncalls < pending_most(p) ? p->ranks[i].ncalls : pending_most(p);
	p->arena = must(malloc((room + 1) * sizeof(*p->arena)));
	for (int i = 0; i < p->nranks; i++) {
		struct rank_calls *calls = &p->pending[i];
		const struct progress_rank *r = &p->ranks[i];

		calls->calls = p->arena + p->npending;
		calls->known = calls->moves =
			r->present && r->view->phase != PHASE_SPARE && add_calls(p, i);
		calls->n = calls->known ? calls->n : 0;
		p->npending += calls->n;
	}
}

void progress_play(struct progress *p, const struct members_list *l)
{
	bool any = true;

	p->pending = must(calloc((size_t)p->nranks + 1, sizeof(*p->pending)));
	p->members = l;
	p->common = must(calloc(l->n + 1, sizeof(*p->common)));
	place_ranks(p, l);
	add_all_calls(p);
	for (size_t k = 0; k < l->n; k++)
		match_members(p, &l->list[k]);
	for (size_t k = 0; k < l->n; k++) {
		find_common(p, k);
		p->common[k].unlike = UINT64_MAX;
		if (p->rules)
			find_unlike(p, k);
	}
	while (any) {
		any = false;
		for (int i = 0; i < p->nranks; i++)
			any |= p->pending[i].moves && start_calls(p, &p->pending[i]);
		for (size_t k = 0; k < l->n; k++)
			if (p->common[k].stale)
				find_common(p, k);
		for (int i = 0; i < p->nranks; i++)
			any |= end_calls(p, &p->pending[i]);
	}
}

void progress_release(struct progress *p)
{
	free(p->pending);
	free(p->comms);
	free(p->arena);
	free(p->common);
	*p = (struct progress){
		.ranks = p->ranks, .nranks = p->nranks, .blocks = p->blocks, .rules = p->rules
	};
}

/* The first call from `i` on that the rank waits in. */
static const struct pending_call *next_at(const struct rank_calls *calls, size_t i)
{
	while (i < calls->n && calls->calls[i].state != CALL_STARTED)
		i++;
	return i < calls->n ? &calls->calls[i] : NULL;
}

const struct pending_call *progress_at(const struct progress *p, int rank)
{
	return has_left(&p->ranks[rank]) ? NULL
					 : next_at(&p->pending[rank], p->pending[rank].first);
}

const struct pending_call *progress_also(const struct progress *p, const struct pending_call *in)
{
	const struct rank_calls *calls = &p->pending[in->rank];

	return next_at(calls, (size_t)(in - calls->calls) + 1);
}

const struct record *progress_collective(const struct progress *p, int rank, uint32_t comm,
					 uint64_t nth)
{
	const struct progress_rank *r = &p->ranks[rank];
	const struct rank_comm *part = progress_part(p, rank, comm);
	uint64_t back = part ? part->made : 0;

	for (size_t i = r->ncalls; i-- > 0 && back >= nth;)
		if (r->calls[i].comm == comm && !call_is_pair(r->calls[i].kind) && back-- == nth)
			return &r->calls[i];
	return NULL;
}

const struct pending_call *progress_owed(const struct progress *p, int rank)
{
	const struct pending_call *first = NULL;

	for (int i = 0; i < p->nranks && progress_known(p, rank); i++)
		for (const struct pending_call *in = progress_at(p, i); in;
		     in = progress_also(p, in)) {
			if (i == rank || !pending_waits_for(p, in, rank))
				continue;
			if (call_is_pair(in->call->kind) && !in->theirs)
				return in;
			if (!call_is_pair(in->call->kind) && !first)
				first = in;
		}
	return first;
}

size_t progress_count_owed(const struct progress *p, int rank)
{
	size_t n = 0;

	for (size_t i = 0; i < p->npending; i++)
		n += call_is_pair(p->arena[i].call->kind) && p->arena[i].partner == rank &&
		     !p->arena[i].theirs;
	return n;
}

bool progress_stands_behind(const struct progress *p, const struct pending_call *in,
			    const struct pending_call *other)
{
	const struct record *call;

	if (!pending_waits_for(p, in, other->rank))
		return false;
	call = call_is_pair(in->call->kind)
		       ? in->theirs
		       : progress_collective(p, other->rank, in->call->comm, in->nth);
	return !call || call->stream == other->call->stream;
}

bool progress_is_awaited(const struct progress *p, int rank)
{
	const struct rank_view *v = rank < 0 ? NULL : p->ranks[rank].view;

	if (!progress_played(p) || !progress_known(p, rank) || v->completed < v->issued ||
	    v->process != PROCESS_ALIVE || view_finished(v))
		return false;
	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *other = p->ranks[i].view;

		if ((!v->waiting || !other->waiting || strcmp(v->what, other->what) == 0) &&
		    progress_waits_for(p, i, rank) == PROGRESS_YES)
			return true;
	}
	return false;
}

const struct record *progress_first_open(const struct progress_rank *r)
{
	size_t low = 0, high = r->ncalls;

	/* tickets ascend; of a mapped file every look costs */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->calls[mid].ticket > r->view->completed)
			high = mid;
		else
			low = mid + 1;
	}
	while (low < r->ncalls &&
	       (r->calls[low].state == RECORD_COMPLETED || (r->times && r->times[low].end_ns)))
		low++;
	return low < r->ncalls ? &r->calls[low] : NULL;
}
