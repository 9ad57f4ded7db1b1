/* decide_init.c: who waits at communicator init for others that will never come. Init itself may take a
 * library long, and its deadline is long; that all come, and alike, takes no time. A host by itself sees
 * all its ranks. Of several, a leader whose ranks wait says so, the root takes a census, and again until
 * all have come, alike or not, or have had the time to. */
#include "watch/decide_parts.h"

#include <stdlib.h>

#include "watch/decide_times.h"

/* Since how many seconds somebody is held up by how they meet, at most: 0 for nobody. Not counting the
 * time in which its leader did not run: the whole job may have been stopped. */
static double longest_hold(const struct rank_view *views, size_t n, enum rendezvous how)
{
	double longest = 0;

	for (size_t i = 0; i < n; i++)
		if (rendezvous_holds(&views[i], how) && views[i].waited - views[i].grace > longest)
			longest = views[i].waited - views[i].grace;
	return longest;
}

/* The same on this host. */
static double longest_here(const struct decide_input *in)
{
	double longest = 0;

	for (size_t i = 0; i < in->nranks; i++) {
		double own = longest_hold(&in->ranks[i].view, 1, RENDEZVOUS_MISMATCH);

		longest = own > longest ? own : longest;
	}
	return longest;
}

/* Tells how the ranks meet that this leader knows: all, at the root. */
static enum rendezvous how_they_meet(const struct decide_input *in, double *longest)
{
	struct rank_view *views;
	size_t n = decide_views(in, &views);
	enum rendezvous how = n > 0 ? rendezvous_of(views, n, in->job_ranks) : RENDEZVOUS_OPEN;

	*longest = longest_hold(views, n, how);
	free(views);
	return how;
}

static bool is_wanted(const struct decide_state *s, const struct decide_input *in)
{
	return s->config.init_seconds > 0 && !s->init.complete && in->job_hosts >= 1;
}

enum rendezvous init_look(struct decide_state *s, const struct decide_input *in)
{
	enum rendezvous how = s->init.found;
	double longest;

	s->init.overdue = false;
	if (!is_wanted(s, in))
		return RENDEZVOUS_OPEN;
	longest = longest_here(in);
	if (in->job_hosts > 1)
		s->init.overdue = longest > decide_times.census_early * s->config.init_seconds;
	else if (longest > s->config.init_seconds)
		how = how_they_meet(in, &longest);
	return progress_quiet(in) ? how : RENDEZVOUS_OPEN;
}

/* All ranks meet, or are known not to: everybody acts on it. */
static struct decision settle(struct decide_state *s, enum rendezvous how)
{
	s->init.counted = s->init.counting = false;
	s->init.found = how == RENDEZVOUS_COMPLETE ? RENDEZVOUS_OPEN : how;
	s->init.complete = how == RENDEZVOUS_COMPLETE;
	return (struct decision){ .action = DECIDE_RENDEZVOUS, .rendezvous = how };
}

static bool is_due(const struct decide_state *s, const struct decide_input *in)
{
	bool due = s->init.overdue;

	for (size_t i = 0; i < in->nhosts; i++)
		due |= in->hosts[i].init_overdue;
	return due;
}

static bool all_counted(const struct decide_input *in)
{
	for (size_t i = 0; i < in->nhosts; i++)
		if (!in->hosts[i].counted)
			return false;
	return true;
}

static struct decision take_census(struct decide_state *s, uint64_t now)
{
	s->init.counted = s->init.counting = true;
	s->init.census_ns = now + decide_times.census_answer_ns;
	return (struct decision){ .action = DECIDE_CENSUS };
}

/* Returns how long it is until the next census; the verdict may be said in `left` seconds, or
 * could have been. */
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
	enum rendezvous how = RENDEZVOUS_OPEN;
	double longest = 0, left;

	if (!is_wanted(s, in) || in->job_hosts < 2 || s->init.found != RENDEZVOUS_OPEN ||
	    !is_due(s, in))
		return nothing;
	if (!s->init.counting)
		return in->now >= s->init.census_ns ? take_census(s, in->now) : nothing;
	if (all_counted(in))
		how = how_they_meet(in, &longest);
	else if (in->now < s->init.census_ns)
		return nothing;
	left = s->config.init_seconds - longest;
	s->init.counting = false;
	s->init.census_ns = in->now + pause_for(left, s->config.init_seconds);
	if (how == RENDEZVOUS_COMPLETE || (how != RENDEZVOUS_OPEN && left < 0))
		return settle(s, how);
	return nothing;
}

void init_follow(struct decide_state *s, const struct decide_orders *orders)
{
	if (orders->census)
		s->init.counted = true;
	if (orders->told_rendezvous)
		settle(s, orders->rendezvous <= RENDEZVOUS_MISMATCH ? orders->rendezvous
								    : RENDEZVOUS_COMPLETE);
}

bool init_dismiss(struct decide_state *s)
{
	if (!s->init.marked && s->init.found == RENDEZVOUS_OPEN)
		return false;
	settle(s, RENDEZVOUS_COMPLETE);
	return true;
}
