/* decide_steps.c: whether ranks of this host make steps, whether the host lets them run, and which
 * are overdue. A rank's deadline is its own. A busy host makes it later; ranks that never come to
 * communicator init, and settings that differ, make it sooner. */
#include "decide/decide_steps.h"

#include "base/dtype.h"
#include "process/watch.h"
#include "decide/decide_init.h"
#include "decide/decide_times.h"

/* ---- steps ---- */

bool steps_lately(const struct rank_state *rank, uint64_t now)
{
	return now - rank->track.progressed_ns < decide_times.progress_ns;
}

double steps_still(const struct decide_state *s, const struct decide_input *in)
{
	uint64_t last = 0;

	for (size_t i = 0; i < in->nranks && i < s->nranks; i++)
		if (s->ranks[i].view.process < PROCESS_EXITED &&
		    s->ranks[i].track.progressed_ns > last)
			last = s->ranks[i].track.progressed_ns;
	return ns_seconds(in->now - last);
}

bool steps_quiet(const struct decide_state *s, const struct decide_input *in)
{
	return steps_still(s, in) >= ns_seconds(decide_times.progress_ns);
}

/* ---- the scheduler's account ---- */

bool steps_starved(uint64_t ran_ns, uint64_t queued_ns, uint64_t window_ns, bool ready)
{
	/* the time in the queue is brought up to date when the process runs again */
	return ran_ns * decide_times.starved_ran_part < window_ns &&
	       (queued_ns * decide_times.starved_queued_part > window_ns ||
		(ready && queued_ns == 0));
}

static void add_window(struct rank_track *t, const struct rank_account *account, uint64_t window)
{
	uint64_t ran = account->used.ran_ns - t->used.ran_ns,
		 queued = account->used.waited_ns - t->used.waited_ns;

	uint64_t bytes = account->moved > t->moved ? account->moved - t->moved : 0;
	bool moves = bytes * 1000 >= decide_times.work_bytes * (window / MS),
	     runs = 2 * ran > window && t->place && account->place && t->place != account->place;

	t->starved = steps_starved(ran, queued, window, account->ready);
	if (moves || ran * decide_times.idle_ran_part > window)
		t->active_ns = t->sampled_ns + window;
	if (moves || runs)
		t->works_ns = t->sampled_ns + window;
	/* what is accounted at the end of a long wait lies in part before the window */
	queued = t->starved || queued > window ? window : queued;
	t->queued_watched_ns += queued;
	t->watched_ns += window;
	if (t->lately_ns > decide_times.starvation_ns) {
		t->lately_ns /= 2;
		t->had_ns /= 2;
	}
	t->lately_ns += window;
	t->had_ns += account->ready || 2 * queued > window ? ran : window - queued;
}

static bool window_over(const struct rank_track *t, uint64_t now)
{
	return t->sampled_ns == 0 || now - t->sampled_ns >= decide_times.window_ns;
}

static void take_account(struct rank_track *t, const struct rank_account *account, uint64_t now)
{
	if (!account->known || !window_over(t, now))
		return;
	if (t->sampled_ns != 0)
		add_window(t, account, now - t->sampled_ns);
	if (t->starved)
		t->starved_ns = now;
	t->sampled_ns = now;
	t->used = account->used;
	t->moved = account->moved;
	t->place = account->place;
}

/* Returns true if accounts are looked at: a rank here waits, or a census was taken, or no rank of a preloaded program has
 * made a step for a second. Earlier windows count for nothing then. */
static bool someone_waits(const struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.process < PROCESS_EXITED &&
		    in->ranks[i].view.waited > ns_seconds(decide_times.watch_after_ns))
			return true;
	return s->init.counted || (s->config.patience.hang > 0 && steps_still(s, in) > 1);
}

/* On several hosts no leader knows whether ranks wait elsewhere. */
static bool always_looked_at(const struct decide_input *in)
{
	return in->job_hosts > 1;
}

bool decide_wants_account(const struct decide_state *s, const struct decide_input *in, size_t rank)
{
	const struct rank_view *view = &in->ranks[rank].view;

	return view->process <= PROCESS_STOPPED &&
	       (rank >= s->nranks || window_over(&s->ranks[rank].track, in->now)) &&
	       (always_looked_at(in) || view->process == PROCESS_STOPPED || someone_waits(s, in));
}

/* A process that is stopped, traced or frozen runs for a moment when that begins and when it ends, and is never ready. */
static void note_run(struct rank_track *t, const struct decide_rank *rank, uint64_t now)
{
	const struct rank_account *account = &rank->account;
	bool alive = rank->view.process == PROCESS_ALIVE, in_window = t->sampled_ns;

	if (account->known ? account->used.ran_ns != t->ran_ns || (account->ready && alive)
			   : alive && !in_window)
		t->ran_seen_ns = now;
	if (!account->known)
		return;
	t->accounted = true;
	t->ran_ns = account->used.ran_ns;
	t->traced = account->traced;
	t->held = account->held;
}

/* Returns whether the host keeps some rank from running. */
static bool take_accounts(struct decide_state *s, const struct decide_input *in)
{
	bool waiting = someone_waits(s, in), starved = false;

	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_track *t = &s->ranks[i].track;

		note_run(t, &in->ranks[i], in->now);
		if (in->ranks[i].view.process != PROCESS_ALIVE)
			continue;
		if (waiting || always_looked_at(in)) {
			take_account(t, &in->ranks[i].account, in->now);
		} else { /* the next window begins with the next look */
			t->sampled_ns = 0;
			t->starved = false;
		}
		if (!waiting)
			t->watched_ns = t->queued_watched_ns = 0;
		starved |= t->starved;
	}
	return starved;
}

bool steps_descheduled(const struct rank_state *rank)
{
	const struct rank_track *t = &rank->track;

	return rank->view.process == PROCESS_ALIVE &&
	       (t->starved || t->watched_ns - t->queued_watched_ns < decide_times.own_time_ns);
}

bool steps_hardly_ran(const struct rank_state *rank)
{
	const struct rank_track *t = &rank->track;

	return rank->view.process == PROCESS_ALIVE && t->lately_ns > 0 &&
	       t->had_ns * decide_times.starved_share_part < t->lately_ns;
}

/* Time without a look is no delay of the rank, unless it was waiting already. */
static void add_grace(struct rank_state *rank, uint64_t paused_from, uint64_t now)
{
	struct rank_track *t = &rank->track;
	uint64_t since = rank->view.since_ns;

	if (since != t->wait_since_ns)
		t->grace_ns = 0;
	t->wait_since_ns = since;
	t->wait_kind = view_wait_kind(&rank->view);
	if (since != 0 && paused_from < now && since < now)
		t->grace_ns += now - (since > paused_from ? since : paused_from);
	rank->view.grace = ns_seconds(t->grace_ns);
}

bool steps_look(struct decide_state *s, const struct decide_input *in, uint64_t paused_from)
{
	double still = steps_still(s, in);
	bool starved;

	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_state *rank = &s->ranks[i];

		add_grace(rank, paused_from, in->now);
		if (rank->view.process < PROCESS_EXITED &&
		    (!rank->track.progressed_ns || rank->view.heartbeat != rank->track.heartbeat)) {
			rank->track.heartbeat = rank->view.heartbeat;
			rank->track.progressed_ns = in->now;
		}
	}
	if (steps_still(s, in) <= 0 && still < ns_seconds(in->now - s->opened_ns))
		s->longest_pause = fmax(s->longest_pause, still);
	starved = take_accounts(s, in);
	if (starved)
		s->starved_ns = in->now;
	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_state *rank = &s->ranks[i];

		rank->view.progressed = steps_lately(rank, in->now);
		rank->view.ran = (rank->track.accounted || rank->view.process == PROCESS_STOPPED) &&
				 in->now - rank->track.ran_seen_ns < decide_times.own_time_ns;
		rank->view.traced = rank->track.traced;
		rank->view.descheduled = steps_descheduled(rank) || rank->view.progressed;
		rank->view.starved =
			rank->track.starved_ns &&
			in->now - rank->track.starved_ns < decide_times.starved_lately_ns;
		rank->view.works = rank->track.works_ns &&
				   in->now - rank->track.works_ns < decide_times.works_lately_ns;
	}
	return starved;
}

/* `soonest`: what counts where a deadline is later, 0: nothing. */
static bool past_deadline(const struct rank_state *rank, uint64_t now, uint64_t soonest)
{
	const struct rank_view *view = &rank->view;
	uint64_t deadline = soonest && soonest < view->deadline_ns ? soonest : view->deadline_ns;

	if (rank->track.held && rank->track.ran_seen_ns &&
	    now - rank->track.ran_seen_ns > decide_times.held_ns)
		return true;
	return view->waiting && view->deadline_ns != 0 && now > deadline + rank->track.grace_ns;
}

/* ---- settings that differ ---- */

static bool settings_differ(const struct decide_input *in)
{
	uint64_t first = 0;

	for (size_t i = 0; i < in->nranks; i++) {
		uint64_t settings = in->ranks[i].view.settings;

		if (settings && first && settings != first)
			return true;
		first = settings ? settings : first;
	}
	return false;
}

/* The time that a rank's part of its calls takes on a slow network, with that of `nranks`. */
static uint64_t transfer_ns(const struct rank_view *view, size_t nranks)
{
	double each = view->last.dtype < DT_COUNT ? dtype_size(view->last.dtype) : 1,
	       bytes = each * (double)view->last.count * (double)view->issued * (double)nranks;

	return (uint64_t)(fmin(bytes / decide_times.settings_bytes_per_s, 1e5) * 1e9);
}

/* The time that a rank at init, or in its first call, is given where settings differ; 0: it is
 * in neither. Connections are made inside of the call, and none any more once it has returned. */
static uint64_t settings_until(const struct decide_state *s, const struct rank_view *view,
			       size_t nranks)
{
	bool init = view->comm_state == RECORD_COMM_INIT,
	     inside = view->last.state == RECORD_ISSUING;
	uint64_t from = view->since_ns;
	double part = init     ? decide_times.settings_init
		      : inside ? decide_times.settings_inside
			       : decide_times.settings_part;

	if (view->process != PROCESS_ALIVE || !view->waiting)
		return 0;
	if (!init && (view->completed > 0 || view->last.ticket == 0 ||
		      (!inside && view->device_wait != RECORD_DEVICE_AWAITED)))
		return 0;
	if (!init && !inside && view->last.returned_ns > from)
		from = view->last.returned_ns;
	return from + (uint64_t)(s->config.init_seconds * part * 1e9) +
	       (init ? 0 : transfer_ns(view, nranks));
}

/* Deadlines of init and of first calls allow for set-up. Where all ranks of a run on one host
 * are in them, with settings that differ, a hang has its first suspect, and counts from this
 * time on. 0: deadlines are as they are. */
static uint64_t settings_deadline(const struct decide_state *s, const struct decide_input *in)
{
	uint64_t latest = 0;
	int waiting = 0;

	if (s->config.init_seconds <= 0 || !settings_differ(in))
		return 0;
	for (size_t i = 0; i < in->nranks; i++) {
		const struct rank_view *view = &in->ranks[i].view;
		uint64_t until = settings_until(s, view, in->nranks);

		if (view->rank < 0)
			continue;
		if (until == 0)
			return 0;
		latest = until > latest ? until : latest;
		waiting++;
	}
	return waiting == in->job_ranks ? latest : 0;
}

/* Tells whether a living rank is past its deadline, and whether some rank made a step lately. */
static void survey(const struct decide_state *s, const struct decide_input *in, uint64_t soonest,
		   bool *late, bool *moving)
{
	*late = *moving = false;
	for (size_t i = 0; i < in->nranks; i++) {
		if (s->ranks[i].view.process >= PROCESS_EXITED)
			continue;
		*late |= past_deadline(&s->ranks[i], in->now, soonest);
		*moving |= steps_lately(&s->ranks[i], in->now);
	}
}

/* Has made fewer calls than another, is in none, and could run. */
static bool is_free_to_call(const struct rank_state *rank, uint64_t most)
{
	const struct rank_view *view = &rank->view;
	bool calling = view->phase == PHASE_WARMUP || view->phase == PHASE_TIMED;

	return view->process < PROCESS_EXITED && calling && view->issued > 0 &&
	       view->issued < most && view->completed == view->issued &&
	       view->last.state != RECORD_ISSUING && !steps_descheduled(rank);
}

/* The others may wait for just such a rank, which the host lets run. On several hosts: unknown. */
static bool any_free_to_call(const struct decide_state *s, const struct decide_input *in)
{
	uint64_t most = 0;

	if (in->job_hosts > 1)
		return false;
	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.issued > most)
			most = in->ranks[i].view.issued;
	for (size_t i = 0; i < in->nranks; i++)
		if (is_free_to_call(&s->ranks[i], most))
			return true;
	return false;
}

/* A deadline that passed is no hang
 * - while a rank of this host has made a step lately;
 * - for five seconds, while the host keeps a rank from running: unless another one is free to
 *   make the call that it did not make. Then the diagnoser names the rank that the others wait
 *   for. */
static bool deadlines_stand(struct decide_state *s, const struct decide_input *in, bool starved,
			    uint64_t soonest)
{
	bool late, moving;

	survey(s, in, soonest, &late, &moving);
	if (!late || moving)
		s->overdue_ns = in->now;
	if (moving)
		return false;
	return !starved || in->now - s->overdue_ns > decide_times.starvation_ns ||
	       any_free_to_call(s, in);
}

/* Returns true if all ranks of a preloaded program, on one host, are outside of calls and idle for longer than ever. */
static bool all_idle(const struct decide_state *s, const struct decide_input *in)
{
	double most = fmax(s->config.patience.hang, 2 * s->longest_pause);

	if (s->config.patience.hang <= 0 || in->job_hosts > 1 || in->nranks < 2 ||
	    steps_still(s, in) < most)
		return false;
	for (size_t i = 0; i < in->nranks; i++) {
		const struct rank_view *view = &s->ranks[i].view;

		if (view->process != PROCESS_ALIVE || view->waiting || !view->last.ticket ||
		    ns_seconds(in->now - s->ranks[i].track.active_ns) < most)
			return false;
	}
	return true;
}

static bool any_ended(const struct decide_state *s, const struct decide_input *in)
{
	bool any = false;

	for (size_t i = 0; i < in->nranks; i++)
		any |= s->ranks[i].view.process >= PROCESS_EXITED;
	for (size_t i = 0; i < in->nhosts; i++)
		for (size_t k = 0; k < in->hosts[i].nviews; k++)
			any |= in->hosts[i].views[k].process >= PROCESS_EXITED;
	return any;
}

/* Returns true if the rank has lost its connection to a rank that has ended, however well, and stays: it is in no call any
 * more, and makes no step. It waits as if it were. */
static bool is_left_behind(const struct decide_state *s, const struct decide_input *in,
			   const struct rank_state *rank)
{
	uint64_t look = (uint64_t)(s->config.patience.look * 1e9);

	return s->config.patience.hang > 0 && rank->view.process == PROCESS_ALIVE &&
	       !rank->view.waiting && view_lost_peer(&rank->view) &&
	       in->now - rank->track.progressed_ns > look && any_ended(s, in);
}

void overdue_mark(struct decide_state *s, const struct decide_input *in, bool starved)
{
	uint64_t soonest = settings_deadline(s, in);
	bool stand = deadlines_stand(s, in, starved, soonest);
	enum arrivals how = init_look(s, in);
	bool never = arrivals_never(how), idle = all_idle(s, in);

	s->init.marked = false;
	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_view *view = &s->ranks[i].view;
		bool held = (never && progress_held_up(view, how)) ||
			    init_abandoned(s, in, &s->ranks[i]);

		bool left = is_left_behind(s, in, &s->ranks[i]);

		if (left) {
			view->since_ns = s->ranks[i].track.progressed_ns;
			view->waited = ns_seconds(in->now - view->since_ns);
		}
		s->init.marked |= held;
		view->overdue = held || idle || left ||
				(stand && past_deadline(&s->ranks[i], in->now, soonest));
	}
}
