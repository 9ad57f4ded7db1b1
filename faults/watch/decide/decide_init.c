/* decide_init.c: ranks that wait at communicator init, or in a communicator's first call, for
 * ranks that never come. Either may take a library long, and deadlines are long; that all come,
 * with arguments that fit, takes no time. A host by itself sees all its ranks, and a leader all
 * of a communicator that its host has to itself. On several hosts a leader reports that ranks
 * wait. The root takes a census then, again and again: to the end of init for all ranks, or of
 * the time for it; for first calls of communicator 0 alone. */
#include "decide/decide_init.h"

#include "base/error.h"
#include "decide/decide_steps.h"
#include "decide/decide_times.h"

/* The longest time, seconds, for which a rank is held up by missing ones; 0: none is. Time in
 * which its leader did not run does not count: the whole job may have been stopped. The views are
 * `stride` bytes apart. */
static double longest_hold(const void *views, size_t stride, size_t n, enum arrivals how)
{
	double longest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct rank_view *view = (const void *)((const char *)views + i * stride);

		if (progress_held_up(view, how) && view->waited - view->grace > longest)
			longest = view->waited - view->grace;
	}
	return longest;
}

static double first_call_seconds(const struct decide_state *s)
{
	return s->config.init_seconds * decide_times.first_call_part;
}

/* The arrivals that this leader knows: the root knows all. On one host only init counts, as
 * init_abandoned() is about first calls. *left: seconds that held up ranks may be left waiting. */
static enum arrivals how_they_meet(const struct decide_state *s, const struct decide_input *in,
				   double *left)
{
	enum arrivals how = s->init.complete ? ARRIVALS_COMPLETE : ARRIVALS_OPEN;
	struct rank_view *views;
	size_t n = decide_views(s, in, &views);
	struct progress p = progress_of(views, sizeof(*views), n);

	if (n > 0 && !s->init.complete)
		how = progress_init(&p, in->job_ranks);
	*left = s->config.init_seconds - longest_hold(views, sizeof(*views), n, how);
	if (n > 0 && how == ARRIVALS_COMPLETE && in->job_hosts > 1) {
		how = progress_first_call(&p, in->job_ranks);
		*left = first_call_seconds(s) -
			longest_hold(views, sizeof(*views), n, ARRIVALS_ABSENT);
	}
	if (how == ARRIVALS_COMPLETE && s->init.complete)
		how = ARRIVALS_OPEN; /* that is no news */
	free(p.ranks);
	free(views);
	return how;
}

static bool is_wanted(const struct decide_state *s, const struct decide_input *in)
{
	return s->config.init_seconds > 0 && !s->init.dismissed && in->job_hosts >= 1 &&
	       !(s->init.complete && s->init.called);
}

/* Returns true if these ranks wait so long, at init or in a first call, that a census is due. */
static bool is_census_due(const struct decide_state *s, const void *views, size_t stride, size_t n)
{
	return longest_hold(views, stride, n,
			    s->init.complete ? ARRIVALS_ABSENT : ARRIVALS_MISMATCH) >
	       decide_times.census_early * s->config.init_seconds;
}

enum arrivals init_look(struct decide_state *s, const struct decide_input *in)
{
	enum arrivals how = s->init.found;
	double left;

	s->init.overdue = false;
	if (!is_wanted(s, in))
		return ARRIVALS_OPEN;
	if (in->job_hosts > 1)
		s->init.overdue = is_census_due(s, s->ranks, sizeof(*s->ranks), in->nranks);
	else if (longest_hold(s->ranks, sizeof(*s->ranks), in->nranks, ARRIVALS_MISMATCH) >
		 s->config.init_seconds)
		how = how_they_meet(s, in, &left);
	return steps_quiet(s, in) ? how : ARRIVALS_OPEN;
}

bool init_abandoned(const struct decide_state *s, const struct decide_input *in,
		    const struct rank_state *rank)
{
	const struct rank_view *view = &rank->view;
	struct missing missing;
	struct awaited call;
	struct progress p;
	bool abandoned;

	if (s->config.init_seconds <= 0 || s->init.dismissed || !progress_in_first_call(view) ||
	    view->waited - view->grace <= first_call_seconds(s))
		return false;
	p = progress_of(&s->ranks->view, sizeof(*s->ranks), in->nranks);
	call = progress_awaited(&p, view);
	abandoned = progress_missing(&call, NULL, &missing) == PROGRESS_YES;
	free(p.ranks);
	return abandoned;
}

/* All ranks have come, or some are known not to: all hosts act on it. */
static struct decision settle(struct decide_state *s, enum arrivals how)
{
	s->init.counted = s->init.counting = false;
	s->init.found = arrivals_never(how) ? how : ARRIVALS_OPEN;
	s->init.complete |= how == ARRIVALS_COMPLETE || how > ARRIVALS_MISMATCH;
	s->init.called |= how == ARRIVALS_CALLED;
	s->init.dismissed |= how == ARRIVALS_DISMISSED;
	return (struct decision){ .action = DECIDE_ARRIVALS, .arrivals = how };
}

static bool is_due(const struct decide_state *s, const struct decide_input *in)
{
	bool due = s->init.overdue;

	for (size_t i = 0; i < in->nhosts; i++)
		due |= is_census_due(s, in->hosts[i].views, sizeof(struct rank_view),
				     in->hosts[i].nviews);
	return due;
}

static bool all_answered(const struct decide_input *in)
{
	for (size_t i = 0; i < in->nhosts; i++)
		if (!in->hosts[i].answered)
			return false;
	return true;
}

/* Returns the pause before the next census; a verdict is due in `left` seconds, or was due. */
static uint64_t pause_for(double left, double init_seconds)
{
	if (left < -init_seconds)
		return decide_times.census_seldom_ns;
	return left > ns_seconds(decide_times.census_again_ns) ? (uint64_t)(left * 1e9)
							       : decide_times.census_again_ns;
}

struct decision init_lead(struct decide_state *s, const struct decide_input *in)
{
	const struct decision nothing = { .action = DECIDE_NOTHING };
	enum arrivals how = ARRIVALS_OPEN;
	double left = s->config.init_seconds;

	if (!is_wanted(s, in) || in->job_hosts < 2 || s->init.found != ARRIVALS_OPEN ||
	    !is_due(s, in))
		return nothing;
	if (!s->init.counting && in->now < s->init.census_ns)
		return nothing;
	if (!s->init.counting) {
		s->init.counted = s->init.counting = true;
		s->init.census_ns = in->now + decide_times.census_answer_ns;
		return (struct decision){ .action = DECIDE_CENSUS };
	}
	if (all_answered(in))
		how = how_they_meet(s, in, &left);
	else if (in->now < s->init.census_ns)
		return nothing;
	s->init.counting = false;
	s->init.census_ns = in->now + pause_for(left, s->config.init_seconds);
	if (how != ARRIVALS_OPEN && (!arrivals_never(how) || left < 0))
		return settle(s, how);
	return nothing;
}

void init_follow(struct decide_state *s, const struct decide_orders *orders)
{
	if (orders->census)
		s->init.counted = true;
	if (orders->arrivals_reported)
		settle(s, orders->arrivals <= ARRIVALS_DISMISSED ? orders->arrivals
								 : ARRIVALS_COMPLETE);
}

/* Overdue on another host, before the deadline of its own. */
static bool marked_elsewhere(const struct decide_input *in)
{
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			const struct rank_view *view = &in->hosts[i].views[k];

			if (view->overdue && view->seen_ns < view->deadline_ns)
				return true;
		}
	return false;
}

bool init_dismiss(struct decide_state *s, const struct decide_input *in)
{
	if (s->init.dismissed ||
	    (!s->init.marked && s->init.found == ARRIVALS_OPEN && !marked_elsewhere(in)))
		return false;
	settle(s, ARRIVALS_DISMISSED);
	return true;
}
