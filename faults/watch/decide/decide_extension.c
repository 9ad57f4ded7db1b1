/* decide_extension.c: a hang is given more time. Slow is not hung: on a crowded host all ranks may
 * be in the same call long after its deadline (a driver that maps memory for ten runs at once). A
 * cause that is found is a verdict at once. Without one, and where a busy host starves the named
 * ranks, the run goes on for a while. */
#include "decide/decide_extension.h"

#include "base/rank_list.h"
#include "decide/decide_steps.h"
#include "decide/decide_times.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

bool extension_grant(struct extension *x, double waited, uint64_t starved_until_ns, uint64_t now)
{
	uint64_t step = (uint64_t)(waited * decide_times.extension_step * 1e9),
		 end = starved_until_ns;

	if (!x->unexplained && waited > 0) { /* once, however long it has lasted by then */
		x->unexplained = true;
		end = later(end, now + (uint64_t)(fmin(waited * decide_times.extension_times,
						       decide_times.extension_cap) *
						  1e9));
	}
	x->end_ns = later(x->end_ns, end);
	if (now >= x->end_ns)
		return false;
	if (x->since_ns == 0)
		x->since_ns = now;
	step = later(step, decide_times.extension_look_ns);
	x->until_ns = now + step < x->end_ns ? now + step : x->end_ns;
	x->starved = false;
	return true;
}

/* Returns true if all ranks of the job are known, alive, in a wait, and as good as never ran since it began. */
static bool all_starved(const struct decide_state *s, const struct decide_input *in)
{
	int n = 0, starved = 0;

	for (size_t i = 0; i < in->nranks; i++) {
		const struct rank_view *view = &s->ranks[i].view;

		n += view->rank >= 0;
		starved += view->rank >= 0 && view->waiting && steps_hardly_ran(&s->ranks[i]);
	}
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			const struct rank_view *view = &in->hosts[i].views[k];

			n += view->rank >= 0;
			starved += view->rank >= 0 && view->waiting && view->starved &&
				   view->process == PROCESS_ALIVE;
		}
	return n > 0 && starved == n && (in->job_ranks < 0 || n >= in->job_ranks);
}

bool extension_grant_starved(struct decide_state *s, const struct decide_input *in)
{
	if (!all_starved(s, in))
		return false;
	if (s->extension.since_ns == 0)
		s->extension.since_ns = in->now;
	s->extension.until_ns = in->now + decide_times.starved_look_ns;
	s->extension.starved = true;
	return true;
}

/* Returns true if it makes steps and is one of these, or none is named. */
static bool goes_on(const struct rank_view *view, const char *ranks)
{
	return view->progressed && view->process < PROCESS_EXITED &&
	       (rank_list_count(ranks) == 0 || rank_list_has(ranks, view->rank));
}

bool extension_goes_on(const struct decide_state *s, const struct decide_input *in,
		       const char *ranks)
{
	for (size_t i = 0; i < in->nranks; i++)
		if (goes_on(&s->ranks[i].view, ranks))
			return true;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; in->hosts[i].answered && k < in->hosts[i].nviews; k++)
			if (goes_on(&in->hosts[i].views[k], ranks))
				return true;
	return false;
}

/* Returns true if this host keeps one of them from running; where none is named, one of all. A
 * rank that is as good as never run gets its turn now and then. */
static bool starves_here(const struct decide_state *s, const struct decide_input *in,
			 const char *ranks)
{
	bool any = rank_list_count(ranks) == 0;

	for (size_t i = 0; i < in->nranks; i++)
		if (rank_list_has(ranks, in->ranks[i].view.rank))
			any |= steps_descheduled(&s->ranks[i]);
	return any && in->now - s->starved_ns < decide_times.starved_lately_ns;
}

/* Returns true if another host does. A stopped rank does not go on by itself: it is none. */
static bool starves_elsewhere(const struct decide_input *in, const char *ranks)
{
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			const struct rank_view *view = &in->hosts[i].views[k];

			if (view->starved && view->process == PROCESS_ALIVE &&
			    rank_list_has(ranks, view->rank))
				return true;
		}
	return false;
}

/* Returns the end of the time in which the host may be the cause:
 * - Several hosts: a named rank makes a step now and then, on another host than the waiting
 *   ones. One host by itself has checked that already (decide_steps.c).
 * - A host starves a named rank: counted from when a rank here was overdue, and where only ranks
 *   elsewhere wait, from when these were first given time. */
uint64_t starvation_until(const struct decide_state *s, const struct decide_input *in,
			  const char *ranks)
{
	uint64_t from = s->overdue_ns;

	if (in->job_hosts > 1 && extension_goes_on(s, in, ranks))
		return in->now + decide_times.progress_ns;
	if (!starves_here(s, in, ranks) && !starves_elsewhere(in, ranks))
		return 0;
	if (s->extension.since_ns && s->extension.since_ns < from)
		from = s->extension.since_ns;
	return from + decide_times.starvation_ns;
}

enum tier tier_of(const struct patience *p, enum answer_class class, double waited, double still,
		  double late)
{
	if (class_is_final(class) || fmin(waited, still) >= p->hang)
		return TIER_VERDICT;
	return waited >= late ? TIER_LATE : TIER_WAIT;
}
