/* decide_hosts.c: which hosts are heard of, and what silence comes to. Views of a silent host
 * are stale, so no verdict about ranks is made meanwhile: either the host is heard of again, or
 * the verdict is about hosts. */
#include "decide/decide_hosts.h"

#include "base/error.h"
#include "decide/decide_steps.h"
#include "decide/decide_times.h"

/* Seconds become nanoseconds; 0: never. */
static uint64_t limit_ns(double seconds)
{
	return seconds > 0 ? (uint64_t)(seconds * 1e9) : UINT64_MAX;
}

/* For how long nothing came, without time in which this leader or the other was busy. */
static uint64_t silence_of(const struct decide_state *s, const struct decide_host *host,
			   uint64_t now)
{
	uint64_t from = host->heard_ns > s->looked_from_ns ? host->heard_ns : s->looked_from_ns;

	from = from > s->saves_until ? from : s->saves_until;
	return host->ended_ns == 0 && now > from ? now - from : 0;
}

/* Says of a silent host what its connection shows. A leader whose datagrams come is not held. A
 * kernel that sends and whose acknowledgements are missing repeats itself: the way here is open,
 * the way there is not. */
static enum view_lost why_silent(const struct decide_host *host)
{
	if (host->small_passes)
		return LOST_LARGE;
	if (host->answers)
		return host->sends_datagrams ? LOST_SILENT : LOST_STALLED;
	if (host->there == PATH_LOST)
		return LOST_ONE_WAY;
	return host->arrived_ns > host->heard_ns + decide_times.one_way_ns ? LOST_ONE_WAY
									   : LOST_SILENT;
}

static enum view_lost look_at(const struct decide_state *s, const struct decide_input *in,
			      const struct decide_host *host, uint64_t silence, bool quiet)
{
	bool asked_in_vain = s->stage == STAGE_QUERY && in->now > s->stage_until &&
			     !host->answered && !s->death_ns;

	if (host->done)
		return LOST_NOT;
	if (host->ended_ns && s->config.patience.hang == 0)
		return (in->ending ? !host->left
				   : in->now - host->ended_ns >= decide_times.come_again_ns)
			       ? LOST_MONITOR
			       : LOST_NOT;
	if (host->ended_ns) /* a preloaded program runs on without */
		return quiet && in->now - host->heard_ns >= limit_ns(s->config.partition_seconds)
			       ? LOST_MONITOR
			       : LOST_NOT;
	if (asked_in_vain)
		return silence > decide_times.progress_ns ? why_silent(host) : LOST_STALLED;
	if (host->sends_datagrams && host->here == PATH_OPEN)
		return LOST_NOT; /* its datagrams are heartbeats, too, where TCP waits to repeat its own */
	if (!quiet || silence < limit_ns(s->config.partition_seconds))
		return LOST_NOT;
	/* both see that alike: the root is first to say it, and ends the job */
	if (in->follows && host->small_passes &&
	    silence - limit_ns(s->config.partition_seconds) < decide_times.root_saves_ns)
		return LOST_NOT;
	return why_silent(host);
}

static void note_news(const struct decide_state *s, const struct decide_host *host,
		      struct host_state *state, uint64_t silence, uint64_t now)
{
	bool silent = !host->done && silence >= limit_ns(s->config.silent_seconds);

	state->news = NEWS_NONE;
	if (silent && !state->silent_ns) {
		state->silent_ns = now - silence;
		state->news = NEWS_SILENT;
	} else if (!silent && state->silent_ns && !host->ended_ns) {
		state->news = NEWS_HEARD;
		state->silence_s = ns_seconds(host->heard_ns - state->silent_ns);
		state->silent_ns = 0;
	}
	if (silent)
		state->silence_s = ns_seconds(silence);
	if (host->ended_ns == now && s->config.patience.hang > 0 && !host->done)
		state->news = NEWS_UNWATCHED;
}

static enum view_lost lost_with(const struct decide_watcher *w, uint64_t now, uint64_t limit)
{
	if (w->hold == HOLD_GONE)
		return LOST_MONITOR;
	return w->hold && now - w->since_ns >= limit ? LOST_HELD : LOST_NOT;
}

/* A supervisor counts as lost that has been held for `limit`, the launcher for `launcher_limit`. */
static void look_here(struct decide_state *s, const struct decide_input *in, uint64_t limit,
		      uint64_t launcher_limit)
{
	enum view_lost all = lost_with(&in->leader, in->now, limit),
		       launcher = lost_with(&in->launcher, in->now, launcher_limit);

	if (launcher == LOST_MONITOR)
		launcher = LOST_LAUNCHER;
	all = launcher > all ? launcher : all;
	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_view *view = &s->ranks[i].view;
		enum view_lost own = view_finished(view)
					     ? LOST_NOT
					     : lost_with(&in->ranks[i].supervisor, in->now, limit);

		view->lost = own > all ? own : all;
		view->reported = view->lost != LOST_NOT; /* its memory is read here */
	}
}

/* A report of another host about its own watchers stands; the view of it from here is made anew. */
static void look_there(struct decide_state *s, const struct decide_input *in, size_t i, bool quiet)
{
	const struct decide_host *host = &in->hosts[i];
	struct host_state *state = &s->hosts[i];
	uint64_t silence = silence_of(s, host, in->now);

	note_news(s, host, state, silence, in->now);
	if (silence >= decide_times.progress_ns) {
		state->gap_ns = silence;
	} else if (state->gap_ns) {
		s->healed_ns = in->now;
		s->healed_gap_ns = state->gap_ns;
		state->gap_ns = 0;
	}
	state->lost = state->cut = look_at(s, in, host, silence, quiet);
	for (size_t k = 0; k < host->nviews && !state->cut; k++)
		if (host->views[k].reported && host->views[k].lost > state->lost)
			state->lost = host->views[k].lost;
}

/* The states of hosts follow the order of the input, by id. */
static void follow_hosts(struct decide_state *s, const struct decide_input *in)
{
	struct host_state *old = s->hosts;
	size_t nold = s->nhosts, at = 0;

	s->hosts = must(calloc(in->nhosts + 1, sizeof(*s->hosts)));
	s->nhosts = in->nhosts;
	for (size_t i = 0; i < in->nhosts; i++) {
		size_t left = nold;

		for (; left > 0 && old[at].id != in->hosts[i].id; left--)
			at = (at + 1) % nold;
		if (left > 0)
			s->hosts[i] = old[at];
		s->hosts[i].id = in->hosts[i].id;
	}
	free(old);
}

/* Ranks that make steps are no part of a hang, whichever host is silent. */
void hosts_look(struct decide_state *s, const struct decide_input *in)
{
	bool quiet = s->config.deadlines && steps_quiet(s, in);
	uint64_t limit = limit_ns(s->config.partition_seconds);

	follow_hosts(s, in);
	/* the launcher counts however well the ranks are: the run's end comes to its user through it */
	look_here(s, in, quiet ? limit : UINT64_MAX, s->config.deadlines ? limit : UINT64_MAX);
	for (size_t i = 0; i < in->nhosts; i++)
		look_there(s, in, i, quiet);
}

void hosts_say(const struct decide_state *s, const struct decide_input *in, size_t host,
	       struct rank_view *view)
{
	const struct host_state *state = &s->hosts[host];

	view->silent = ns_seconds(silence_of(s, &in->hosts[host], in->now));
	if (state->cut || !view->reported)
		view->lost = state->lost;
}

enum view_lost hosts_worst(const struct decide_state *s)
{
	enum view_lost worst = LOST_NOT;

	for (size_t i = 0; i < s->nhosts; i++)
		worst = s->hosts[i].lost > worst ? s->hosts[i].lost : worst;
	for (size_t i = 0; i < s->nranks; i++)
		worst = s->ranks[i].view.lost > worst ? s->ranks[i].view.lost : worst;
	return worst;
}

bool hosts_lost_here(const struct decide_state *s)
{
	for (size_t i = 0; i < s->nranks; i++)
		if (s->ranks[i].view.lost)
			return true;
	return false;
}

/* Other hosts take part in the run, and are not connected yet. */
bool hosts_absent(const struct decide_state *s, const struct decide_input *in)
{
	return in->job_hosts > 1 && in->nhosts < in->expected_hosts &&
	       in->now - s->known_ns < limit_ns(s->config.partition_seconds);
}

static void add_name(struct answer *verdict, const char *name)
{
	text_add(verdict->hosts, sizeof(verdict->hosts), "%s%s", verdict->hosts[0] ? "," : "",
		 name[0] ? name : "?");
}

/* A death on a host that is heard of explains more than what no host sees. */
static bool any_death_seen(const struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < s->nranks; i++)
		if (view_died(&s->ranks[i].view) && !s->ranks[i].view.lost)
			return true;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++) {
			const struct rank_view *view = &in->hosts[i].views[k];

			if (view_died(view) && !s->hosts[i].cut && !(view->reported && view->lost))
				return true;
		}
	return false;
}

/* Adds the hosts that are lost, and the direction in which something is known not to pass.
 * Returns for how many seconds nothing has come. */
static double name_hosts(const struct decide_state *s, const struct decide_input *in,
			 struct answer *verdict)
{
	double seconds = 0;

	if (hosts_lost_here(s))
		add_name(verdict, in->name);
	for (size_t i = 0; i < in->nhosts; i++) {
		const struct decide_host *host = &in->hosts[i];

		if (s->hosts[i].lost == LOST_NOT)
			continue;
		if (s->hosts[i].lost != LOST_LARGE) /* it is neither end's */
			add_name(verdict, host->name);
		if (s->hosts[i].lost == LOST_ONE_WAY || s->hosts[i].lost == LOST_LARGE)
			snprintf(verdict->pair, sizeof(verdict->pair), "%.60s>%.60s", in->name,
				 host->name);
		seconds = fmax(seconds, ns_seconds(in->now - host->heard_ns));
	}
	return seconds;
}

/* Names the watcher of this host that is lost, and how. */
static void name_watcher(const struct decide_input *in, char *text, size_t len)
{
	static const char *const hows[] = { [HOLD_NONE] = "",
					    [HOLD_STOPPED] = "is stopped",
					    [HOLD_TRACED] = "is held by a debugger",
					    [HOLD_FROZEN] = "is frozen",
					    [HOLD_GONE] = "is gone" };
	const struct decide_watcher *w = in->launcher.hold ? &in->launcher : &in->leader;
	char what[32];

	snprintf(what, sizeof(what), in->launcher.hold ? "the launcher" : "the monitor");
	for (size_t i = 0; i < in->nranks && !w->hold; i++) {
		w = &in->ranks[i].supervisor;
		snprintf(what, sizeof(what), "the supervisor of rank %d", in->ranks[i].view.rank);
	}
	if (w->hold)
		snprintf(text, len, "%s (pid %d) %s", what, w->pid, hows[w->hold]);
}

void hosts_verdict(const struct decide_state *s, const struct decide_input *in,
		   struct answer *verdict)
{
	enum view_lost worst = hosts_worst(s);
	double seconds;

	/* a host that was never heard of had its time; not where this leader has only just begun */
	for (size_t i = in->nhosts; verdict->outcome == OUTCOME_HANG && i < in->expected_hosts &&
				    in->leader.hold == HOLD_NONE;
	     i++) {
		add_name(verdict, "");
		worst = worst == LOST_NOT ? LOST_SILENT : worst;
	}
	seconds = name_hosts(s, in, verdict);
	if (worst == LOST_NOT || any_death_seen(s, in))
		return;
	verdict->outcome = outcome_worse(verdict->outcome,
					 worst >= LOST_MONITOR ? OUTCOME_DIED : OUTCOME_HANG);
	verdict->class = class_of_lost(worst);
	verdict->confidence = worst == LOST_SILENT  ? CONFIDENCE_INCONCLUSIVE
			      : worst == LOST_LARGE ? CONFIDENCE_MAJORITY
						    : CONFIDENCE_PROVED;
	verdict->side = worst == LOST_SILENT		    ? SIDE_UNKNOWN
			: verdict->class == CLASS_PARTITION ? SIDE_FABRIC
							    : SIDE_HOST;
	if (seconds > 0)
		verdict->detect_ms = seconds * 1e3;
	snprintf(verdict->ranks, sizeof(verdict->ranks), "-");
	if (hosts_lost_here(s))
		name_watcher(in, verdict->doing, sizeof(verdict->doing));
}

bool hosts_blame_held(struct decide_state *s, const struct decide_input *in, struct answer *verdict)
{
	if (verdict->outcome != OUTCOME_HANG || strcmp(verdict->ranks, "-") != 0 ||
	    hosts_worst(s) != LOST_NOT)
		return false;
	look_here(s, in, decide_times.watcher_ns, decide_times.watcher_ns);
	if (!hosts_lost_here(s))
		return false;
	hosts_verdict(s, in, verdict);
	verdict->nnotes = 0;
	return true;
}
