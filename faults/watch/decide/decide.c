/* decide.c: from what a leader sees to what it does: watch, let things settle, query, have the
 * diagnoser look, end; or follow the root. The rules of a stage stand in their order. */
#include "decide/decide.h"

#include "base/error.h"
#include "base/rank_list.h"
#include "decide/decide_extension.h"
#include "decide/decide_hosts.h"
#include "decide/decide_init.h"
#include "decide/decide_steps.h"
#include "decide/decide_times.h"

static const struct decision nothing = { .action = DECIDE_NOTHING };

void decide_open(struct decide_state *s, const struct decide_config *config, uint64_t now)
{
	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->opened_ns = s->last_ns = s->looked_from_ns = now;
}

/* ---- what is seen ---- */

static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->local > y->local) - (x->local < y->local);
}

void decide_release(struct decide_state *s)
{
	free(s->ranks);
	free(s->hosts);
}

size_t decide_views(const struct decide_state *s, const struct decide_input *in,
		    struct rank_view **views)
{
	size_t n = in->nranks;

	for (size_t i = 0; i < in->nhosts; i++)
		n += in->hosts[i].nviews;
	*views = must(calloc(n + 1, sizeof(**views)));
	n = 0;
	for (size_t i = 0; i < in->nranks; i++)
		(*views)[n++] = s->ranks[i].view;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			(*views)[n] = in->hosts[i].views[k];
			hosts_say(s, in, i, &(*views)[n++]);
		}
	qsort(*views, n, sizeof(**views), compare_views);
	return n;
}

/* Returns true if something is wrong on this host; with `deadlines`, a wait as well. */
static bool abnormal_here(const struct decide_state *s, bool deadlines)
{
	for (size_t i = 0; i < s->nranks; i++)
		if (views_abnormal(&s->ranks[i].view, 1, deadlines))
			return true;
	return false;
}

/* The same on any host. */
static bool abnormal_anywhere(const struct decide_state *s, const struct decide_input *in,
			      bool deadlines)
{
	for (size_t i = 0; i < in->nhosts; i++)
		if (views_abnormal(in->hosts[i].views, in->hosts[i].nviews, deadlines))
			return true;
	return abnormal_here(s, deadlines);
}

/* Returns true if something is wrong that no waiting will repair, on any host. */
static bool is_worse(const struct decide_state *s, const struct decide_input *in)
{
	return abnormal_anywhere(s, in, false);
}

static bool any_overdue(const struct decide_state *s)
{
	for (size_t i = 0; i < s->nranks; i++)
		if (s->ranks[i].view.overdue)
			return true;
	return false;
}

/* A leader elsewhere knows of its own host alone whether all are done. */
static bool all_done(const struct decide_input *in)
{
	/* another supervisor ends the run: the host's others have not come to it yet */
	if (in->leader.since_ns && in->job_hosts == 1 && (int)in->nranks < in->job_ranks)
		return false;
	for (size_t i = 0; i < in->nranks; i++)
		if (!view_finished(&in->ranks[i].view))
			return false;
	for (size_t i = 0; i < in->nhosts && !in->follows; i++)
		if (!in->hosts[i].done)
			return false;
	return true;
}

static bool any_lost(const struct decide_state *s)
{
	return hosts_worst(s) != LOST_NOT;
}

/* Views of a silent host are stale: it answers, or is lost in the end. */
static bool all_answered(const struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < in->nhosts; i++)
		if (!in->hosts[i].done && !s->hosts[i].lost && !in->hosts[i].answered)
			return false;
	return true;
}

/* Returns true if the rank ended as a job does that is told to. No process here saw which signal status 0 stands for; what
 * an orphan is killed by has most likely killed its launcher. */
static bool ended_as_told(const struct rank_view *view, bool orphan)
{
	int signal = view->process == PROCESS_KILLED ? view->status : -1;

	return signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == 0 ||
	       (orphan && signal == SIGKILL);
}

static const struct rank_view *nth(const struct rank_view *views, size_t size, size_t i)
{
	return (const struct rank_view *)((const char *)views + i * size);
}

/* The ranks of a host: how these ended. Where its launcher tells some to end, others that have ended did so by themselves. */
static void note_ends(struct decide_state *s, const struct rank_view *views, size_t size, size_t n,
		      const struct decide_input *in)
{
	bool any_told = false, orphans = in->orphaned && views == &s->ranks->view;

	for (size_t i = 0; i < n; i++)
		any_told |= nth(views, size, i)->told;
	for (size_t i = 0; i < n; i++) {
		const struct rank_view *view = nth(views, size, i);

		if (view_died(view) && s->death_ns == 0)
			s->death_ns = in->now;
		s->crashed |= view_died(view) && !view->told &&
			      (any_told || !ended_as_told(view, orphans));
		if (view_failed(view) && s->error_ns == 0 && !view->told)
			s->error_ns = in->now;
	}
}

static bool all_told(const struct rank_view *views, size_t size, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct rank_view *view = nth(views, size, i);

		if (!view->told && (view->process != PROCESS_EXITED || view_died(view)))
			return false;
		any |= view->told;
	}
	return any;
}

/* Returns true if the job is told to end, on some host: all ranks there that had not ended well are. No rank is to blame
 * for the rest, on other hosts neither. A death or error before it counts. */
static bool is_told(const struct decide_state *s, const struct decide_input *in)
{
	bool told = s->nranks && all_told(&s->ranks->view, sizeof(*s->ranks), s->nranks);

	for (size_t i = 0; i < in->nhosts; i++)
		told |= all_told(in->hosts[i].views, sizeof(struct rank_view), in->hosts[i].nviews);
	return told && s->config.patience.hang > 0 && !s->crashed && !s->error_ns;
}

/* Returns true if no process of any rank is left that is known of. */
static bool all_ended(const struct decide_state *s, const struct decide_input *in)
{
	bool all = true;

	for (size_t i = 0; i < s->nranks; i++)
		all &= s->ranks[i].view.process >= PROCESS_EXITED;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews && !in->hosts[i].ended_ns; k++)
			all &= in->hosts[i].views[k].process >= PROCESS_EXITED;
	return all;
}

/* ---- a verdict, or not yet ---- */

/* Returns true if the diagnoser should look. It also looks where a run came to its end, though
 * ranks made different calls, or made communicators otherwise than the others and got through. */
static bool wants_diagnosis(enum outcome outcome, const struct progress *p)
{
	if (outcome == OUTCOME_OK)
		return progress_compare_counts(p) != COUNTS_ALIKE || progress_any_pairs(p) ||
		       progress_init_unequal(p, NULL) > 0;
	return outcome == OUTCOME_HANG || outcome == OUTCOME_DIED || outcome == OUTCOME_ERROR ||
	       outcome == OUTCOME_WRONG_DATA || outcome == OUTCOME_DIVERGED;
}

/* Nothing worse came of calls that were different; their records may have left the rings since. */
static void note_desync(struct answer *verdict, const struct desync *desync)
{
	verdict->outcome = OUTCOME_DIVERGED;
	verdict->confidence = CONFIDENCE_INCONCLUSIVE;
	if (!desync)
		return;
	verdict->class = CLASS_MISMATCH;
	verdict->confidence = CONFIDENCE_MAJORITY;
	verdict->comm = desync->comm;
	verdict->seq_low = verdict->seq_high = (int64_t)desync->low;
	snprintf(verdict->ranks, sizeof(verdict->ranks), "%s", desync->ranks);
}

/* Returns true if the wait that an extension is about, if there is one, still goes on. */
static bool same_wait(const struct extension *x, const struct rank_view *views, size_t n)
{
	if (x->wait_ns == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (views[i].rank == x->rank && views[i].since_ns == x->wait_ns)
			return true;
	return false;
}

/* Seconds from `then` to `now`; 0 where it never was. */
static double since(uint64_t then, uint64_t now)
{
	return then ? ns_seconds(now - then) : 0;
}

/* Concludes what the run has come to:
 * - Its user has ended it: nothing is wrong with it.
 * - A host is lost: then it is that, whatever ranks seem to do.
 * - Nothing is wrong any more, and not all are done: a rank that was only late is back, and the
 *   run goes on.
 * - Else there is a verdict, once the diagnoser has looked, if there is something to look at. */
static struct decision conclude(struct decide_state *s, const struct decide_input *in)
{
	bool unfinished =
		!all_done(in) && !abnormal_anywhere(s, in, s->config.deadlines) && !any_lost(s);
	struct decision d = { .action = DECIDE_END };
	bool ended, done;
	struct rank_view *views;
	size_t n = decide_views(s, in, &views);
	struct progress p = progress_of(views, sizeof(*views), n);

	/* an extension is about one wait: it ends with that, or when no rank is overdue any more, unless starvation hides that for a
	 * moment; steps on other hosts are not known here */
	if (!same_wait(&s->extension, views, n) ||
	    (unfinished && (in->job_hosts > 1 || s->overdue_ns >= s->extension.since_ns)))
		s->extension = (struct extension){ 0 };
	answer_of_views(&d.verdict, views, n, since(s->death_ns, in->now),
			since(s->error_ns, in->now));
	if (d.verdict.outcome == OUTCOME_HANG && d.verdict.detect_ms <= 0)
		d.verdict.detect_ms = steps_still(s, in) * 1e3;
	if (d.verdict.outcome == OUTCOME_OK && progress_compare_counts(&p) == COUNTS_DIFFERENT)
		note_desync(&d.verdict, in->desync);
	/* what ranks that are all done have found stands where a root is gone or, if they ended well, silent: its goodbye may
	 * be on the way behind a cut. Errors may come of the loss. */
	done = all_done(in) &&
	       (hosts_worst(s) >= LOST_MONITOR || (in->follows && d.verdict.outcome == OUTCOME_OK));
	if (d.verdict.outcome == OUTCOME_ERROR || !done || in->leader.hold)
		hosts_verdict(s, in, &d.verdict);
	/* the user of a foreign program who ends it ends all of its ranks */
	ended = s->death_ns && !s->crashed && s->config.patience.hang > 0 && !any_lost(s);
	if ((ended || is_told(s, in)) && all_ended(s, in)) {
		d.verdict.outcome = OUTCOME_OK;
		s->stage = STAGE_END;
	} else if (unfinished) {
		s->stage = STAGE_WATCH;
		d = nothing;
	} else if (!in->ending && wants_diagnosis(d.verdict.outcome, &p) &&
		   !(in->follows && all_done(in) && d.verdict.outcome == OUTCOME_OK)) {
		s->stage = STAGE_DIAGNOSE;
		d.action = DECIDE_DIAGNOSE;
	} else {
		s->stage = STAGE_END;
	}
	free(p.ranks);
	free(views);
	return d;
}

/* Finds the rank of all hosts that has waited longest past a deadline; NULL: there is none. */
static const struct rank_view *longest_wait(const struct decide_state *s,
					    const struct decide_input *in)
{
	const struct rank_view *longest = NULL;

	for (size_t i = 0; i < in->nranks; i++) {
		const struct rank_view *view = &s->ranks[i].view;

		if (view->overdue && (!longest || view->waited > longest->waited))
			longest = view;
	}
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			const struct rank_view *view = &in->hosts[i].views[k];

			if (view->overdue && (!longest || view->waited > longest->waited))
				longest = view;
		}
	return longest;
}

static bool traces(const struct rank_view *view, const char *ranks)
{
	return view->traced && (rank_list_count(ranks) == 0 || rank_list_has(ranks, view->rank));
}

/* Returns when a debugger that looks at one of these ranks (none named: any) has had a host's time; 0: none does. */
static uint64_t traced_until(struct decide_state *s, const struct decide_input *in,
			     const struct answer *verdict)
{
	bool traced = verdict->class == CLASS_TRACED;

	for (size_t i = 0; i < in->nranks; i++)
		traced |= traces(&s->ranks[i].view, verdict->ranks);
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; in->hosts[i].answered && k < in->hosts[i].nviews; k++)
			traced |= traces(&in->hosts[i].views[k], verdict->ranks);
	if (!traced || class_is_final(verdict->class))
		return 0;
	if (s->extension.traced_ns == 0)
		s->extension.traced_ns = in->now;
	return s->extension.traced_ns + (uint64_t)(s->config.partition_seconds * 1e9);
}

/* Returns true if the run gets more time: no cause, or one that is the host's or a debugger's. */
static bool extend(struct decide_state *s, const struct decide_input *in, bool unexplained,
		   const struct answer *verdict)
{
	const struct rank_view *longest = longest_wait(s, in);
	bool counts = unexplained && s->config.extensions;
	uint64_t until = counts ? 0 : starvation_until(s, in, verdict->ranks);
	uint64_t traced = traced_until(s, in, verdict);

	until = traced > until ? traced : until;
	if (!((counts || in->now < until) &&
	      extension_grant(&s->extension, counts && longest ? longest->waited : 0, until,
			      in->now)) &&
	    !(s->config.extensions && !class_is_final(verdict->class) &&
	      extension_grant_starved(s, in)))
		return false;
	if (s->extension.wait_ns == 0 && longest) {
		s->extension.rank = longest->rank;
		s->extension.wait_ns = longest->since_ns;
	}
	return true;
}

/* A line is due when time is first given to a run whose ranks all wait for processors, and each minute. */
static bool starved_is_due(struct decide_state *s, const struct decide_input *in)
{
	struct extension *x = &s->extension;

	if (!x->starved || (x->told_ns && in->now - x->told_ns < decide_times.starved_line_ns))
		return false;
	x->told_ns = in->now;
	return true;
}

/* Returns true if one of these ranks has ended, however well. */
static bool any_gone(const struct decide_input *in, const char *ranks)
{
	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.process >= PROCESS_EXITED &&
		    rank_list_has(ranks, in->ranks[i].view.rank))
			return true;
	return false;
}

/* Returns true if a living rank is inside of some communicator's init: others may wait for what it will do afterwards. */
static bool any_in_init(const struct decide_state *s, const struct decide_input *in)
{
	bool any = false;

	for (size_t i = 0; i < in->nranks; i++)
		any |= s->ranks[i].view.process < PROCESS_EXITED && view_in_init(&s->ranks[i].view);
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++)
			any |= in->hosts[i].views[k].process < PROCESS_EXITED &&
			       view_in_init(&in->hosts[i].views[k]);
	return any;
}

/* Returns true if there are such ranks, and all of them work: they are late, however long that takes. */
static bool all_work(const struct decide_state *s, const struct decide_input *in, const char *ranks)
{
	int named = 0, work = 0;

	for (size_t i = 0; i < in->nranks; i++)
		if (rank_list_has(ranks, in->ranks[i].view.rank)) {
			named++;
			work += s->ranks[i].view.works;
		}
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++)
			if (rank_list_has(ranks, in->hosts[i].views[k].rank)) {
				named++;
				work += in->hosts[i].views[k].works;
			}
	return named > 0 && work == named;
}

/* A wait is printed when it is late, and again after 10, 60 and 600 s; without a name later. */
static bool late_is_due(struct decide_state *s, const struct decide_input *in,
			const struct rank_view *longest, double waited,
			const struct answer *verdict)
{
	static const double times[] = { 10, 60, 600 };
	bool same = s->late.since_ns == longest->since_ns && s->late.rank == longest->rank;

	if (same ? s->late.next <= 0 || waited < s->late.next
		 : rank_list_count(verdict->ranks) == 0 && waited < s->config.patience.late)
		return false;
	s->late = (struct late){ .rank = longest->rank,
				 .since_ns = longest->since_ns,
				 .broke = view_broke(longest),
				 .began_ns = in->now - (uint64_t)(waited * 1e9) };
	for (size_t i = 0; i < LENGTH(times) && s->late.next <= 0; i++)
		s->late.next = waited < times[i] ? times[i] : 0;
	return true;
}

/* Returns after how many seconds a wait that was printed as late has ended well, once; 0: none has. */
static double late_came(struct decide_state *s, const struct decide_input *in)
{
	const struct late late = s->late;
	const struct rank_view *view = NULL;

	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.rank == late.rank)
			view = &in->ranks[i].view;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++)
			if (in->hosts[i].views[k].rank == late.rank)
				view = &in->hosts[i].views[k];
	if (!late.since_ns || !view || view->since_ns == late.since_ns)
		return 0;
	s->late.since_ns = 0;
	return view->process < PROCESS_EXITED && (late.broke || !view_broke(view))
		       ? ns_seconds(in->now - late.began_ns)
		       : 0;
}

/* A program that knows nothing of hangar has the time of its kind of wait, before a verdict. */
static void be_patient(struct decide_state *s, const struct decide_input *in,
		       const struct answer *verdict, struct decision *d)
{
	const struct rank_view *longest = longest_wait(s, in);
	double waited = longest ? longest->waited - longest->grace : 0;
	double late = longest ? usual_late(&s->usual[view_wait_kind(longest)], longest->completed,
					   s->config.patience.late)
			      : 0;
	/* left behind by a rank that has ended: a verdict only if that lacks a call; else it has work of its own to do */
	bool left = longest && !longest->waiting && view_lost_peer(longest);
	struct patience patience = s->config.patience;
	enum tier tier;

	if (rank_list_count(verdict->ranks) == 0 && any_in_init(s, in))
		patience.hang *= decide_times.start_times;
	tier = tier_of(&patience, verdict->class, waited, steps_still(s, in), late);
	if (!longest || s->death_ns || s->error_ns || any_gone(in, verdict->ranks) ||
	    (tier == TIER_VERDICT && !left &&
	     (class_is_final(verdict->class) ||
	      (!extension_goes_on(s, in, "-") && !all_work(s, in, verdict->ranks)))))
		return;
	traced_until(s, in, verdict);
	*d = (struct decision){ .action = DECIDE_EXTEND,
				.extension_ns = (uint64_t)(s->config.patience.look * 1e9) };
	d->late = tier != TIER_WAIT && !left && late_is_due(s, in, longest, waited, verdict);
	d->usual_s = usual_p99(&s->usual[view_wait_kind(longest)], longest->completed);
	s->extension = (struct extension){ .until_ns = in->now + d->extension_ns,
					   .since_ns = in->now,
					   .traced_ns = s->extension.traced_ns,
					   .rank = longest->rank,
					   .wait_ns = longest->since_ns };
}

struct decision decide_answer(struct decide_state *s, const struct decide_input *in,
			      enum diagnosis_result result, struct answer *verdict)
{
	struct decision d = { .action = DECIDE_END };
	bool lost = any_lost(s) || (result == DIAGNOSIS_NAMED && class_is_lost(verdict->class));

	if (verdict->outcome == OUTCOME_HANG && !lost) {
		uint64_t before = s->extension.traced_ns;

		if (s->config.patience.hang > 0)
			be_patient(s, in, verdict, &d);
		else if (result != DIAGNOSIS_NAMED && init_dismiss(s, in))
			d = (struct decision){ .action = DECIDE_ARRIVALS,
					       .arrivals = ARRIVALS_DISMISSED };
		else if (result != DIAGNOSIS_NOT_ASKED &&
			 extend(s, in, result == DIAGNOSIS_UNEXPLAINED, verdict)) {
			d = (struct decision){ .action = DECIDE_EXTEND,
					       .extension_ns = s->extension.until_ns - in->now,
					       .starved = starved_is_due(s, in) };
		}
		d.traced = d.action == DECIDE_EXTEND && s->extension.traced_ns != before;
	}
	if (d.action == DECIDE_END)
		hosts_blame_held(s, in, verdict);
	s->stage = d.action == DECIDE_END ? STAGE_END : STAGE_WATCH;
	return d;
}

/* ---- the root, or a host by itself ---- */

/* Returns true if a death may be behind the error, or others may follow those signalled. */
static bool awaits_death(const struct decide_state *s, uint64_t now)
{
	if (s->death_ns && !s->crashed)
		return now < s->death_ns + (uint64_t)(s->config.patience.look * 1e9);
	return !s->death_ns && now < s->error_until;
}

/* Returns true if what else may be wrong had its time to come in. */
static bool is_settled(const struct decide_state *s, uint64_t now)
{
	if (s->death_ns)
		return now >= s->death_ns + decide_times.settle_ns && !awaits_death(s, now);
	return now >= s->stage_until && !awaits_death(s, now);
}

/* - All are done: the end.
 * - Hosts are still to be heard of for the first time: a wait here says nothing yet.
 * - Time that was given is over, or something is wrong: it settles. But while time is given for
 *   a wait, only what no waiting will repair counts.
 * - Else the ranks may have to be counted at communicator init. */
static struct decision watch(struct decide_state *s, const struct decide_input *in, bool abnormal)
{
	uint64_t until = s->extension.until_ns; /* 0: no time was given */
	bool extended = in->now < until && !is_worse(s, in) && !any_lost(s);

	if (all_done(in))
		return conclude(s, in);
	if (abnormal && !is_worse(s, in) && !any_lost(s) && hosts_absent(s, in))
		return nothing;
	if ((until == 0 || in->now < until) && (!abnormal || extended))
		return init_lead(s, in);
	s->stage = STAGE_SETTLE;
	s->stage_until = in->now + decide_times.settle_ns;
	s->extension.until_ns = 0;
	return (struct decision){ .action = DECIDE_PREPARE };
}

/* Returns true while an overdue rank may wait for a connection that has not repeated since a
 * host is heard of again. TCP repeats later each time: at most as late again as nothing passed.
 * A wait that is older, and what no waiting repairs, do not count. */
static bool is_healing(const struct decide_state *s, const struct decide_input *in)
{
	const struct rank_view *longest = longest_wait(s, in);
	uint64_t again = s->healed_gap_ns + decide_times.progress_ns;

	return longest && s->healed_ns && in->now < s->healed_ns + again &&
	       longest->waited < ns_seconds(s->healed_gap_ns + again) && !all_done(in) &&
	       !is_worse(s, in) && !any_lost(s);
}

static struct decision lead(struct decide_state *s, const struct decide_input *in)
{
	bool abnormal = any_lost(s) || abnormal_anywhere(s, in, s->config.deadlines);

	/* members leave a leader that is held within so long of each other */
	if (proc_hold_hint(in->leader.hold) &&
	    in->now < s->opened_ns + 2 * decide_times.watchers_look_ns)
		return nothing;
	if (s->stage < STAGE_DIAGNOSE && is_told(s, in)) {
		s->stage = STAGE_WATCH;
		return all_ended(s, in) ? conclude(s, in) : nothing;
	}
	/* a first error has just been seen: a death may be behind it, unless a rank here had hung before */
	if (s->error_ns && !s->error_until)
		s->error_until = s->error_ns + (any_overdue(s) ? 0 : decide_times.error_ns);
	if (in->ending && any_lost(s) && s->stage < STAGE_DIAGNOSE)
		return conclude(s, in);
	if (s->stage <= STAGE_QUERY && is_healing(s, in)) {
		s->stage = STAGE_WATCH;
		return nothing;
	}
	switch (s->stage) {
	case STAGE_WATCH:
		return watch(s, in, abnormal);
	case STAGE_SETTLE:
		if (!is_settled(s, in->now))
			return nothing;
		s->stage = STAGE_QUERY;
		/* a death is certain; everything else may look different once the other hosts have answered */
		s->stage_until = in->now + (s->death_ns ? decide_times.query_ns
					    : s->config.partition_seconds > 0
						    ? (uint64_t)(s->config.partition_seconds * 1e9)
						    : decide_times.root_saves_ns);
		return (struct decision){ .action = DECIDE_QUERY };
	case STAGE_QUERY:
		if (!all_answered(s, in) && !(s->death_ns && in->now > s->stage_until))
			return nothing;
		if (!awaits_death(s, in->now))
			return conclude(s, in);
		s->stage = STAGE_SETTLE; /* an answer reported the error */
		return nothing;
	default:
		return nothing;
	}
}

/* ---- a leader elsewhere ---- */

/* Returns true if the root should look: a rank here has died or erred, or passed a deadline, or is well again; ranks here
 * begin or cease to wait for others at init, or in a first call; a watcher is lost. */
static bool is_news(struct decide_state *s)
{
	uint64_t before = s->told;

	s->told = s->nranks + s->init.overdue;
	for (size_t i = 0; i < s->nranks; i++) {
		const struct rank_view *v = &s->ranks[i].view;
		const uint32_t facts[] = { (uint32_t)v->process, (uint32_t)v->outcome, v->overdue,
					   v->lost, view_broke(v) };

		s->told = 31 * s->told + record_hash_id(facts, sizeof(facts));
	}
	return s->told != before;
}

/* Without the root this host ends by its own decision, unless it is done. While the root is
 * heard of it is waited for: it may wait for others. */
static struct decision follow(struct decide_state *s, const struct decide_input *in)
{
	if (in->orders.collects)
		s->saves_until = in->now + decide_times.root_saves_ns;
	if (s->hosts[0].lost || in->launcher.hold == HOLD_GONE)
		return conclude(s, in);
	return (struct decision){ .action = is_news(s) ? DECIDE_REPORT : DECIDE_NOTHING };
}

/* The first two waits of each rank may be set-up. */
static void note_waits(struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < in->nranks; i++) {
		const struct rank_track *t = &s->ranks[i].track;
		uint64_t ended = t->wait_since_ns;

		if (ended && ended != in->ranks[i].view.since_ns && s->last_ns > ended)
			usual_add(&s->usual[t->wait_kind], ns_seconds(s->last_ns - ended),
				  2 * in->nranks);
	}
}

/* A rank that goes on all the same is told no more. */
static void mark_told(struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < in->nranks; i++) {
		uint64_t told = in->ranks[i].told_ns;

		s->ranks[i].view.told =
			told && s->ranks[i].track.progressed_ns < told + decide_times.told_ns;
	}
}

struct decision decide(struct decide_state *s, const struct decide_input *in)
{
	bool paused = in->now - s->last_ns > decide_times.pause_ns;
	struct decision d;

	if (s->nranks < in->nranks) {
		s->ranks = must(realloc(s->ranks, in->nranks * sizeof(*s->ranks)));
		memset(&s->ranks[s->nranks], 0, (in->nranks - s->nranks) * sizeof(*s->ranks));
	}
	s->nranks = in->nranks;
	for (size_t i = 0; i < in->nranks; i++)
		s->ranks[i].view = in->ranks[i].view;
	note_waits(s, in);
	init_follow(s, &in->orders);
	overdue_mark(s, in, steps_look(s, in, paused ? s->last_ns : in->now));
	mark_told(s, in);
	s->crashed &= s->config.patience.hang <=
		      0; /* whether a rank was told is known later than its end */
	note_ends(s, &s->ranks->view, sizeof(*s->ranks), s->nranks, in);
	for (size_t i = 0; i < in->nhosts; i++)
		note_ends(s, in->hosts[i].views, sizeof(struct rank_view), in->hosts[i].nviews, in);
	if (paused)
		s->looked_from_ns = in->now;
	if (paused && in->nhosts > 0 && s->stage == STAGE_QUERY) {
		s->stage = STAGE_SETTLE; /* answers are old, or had no time */
		s->stage_until = in->now + decide_times.settle_ns;
	}
	if (s->known_ns == 0 && in->job_hosts > 1)
		s->known_ns = in->now;
	hosts_look(s, in);
	s->last_ns = in->now;
	d = in->follows ? follow(s, in) : lead(s, in);
	d.came_s = late_came(s, in);
	return d;
}
