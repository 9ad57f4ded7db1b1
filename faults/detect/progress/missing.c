/* missing.c: the first call that not all members came to: which came, which did not. */
#include "process/watch.h"
#include "progress/comm.h"
#include "record/verdict.h"

uint64_t progress_completed(const struct progress_comm *a, int which)
{
	const struct progress_rank *rank = &a->ranks[which];
	const struct track *t = &a->tracks[which];
	const struct call_index *x = rank->index;
	const struct record *r = t->final;

	if (t->plain) { /* as below, by arithmetic */
		uint64_t done = rank->view->completed;

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
	return r ? (r->comm == a->comm ? r->seq : t->first - 1) : 0;
}

int64_t progress_hang_point(const struct progress_comm *a)
{
	uint64_t least = UINT64_MAX, done = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];
		uint64_t at = t->last + !(t->inside || view_awaits_device(a->ranks[i].view));

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

/* The fewest calls that any rank made; `idle`: without the ranks that wait for their own sends and receives. */
static uint64_t fewest_calls(const struct progress_comm *a, bool idle)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];

		if (t->known && t->last < least && !(idle && progress_in_pairs(a, i)))
			least = t->last;
	}
	return least;
}

/* Returns true if the rank waits in a call of another communicator: then what keeps it from here is
 * told there. */
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

/* An error of the library ends ranks wherever they are: how many calls they made says nothing. */
static bool ended_by_error(const struct rank_view *v)
{
	return view_finished(v) && v->outcome == OUTCOME_ERROR && v->error_code != 0;
}

static void add_maker(struct makers *makers, const struct rank_view *v)
{
	makers->n++;
	makers->phase = v->phase > makers->phase ? v->phase : makers->phase;
	if (v->waiting && v->completed < v->issued)
		makers->what = v->what;
	else if (v->waiting)
		makers->through = v->what;
}

uint64_t progress_missing(const struct progress_comm *a, struct rank_set *behind,
			  struct makers *makers)
{
	uint64_t least = fewest_calls(a, true);
	bool idle = least < a->top;

	memset(makers, 0, sizeof(*makers));
	if (!idle)
		least = fewest_calls(a, false);
	if (least >= a->top)
		return 0;
	for (int i = 0; i < a->nranks; i++) {
		const struct rank_view *v = a->ranks[i].view;
		const struct track *t = &a->tracks[i];

		if (!t->known)
			continue;
		if (t->last < a->top && waits_elsewhere(a, i))
			return 0;
		if (t->last == least && !t->inside && !view_awaits_device(v) &&
		    !ended_by_error(v) && !(idle && progress_in_pairs(a, i)))
			rank_set_add(behind, i);
		if (t->last > least)
			add_maker(makers, v);
	}
	return behind->n ? least + 1 : 0;
}

bool makers_passed(const struct makers *makers, const struct rank_view *v)
{
	if (view_finished(v))
		return true;
	if (v->phase > makers->phase && v->phase != PHASE_SPARE)
		return true;
	return v->waiting && makers->what && strcmp(v->what, makers->what) != 0;
}
