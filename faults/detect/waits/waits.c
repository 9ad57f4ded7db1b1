/* waits.c: how far a run can have come: which calls have started, which have ended. */
#include "waits/waits.h"

#include "settings/backend_kind.h"
#include "process/watch.h"
#include "record/verdict.h"
#include "waits/flows.h"

#define RANKS_MAX   4096 /* of a larger run nothing is known */
#define PENDING_MAX 1024 /* nor of a rank with more calls that have not completed */

bool waits_over(const struct evidence *e, const struct record *call)
{
	return backend_lacks(e->backend, BACKEND_ASYNC) && (call->flags & RECORD_ALONE) &&
	       call->state == RECORD_RETURNED;
}

/* It waits for nobody any more; its sends and receives may still be open. */
static bool has_left(const struct evidence_rank *r)
{
	return r->view.process >= PROCESS_EXITED;
}

/* Returns true if the rank may still wait for its call `i`, by what is known of that rank alone. Where
 * calls block, it is in the last one, or in sends and receives at the end of their group. */
static bool is_pending(const struct evidence *e, const struct evidence_rank *r, size_t i)
{
	const struct record *call = &r->calls[i], *newest = &r->calls[r->ncalls - 1];

	if (record_done(call, r->view.completed) || view_died(&r->view))
		return false;
	if (has_left(r) && !call_is_pair(call->kind))
		return false;
	if (!backend_lacks(e->backend, BACKEND_ASYNC))
		return !r->times || r->times[i].end_ns == 0;
	if (newest->state == RECORD_ISSUING)
		return call == newest;
	if (waits_over(e, call))
		return false;
	while (newest > call && call_is_pair(newest->kind))
		newest--;
	return call_is_pair(newest->kind);
}

/* How many of the rank's calls are pending; -1: calls are no longer known that would have to be. */
static long count_pending(const struct evidence *e, const struct evidence_rank *r)
{
	uint64_t last[RECORD_COMMS] = { 0 };
	bool cut[RECORD_COMMS] = { false };
	long n = 0;

	if (!r->present || r->view.phase == PHASE_SPARE)
		return -1;
	for (size_t i = 0; i < r->ncalls; i++) {
		const struct record *call = &r->calls[i];

		if (call->comm >= RECORD_COMMS)
			return -1;
		if (last[call->comm] && call->seq != last[call->comm] + 1)
			return -1;
		cut[call->comm] |= !last[call->comm] && call->seq > 1;
		last[call->comm] = call->seq;
		if (cut[call->comm] && call_is_pair(call->kind))
			return -1;
		n += is_pending(e, r, i);
	}
	if (r->ncalls ? r->calls[r->ncalls - 1].ticket < r->view.issued : r->view.issued > 0)
		return -1;
	return n > PENDING_MAX ? -1 : n;
}

/* The rank's calls: collectives are counted, what is pending is noted. */
static void add_calls(struct waits *w, int rank)
{
	const struct evidence_rank *r = &w->evidence->ranks[rank];
	struct waiter *waiter = &w->ranks[rank];
	struct record_set seen = { { 0 } };

	for (size_t i = 0; i < r->ncalls; i++) {
		const struct record *call = &r->calls[i];
		struct wait_comm *comm = &waiter->comms[call->comm];
		struct wait_call *added = &waiter->calls[waiter->n];
		bool pending = is_pending(w->evidence, r, i) && comm->team;

		if (!record_set_has(&seen, call->comm))
			comm->made = comm->started = call->seq - 1;
		record_set_add(&seen, call->comm);
		comm->made += !call_is_pair(call->kind);
		comm->started += !call_is_pair(call->kind) && !pending;
		if (!pending)
			continue;
		*added = (struct wait_call){
			.call = call, .team = comm->team, .rank = rank, .nth = comm->made
		};
		if (call_is_pair(call->kind))
			added->partner = team_rank(comm->team, call->peer);
		waiter->n++;
	}
}

static bool is_known(const struct waits *w, int rank)
{
	return rank >= 0 && w->ranks[rank].known;
}

/* What the partner made of a send or receive. */
static void find_match(struct waits *w, struct wait_call *own, const struct flows *flows)
{
	struct waiter *partner = &w->ranks[own->partner];

	own->theirs =
		flow_match(flows, w->ranks[own->rank].comms[own->call->comm].place, own->call);
	for (size_t i = 0; own->theirs && i < partner->n; i++)
		if (partner->calls[i].call == own->theirs)
			own->match = &partner->calls[i];
	own->unequal = own->theirs && !flow_fits(own->theirs, own->call);
}

static void match_team(struct waits *w, const struct team *team)
{
	struct team_part part = { .numbers = NULL };
	struct flows flows;

	if (team->ranks)
		team_part_take(&part, w->evidence, team);
	flows_init(&flows, team->ranks ? &part.evidence : w->evidence, team->comm);
	for (size_t i = 0; i < w->pending; i++) {
		struct wait_call *c = &w->arena[i];

		if (c->call && c->team == team && call_is_pair(c->call->kind) &&
		    is_known(w, c->partner))
			find_match(w, c, &flows);
	}
	flows_release(&flows);
	team_part_release(&part);
}

static bool has_come(const struct waits *w, const struct wait_call *in, int rank)
{
	const struct wait_comm *comm;

	if (!is_known(w, rank))
		return true;
	comm = &w->ranks[rank].comms[in->call->comm];
	if (!call_is_pair(in->call->kind)) /* of whom nobody says that it is a member, calls do */
		return comm->team != in->team || comm->started >= in->nth ||
		       (comm->made == 0 && !in->team->ranks && in->team->comm > 0);
	return rank != in->partner ||
	       (in->theirs && (!in->match || in->match->state != WAIT_QUEUED));
}

/* Returns true if nothing is left to wait for. */
static bool is_met(const struct waits *w, struct wait_call *in)
{
	if (call_is_pair(in->call->kind))
		return has_come(w, in, in->partner) && !in->unequal;
	while (in->seen < in->team->nranks && has_come(w, in, team_rank(in->team, in->seen)))
		in->seen++;
	return in->seen == in->team->nranks;
}

/* Returns true if it starts beside the sends and receives before it, as far as is known. */
static bool starts_beside(const struct record *call)
{
	return call_is_pair(call->kind) && !(call->flags & RECORD_ALONE);
}

/* Starts what nothing on its stream stands before. Returns whether there was any. */
static bool start_calls(struct waiter *waiter)
{
	enum { FREE, PAIRS, TAKEN };
	uint8_t streams[UINT8_MAX + 1] = { FREE };
	bool any = false;

	for (size_t i = waiter->first; i < waiter->n; i++) {
		struct wait_call *c = &waiter->calls[i];
		uint8_t *stream = &streams[c->call->stream];

		if (c->state == WAIT_ENDED)
			continue;
		if (c->state == WAIT_QUEUED &&
		    (*stream == FREE || (*stream == PAIRS && starts_beside(c->call)))) {
			c->state = WAIT_STARTED;
			any = true;
			if (!call_is_pair(c->call->kind))
				waiter->comms[c->call->comm].started = c->nth;
		}
		*stream = starts_beside(c->call) && *stream != TAKEN ? PAIRS : TAKEN;
	}
	return any;
}

static bool end_calls(const struct waits *w, struct waiter *waiter)
{
	bool any = false;

	for (size_t i = waiter->first; i < waiter->n; i++) {
		struct wait_call *c = &waiter->calls[i];

		if (c->state != WAIT_STARTED || !is_met(w, c))
			continue;
		c->state = WAIT_ENDED;
		any = true;
	}
	while (waiter->first < waiter->n && waiter->calls[waiter->first].state == WAIT_ENDED)
		waiter->first++;
	return any;
}

static void run(struct waits *w)
{
	bool any = true;

	while (any) {
		any = false;
		for (int i = 0; i < w->evidence->nranks; i++)
			any |= start_calls(&w->ranks[i]);
		for (int i = 0; i < w->evidence->nranks; i++)
			any |= end_calls(w, &w->ranks[i]);
	}
}

static void place_ranks(struct waits *w, const struct teams *teams)
{
	for (size_t t = 0; t < teams->n; t++) {
		const struct team *team = &teams->list[t];

		for (int i = 0; i < team->nranks; i++)
			if (team_rank(team, i) >= 0)
				w->ranks[team_rank(team, i)].comms[team->comm] =
					(struct wait_comm){ .team = team, .place = i };
	}
}

/* Room for what is pending. */
static void make_arena(struct waits *w)
{
	int n = w->evidence->nranks <= RANKS_MAX ? w->evidence->nranks : 0;
	size_t at = 0;

	for (int i = 0; i < n; i++) {
		long pending = count_pending(w->evidence, &w->evidence->ranks[i]);

		w->ranks[i].known = pending >= 0;
		w->ranks[i].room = pending > 0 ? (size_t)pending : 0;
		w->pending += w->ranks[i].room;
	}
	w->arena = must(calloc(w->pending + 1, sizeof(*w->arena)));
	for (int i = 0; i < n; i++) {
		w->ranks[i].calls = w->arena + at;
		at += w->ranks[i].room;
	}
}

void waits_init(struct waits *w, const struct evidence *evidence, const struct teams *teams)
{
	memset(w, 0, sizeof(*w));
	w->evidence = evidence;
	w->ranks = must(calloc((size_t)evidence->nranks + 1, sizeof(*w->ranks)));
	make_arena(w);
	place_ranks(w, teams);
	for (int i = 0; i < evidence->nranks; i++)
		if (w->ranks[i].known)
			add_calls(w, i);
	for (size_t i = 0; i < teams->n && w->pending > 0; i++)
		match_team(w, &teams->list[i]);
	run(w);
}

void waits_release(struct waits *w)
{
	free(w->ranks);
	free(w->arena);
	memset(w, 0, sizeof(*w));
}

/* The first call from this one on that the rank waits in. */
static const struct wait_call *next_in(const struct waiter *waiter, size_t i)
{
	while (i < waiter->n && waiter->calls[i].state != WAIT_STARTED)
		i++;
	return i < waiter->n ? &waiter->calls[i] : NULL;
}

const struct wait_call *waits_in(const struct waits *w, int rank)
{
	return has_left(&w->evidence->ranks[rank]) ? NULL
						   : next_in(&w->ranks[rank], w->ranks[rank].first);
}

const struct wait_call *waits_also(const struct waits *w, const struct wait_call *in)
{
	const struct waiter *waiter = &w->ranks[in->rank];

	return next_in(waiter, (size_t)(in - waiter->calls) + 1);
}

bool waits_for(const struct waits *w, const struct wait_call *in, int rank)
{
	return !has_come(w, in, rank);
}

const struct record *waits_collective(const struct waits *w, int rank, uint32_t comm, uint64_t nth)
{
	const struct evidence_rank *r = &w->evidence->ranks[rank];
	uint64_t back = w->ranks[rank].comms[comm].made;

	for (size_t i = r->ncalls; i-- > 0 && back >= nth;)
		if (r->calls[i].comm == comm && !call_is_pair(r->calls[i].kind) && back-- == nth)
			return &r->calls[i];
	return NULL;
}

/* What `in` waits for of `rank` is queued there: its call, NULL: it was not made. */
static const struct record *owed(const struct waits *w, const struct wait_call *in, int rank)
{
	return call_is_pair(in->call->kind) ? in->theirs
					    : waits_collective(w, rank, in->call->comm, in->nth);
}

bool waits_behind(const struct waits *w, const struct wait_call *in, const struct wait_call *other)
{
	const struct record *call;

	if (!waits_for(w, in, other->rank))
		return false;
	call = owed(w, in, other->rank);
	return !call || call->stream == other->call->stream;
}
