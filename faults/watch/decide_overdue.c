/* decide_overdue.c: who is overdue. A rank's deadline is its own; a busy host makes it later, and ranks
 * that will never meet at communicator init make it sooner. */
#include "watch/decide_parts.h"

#include "process/watch.h"
#include "watch/decide_times.h"

static bool past_deadline(const struct decide_rank *rank, uint64_t now)
{
	const struct rank_view *view = &rank->view;

	return view->waiting && view->deadline_ns != 0 &&
	       now > view->deadline_ns + rank->track.grace_ns;
}

/* Tells whether somebody who lives is past its deadline, and whether some rank has made a step
 * lately. */
static void survey(const struct decide_input *in, bool *late, bool *moving)
{
	*late = *moving = false;
	for (size_t i = 0; i < in->nranks; i++) {
		if (in->ranks[i].view.process >= PROCESS_EXITED)
			continue;
		*late |= past_deadline(&in->ranks[i], in->now);
		*moving |= progress_lately(&in->ranks[i], in->now);
	}
}

/* Has made fewer calls than another, is in none, and could run. */
static bool is_free_to_call(const struct decide_rank *rank, uint64_t most)
{
	const struct rank_view *view = &rank->view;
	bool calling = view->phase == PHASE_WARMUP || view->phase == PHASE_TIMED;

	return view->process < PROCESS_EXITED && calling && view->issued > 0 &&
	       view->issued < most && view->completed == view->issued &&
	       view->last.state != RECORD_ISSUING && !progress_descheduled(rank);
}

/* The others may wait for just such a rank, and the host does not starve it. Of several hosts none knows
 * whom the others keep from running. */
static bool any_free_to_call(const struct decide_input *in)
{
	uint64_t most = 0;

	if (in->job_hosts > 1)
		return false;
	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.issued > most)
			most = in->ranks[i].view.issued;
	for (size_t i = 0; i < in->nranks; i++)
		if (is_free_to_call(&in->ranks[i], most))
			return true;
	return false;
}

/* A deadline that passed is no hang
 * - while a rank of this host has made a step lately;
 * - for five seconds, while the host keeps a rank from running: unless another one is free to make the
 *   call that it did not make. Then the diagnoser says for whom the others wait. */
static bool deadlines_stand(struct decide_state *s, const struct decide_input *in, bool starved)
{
	bool late, moving;

	survey(in, &late, &moving);
	if (!late || moving)
		s->overdue_ns = in->now;
	if (moving)
		return false;
	return !starved || in->now - s->overdue_ns > decide_times.starvation_ns ||
	       any_free_to_call(in);
}

void overdue_mark(struct decide_state *s, struct decide_input *in, bool starved)
{
	bool stand = deadlines_stand(s, in, starved);
	enum rendezvous how = init_look(s, in);
	bool never = how == RENDEZVOUS_MISSING || how == RENDEZVOUS_MISMATCH;

	s->init.marked = false;
	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_view *view = &in->ranks[i].view;
		bool held = never && rendezvous_holds(view, how);

		s->init.marked |= held;
		view->overdue = held || (stand && past_deadline(&in->ranks[i], in->now));
	}
}

bool overdue_ever_since(const struct decide_state *s, uint64_t since)
{
	return s->overdue_ns < since;
}
