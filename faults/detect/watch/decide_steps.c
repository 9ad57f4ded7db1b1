/* decide_steps.c: whether ranks of this host make steps, and whether the host lets them run.
 * Keeps a busy host from looking like a hang. */
#include "watch/decide_steps.h"

#include "watch/decide_times.h"

/* ---- steps ---- */

static void note_heartbeat(struct rank_track *t, uint64_t heartbeat, uint64_t now)
{
	if (t->progressed_ns != 0 && heartbeat == t->heartbeat)
		return;
	t->heartbeat = heartbeat;
	t->progressed_ns = now;
}

bool steps_lately(const struct rank_state *rank, uint64_t now)
{
	return now - rank->track.progressed_ns < decide_times.progress_ns;
}

double steps_still(const struct decide_state *s, const struct decide_input *in)
{
	uint64_t last = 0;

	for (size_t i = 0; i < in->nranks; i++)
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
	/* the time in the queue is brought up to date when the process runs again: none, for one
	 * that never does */
	return ran_ns * decide_times.starved_ran_part < window_ns &&
	       (queued_ns * decide_times.starved_queued_part > window_ns ||
		(ready && queued_ns == 0));
}

static void add_window(struct rank_track *t, const struct rank_account *account, uint64_t window)
{
	uint64_t ran = account->ran_ns - t->ran_ns, queued = account->queued_ns - t->queued_ns;

	t->starved = steps_starved(ran, queued, window, account->ready);
	/* what is accounted at the end of a long wait lies in part before the window */
	t->queued_watched_ns += t->starved || queued > window ? window : queued;
	t->watched_ns += window;
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
	t->ran_ns = account->ran_ns;
	t->queued_ns = account->queued_ns;
}

/* Returns true if accounts are looked at: a rank here waits, or a census was taken. Earlier
 * windows count for nothing then. */
static bool someone_waits(const struct decide_state *s, const struct decide_input *in)
{
	for (size_t i = 0; i < in->nranks; i++)
		if (in->ranks[i].view.process < PROCESS_EXITED &&
		    in->ranks[i].view.waited > ns_seconds(decide_times.watch_after_ns))
			return true;
	return s->init.counted;
}

/* On several hosts no leader knows whether ranks wait elsewhere. */
static bool always_looked_at(const struct decide_input *in)
{
	return in->job_hosts > 1;
}

bool decide_wants_account(const struct decide_state *s, const struct decide_input *in, size_t rank)
{
	return in->ranks[rank].view.process == PROCESS_ALIVE &&
	       (rank >= s->nranks || window_over(&s->ranks[rank].track, in->now)) &&
	       (always_looked_at(in) || someone_waits(s, in));
}

/* Returns whether the host keeps some rank from running. */
static bool take_accounts(struct decide_state *s, const struct decide_input *in)
{
	bool waiting = someone_waits(s, in), starved = false;

	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_track *t = &s->ranks[i].track;

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

/* ---- a look ---- */

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

static bool starved_lately(const struct rank_track *t, uint64_t now)
{
	return t->starved_ns && now - t->starved_ns < decide_times.starved_lately_ns;
}

bool steps_look(struct decide_state *s, const struct decide_input *in, uint64_t paused_from)
{
	bool starved;

	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_state *rank = &s->ranks[i];

		add_grace(rank, paused_from, in->now);
		if (rank->view.process < PROCESS_EXITED)
			note_heartbeat(&rank->track, rank->view.heartbeat, in->now);
	}
	starved = take_accounts(s, in);
	if (starved)
		s->starved_ns = in->now;
	for (size_t i = 0; i < in->nranks; i++) {
		struct rank_state *rank = &s->ranks[i];

		rank->view.progressed = steps_lately(rank, in->now);
		rank->view.descheduled = steps_descheduled(rank) || rank->view.progressed;
		rank->view.starved = starved_lately(&rank->track, in->now);
	}
	return starved;
}
