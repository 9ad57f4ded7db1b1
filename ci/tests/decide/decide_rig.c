/* decide_rig.c: the world that decide() looks at in rows: ranks, hosts, messages, a clock. */
#include "decide/decide_rig.h"

#include "base/dtype.h"
#include "process/watch.h"
#include "rig/unit.h"
#include "decide/decide.h"
#include "decide/decide_rows.h"
#include "decide/decide_times.h"

#define START_MS 1000000 /* of the hosts' clock, when a row begins */

enum { RANKS = 8, HOSTS = 4, TICK = 20 };

/* A rank as it is, at any look. */
struct actor {
	int host, place, beat_every, beat_until, turn_every, turn_until, turn_from;
	enum act runs; /* SLEEPS STARVES SHARES */
	uint64_t ran_ns, queued_ns;
	int since; /* ms, of the wait */
	bool traced;
};

struct host {
	struct decide_state state;
	struct decide_rank ranks[RANKS];
	size_t nranks;
	int paused_until;
	bool mute, asked, ended;
	int cut_until;		 /* nothing passes between it and the root */
	int passes;		 /* what does all the same: see IS_CUT */
	struct decide_host root; /* as it sees it */
	struct decide_watcher launcher;
	bool ending;
	struct decide_orders orders;  /* for the next tick */
	struct rank_view told[RANKS]; /* to the root */
};

struct world {
	const struct row *row;
	int now, nhosts, nranks;
	struct actor actors[RANKS];
	struct host hosts[HOSTS];
	struct decide_host others[HOSTS]; /* as the root sees them; others[0] is host 1 */
	int looks, last_look, gap_max, censuses, reports, ended_at;
	struct answer verdict;
	char overdue[RANKS + 1];
};

static uint64_t clock_at(int ms)
{
	return (uint64_t)(START_MS + ms) * MS;
}

static struct decide_rank *rank_of(struct world *w, int rank)
{
	return &w->hosts[w->actors[rank].host].ranks[w->actors[rank].place];
}

/* ---- ranks ---- */

static void enter(struct world *w, int rank, int deadline)
{
	struct rank_view *v = &rank_of(w, rank)->view;

	v->heartbeat++;
	v->waiting = 1;
	v->since_ns = clock_at(w->now);
	v->deadline_ns = deadline ? clock_at(w->now + deadline) : 0;
	w->actors[rank].since = w->now;
}

static void leave(struct rank_view *v)
{
	v->heartbeat++;
	v->waiting = v->working = 0;
	v->since_ns = v->deadline_ns = 0;
	v->waited = 0;
}

static void ends(struct rank_view *v, int process, int status, int outcome)
{
	v->process = process;
	v->status = status;
	v->outcome = outcome;
}

static void act_host(struct world *w, const struct event *e)
{
	struct host *h = &w->hosts[e->rank];

	switch (e->act) {
	case PAUSES:
		h->paused_until = e->a;
		break;
	case IS_MUTE:
		h->mute = true;
		break;
	case COLLECTS:
		h->orders.collects = true;
		break;
	case IS_CUT:
		h->cut_until = e->a;
		h->passes = e->b;
		break;
	case LAUNCHER:
		h->launcher = (struct decide_watcher){ .hold = e->a, .since_ns = clock_at(w->now) };
		break;
	case VANISHES:
		w->others[e->rank - 1].ended_ns = e->a == 1 ? 0 : clock_at(w->now);
		w->others[e->rank - 1].left = e->b == 1;
		break;
	case ENDS:
		h->ending = true;
		break;
	default:
		h->root.ended_ns = clock_at(w->now);
	}
}

static void act_call(struct rank_view *v, const struct event *e)
{
	switch (e->act) {
	case CALLED:
		v->issued = v->completed = (uint64_t)e->a;
		v->comms[0].seq = v->comms[0].calls = v->issued;
		v->last.state = RECORD_RETURNED;
		break;
	case CALLING:
		v->last.ticket = ++v->issued;
		v->last.comm = (uint16_t)e->a;
		v->last.seq = v->comms[e->a].calls = ++v->comms[e->a].seq;
		v->last.state = RECORD_ISSUING;
		break;
	case ENQUEUED:
		v->issued++;
		v->last = (struct record){ .ticket = v->issued,
					   .state = e->a < 0 ? RECORD_ISSUING : RECORD_RETURNED,
					   .dtype = DT_INT8,
					   .count = e->a < 0 ? 0 : (uint64_t)e->a * 1000000,
					   .returned_ns = clock_at(e->at) };
		v->device_wait = RECORD_DEVICE_AWAITED;
		break;
	case SET:
		v->settings = (uint64_t)e->a;
		break;
	default:
		v->comms[0].hash = (uint64_t)e->a;
	}
	v->heartbeat++;
}

static void act_rank(struct world *w, const struct event *e)
{
	struct actor *actor = &w->actors[e->rank];
	struct decide_rank *rank = rank_of(w, e->rank);
	struct rank_view *v = &rank->view;

	switch (e->act) {
	case BEATS:
		actor->beat_every = e->a;
		actor->beat_until = e->b;
		break;
	case WAITS:
		enter(w, e->rank, e->a);
		break;
	case WORKS:
		enter(w, e->rank, e->a);
		v->working = 1;
		break;
	case LEAVES:
		leave(v);
		break;
	case ENTERS:
		v->comm_state = RECORD_COMM_INIT;
		v->init_nranks = e->a;
		v->init_id = (uint64_t)e->b;
		v->comms[0] = (struct view_comm){
			.id = v->init_id, .rank = e->rank, .nranks = e->a, .state = RECORD_COMM_INIT
		};
		enter(w, e->rank, 10000);
		break;
	case READY:
		v->comm_state = v->comms[0].state = RECORD_COMM_READY;
		enter(w, e->rank, 10000);
		break;
	case WAITS_BY_TURNS:
		actor->turn_from = w->now;
		actor->turn_every = e->a;
		actor->turn_until = e->b;
		break;
	case PHASE:
		v->phase = (uint32_t)e->a;
		break;
	case SPARE:
		v->rank = -1;
		v->phase = PHASE_SPARE;
		break;
	case SLEEPS:
	case STARVES:
	case SHARES:
		actor->runs = e->act;
		break;
	case WATCHER:
		rank->supervisor =
			(struct decide_watcher){ .hold = e->a, .since_ns = clock_at(w->now) };
		break;
	case TRACED:
		actor->traced = e->a;
		break;
	case STOPS:
		v->process = PROCESS_STOPPED;
		break;
	case FINISHES:
		ends(v, PROCESS_EXITED, e->a, e->a);
		break;
	case DIES:
		ends(v, PROCESS_KILLED, SIGKILL, -1);
		break;
	default:
		act_call(v, e);
	}
}

static void live(struct world *w, int i)
{
	struct actor *actor = &w->actors[i];
	struct decide_rank *rank = rank_of(w, i);

	if (actor->beat_every && w->now <= actor->beat_until && w->now % actor->beat_every == 0)
		rank->view.heartbeat++;
	if (actor->turn_every && w->now <= actor->turn_until &&
	    (w->now - actor->turn_from) % actor->turn_every == 0)
		enter(w, i, 100);
	actor->ran_ns += actor->runs == SHARES ? TICK * MS / 2 : 0;
	actor->queued_ns += actor->runs == STARVES  ? TICK * MS
			    : actor->runs == SHARES ? TICK * MS / 2
						    : 0;
	rank->view.seen_ns = clock_at(w->now);
	if (rank->view.waiting)
		rank->view.waited = (w->now - actor->since) * 1e-3;
}

/* ---- leaders ---- */

static void read_accounts(struct world *w, struct host *h, const struct decide_input *in)
{
	for (int i = 0; i < w->nranks; i++) {
		const struct actor *actor = &w->actors[i];
		struct decide_rank *rank = rank_of(w, i);

		if (&w->hosts[actor->host] != h)
			continue;
		rank->account = (struct rank_account){
			.held = rank->view.process == PROCESS_STOPPED,
			.known = decide_wants_account(&h->state, in, (size_t)actor->place),
			.ready = actor->runs != SLEEPS,
			.traced = actor->traced,
			.used = { actor->ran_ns, actor->queued_ns },
		};
	}
}

/* A rank as decide() of its own host says; before its first look as it is. */
static const struct rank_view *judged(const struct host *h, int place)
{
	return (size_t)place < h->state.nranks ? &h->state.ranks[place].view
					       : &h->ranks[place].view;
}

static void tell_root(struct world *w, int host)
{
	struct host *h = &w->hosts[host];
	struct decide_host *seen = &w->others[host - 1];

	seen->views = h->told;
	seen->nviews = h->nranks;
	seen->done = true;
	for (size_t i = 0; i < h->nranks; i++) {
		h->told[i] = *judged(h, (int)i);
		h->told[i].reported = h->told[i].lost != LOST_NOT;
		seen->done &= view_finished(&h->told[i]);
	}
}

/* The leader of `here` has the diagnoser look. */
static void look(struct world *w, int here)
{
	size_t at = 0;

	if (w->looks > 0 && w->now - w->last_look > w->gap_max)
		w->gap_max = w->now - w->last_look;
	w->last_look = w->now;
	w->looks++;
	for (int i = 0; i < w->nranks; i++) {
		int host = w->actors[i].host, place = w->actors[i].place;
		const struct rank_view *v = host == here || host == 0
						    ? judged(&w->hosts[host], place)
						    : &w->others[host - 1].views[place];

		if (v->overdue)
			w->overdue[at++] = (char)('0' + i);
	}
	w->overdue[at] = '\0';
}

static struct decision ask_diagnoser(struct world *w, int host, struct decide_input *in,
				     struct decision *d)
{
	const char *answer = w->row->answer;
	enum diagnosis_result result = !answer			 ? DIAGNOSIS_NOT_ASKED
				       : strchr("UP", answer[0]) ? DIAGNOSIS_UNEXPLAINED
								 : DIAGNOSIS_NAMED;

	look(w, host);
	if (class_is_lost(d->verdict.class))
		result = DIAGNOSIS_NAMED;
	else if (answer && answer[0] == 'P') /* as a packet that was lost by chance would look */
		d->verdict.class = CLASS_PARTITION;
	else if (result == DIAGNOSIS_NAMED)
		snprintf(d->verdict.ranks, sizeof(d->verdict.ranks), "%s", answer);
	in->now += (uint64_t)w->row->answer_ms * MS;
	d->verdict.detect_ms += w->row->answer_ms;
	return decide_answer(&w->hosts[host].state, in, result, &d->verdict);
}

static void order_all(struct world *w, const struct decision *d)
{
	for (int i = 1; i < w->nhosts; i++) {
		struct host *h = &w->hosts[i];

		if (d->action == DECIDE_QUERY || d->action == DECIDE_CENSUS) {
			w->others[i - 1].answered = false;
			h->asked = true;
			h->orders.census |= d->action == DECIDE_CENSUS;
		} else if (d->action == DECIDE_ARRIVALS) {
			h->orders.arrivals_reported = true;
			h->orders.arrivals = d->arrivals;
		}
	}
}

static void carry_out(struct world *w, int host, struct decide_input *in, struct decision d)
{
	struct answer verdict;

	if (d.action == DECIDE_DIAGNOSE) {
		struct decision next = ask_diagnoser(w, host, in, &d);

		verdict = d.verdict;
		d = next;
		d.verdict = verdict;
	}
	order_all(w, &d);
	switch (d.action) {
	case DECIDE_END:
		w->hosts[host].ended = true;
		if (host > 0 && !w->row->alone)
			break;
		w->ended_at = w->now + w->row->answer_ms;
		w->verdict = d.verdict;
		break;
	case DECIDE_CENSUS:
		w->censuses++;
		break;
	case DECIDE_REPORT:
		w->reports += w->now > 0;
		tell_root(w, host);
		break;
	default:
		break;
	}
}

static void hear_of(struct decide_host *seen, const struct host *h, int now)
{
	bool cut = now < h->cut_until;

	seen->answers = !cut || h->passes == 1 || h->passes >= 8;
	seen->sends_datagrams = cut && h->passes >= 8;
	if (!cut)
		seen->heard_ns = clock_at(now);
	if (!cut || h->passes == 2)
		seen->arrived_ns = clock_at(now);
	seen->there = cut && h->passes == 7 ? PATH_LOST : PATH_UNKNOWN;
	seen->small_passes = cut && h->passes == 10;
	seen->here = cut && h->passes == 9 ? PATH_OPEN : PATH_UNKNOWN;
}

/* Takes in the messages to the leader of `host` since its last look. */
static void hear(struct world *w, int host)
{
	if (host > 0)
		hear_of(&w->hosts[host].root, &w->hosts[host], w->now);
	for (int i = 1; i < w->nhosts && host == 0; i++)
		if (w->now >= w->hosts[i].paused_until)
			hear_of(&w->others[i - 1], &w->hosts[i], w->now);
}

static void step_host(struct world *w, int host)
{
	struct host *h = &w->hosts[host];
	struct decide_input in = { .now = clock_at(w->now),
				   .ranks = h->ranks,
				   .nranks = h->nranks,
				   .job_ranks = 0,
				   .job_hosts = w->nhosts + w->row->absent,
				   .follows = host > 0,
				   .ending = h->ending,
				   .name = "node0",
				   .launcher = h->launcher,
				   .hosts = &h->root,
				   .nhosts = host > 0,
				   .expected_hosts = host > 0 ? 1 : (size_t)w->nhosts - 1,
				   .orders = h->orders };
	struct desync found = { .low = 8, .high = 8 };
	struct decision d;

	if (w->now < h->paused_until || h->ended || (w->row->alone && host != w->row->alone))
		return;
	snprintf(found.ranks, sizeof(found.ranks), "%s", w->row->parted ? w->row->parted : "");
	in.desync = w->row->parted ? &found : NULL;
	for (int i = 0; i < w->nranks; i++)
		in.job_ranks += rank_of(w, i)->view.rank >= 0;
	if (host == 0) {
		in.hosts = w->others;
		in.nhosts = (size_t)w->nhosts - 1;
		in.expected_hosts += (size_t)w->row->absent;
	}
	hear(w, host);
	h->orders = (struct decide_orders){ 0 };
	read_accounts(w, h, &in);
	d = decide(&h->state, &in);
	if (w->now < h->cut_until && h->passes != 6)
		return carry_out(w, host, &in, d);
	if (!h->mute && h->asked) {
		tell_root(w, host);
		w->others[host - 1].answered = true;
	}
	h->asked = false;
	carry_out(w, host, &in, d);
}

/* ---- rows ---- */

static void open_world(struct world *w, const struct row *row)
{
	const struct decide_config config = { .deadlines = !row->no_deadlines,
					      .extensions = row->extensions,
					      .silent_seconds = 3,
					      .partition_seconds = 10,
					      .init_seconds = row->init_ms * 1e-3 };

	*w = (struct world){ .row = row, .nranks = (int)strlen(row->hosts) };
	for (int i = 0; i < w->nranks; i++) {
		struct host *h = &w->hosts[row->hosts[i] - '0'];
		struct rank_view *v = &h->ranks[h->nranks].view;

		w->actors[i] = (struct actor){ .host = row->hosts[i] - '0',
					       .place = (int)h->nranks++,
					       .runs = SLEEPS };
		*v = (struct rank_view){ .rank = i, .local = i, .outcome = -1, .heartbeat = 1 };
		v->phase = PHASE_TIMED;
		if (row->hosts[i] - '0' >= w->nhosts)
			w->nhosts = row->hosts[i] - '0' + 1;
	}
	for (int i = 0; i < w->nhosts; i++) {
		decide_open(&w->hosts[i].state, &config, clock_at(-TICK));
		if (i > 0)
			w->others[i - 1].id = (uint64_t)i;
		if (i > 0)
			tell_root(w, i);
		if (i > 0)
			snprintf(w->others[i - 1].name, sizeof(w->others[0].name), "node%d", i);
		snprintf(w->hosts[i].root.name, sizeof(w->others[0].name), "node0");
	}
}

static void act(struct world *w, const struct event *e)
{
	int n = e->act >= PAUSES ? w->nhosts : w->nranks;

	for (int i = 0; i < n; i++) {
		struct event one = *e;

		one.rank = i;
		if (e->rank < SOME(0) ? e->rank != i : !(e->rank >> i & 1))
			continue;
		if (e->act >= PAUSES)
			act_host(w, &one);
		else
			act_rank(w, &one);
	}
}

static void play(struct world *w)
{
	const struct row *row = w->row;

	for (w->now = 0; w->now <= row->until && !w->ended_at; w->now += TICK) {
		for (const struct event *e = row->events; e->act != ACT_NONE; e++)
			if (e->at > w->now - TICK && e->at <= w->now)
				act(w, e);
		for (int i = 0; i < w->nranks; i++)
			live(w, i);
		for (int i = w->nhosts - 1; i >= 0 && !w->ended_at; i--)
			if (!row->alone || i == row->alone)
				step_host(w, i);
	}
}

static bool is_as_expected(const struct world *w)
{
	const struct expectation *e = &w->row->expect;
	const struct answer *v = &w->verdict;
	int most = e->looks_max != 0 ? e->looks_max : w->ended_at ? 1 : 0;

	if (e->to == 0 ? w->ended_at != 0 : w->ended_at < e->from || w->ended_at > e->to)
		return false;
	if (w->ended_at && v->outcome != e->outcome)
		return false;
	return (!e->ranks || strcmp(v->ranks, e->ranks) == 0) && w->looks >= e->looks_min &&
	       w->looks <= (most < 0 ? 0 : most) &&
	       (!e->hosts || strcmp(v->hosts, e->hosts) == 0) &&
	       (!e->pair || strcmp(v->pair, e->pair) == 0) && (!e->class || v->class == e->class) &&
	       (!e->overdue || strcmp(w->overdue, e->overdue) == 0) &&
	       (!e->detect_to ||
		(v->detect_ms >= e->detect_from && v->detect_ms <= e->detect_to)) &&
	       (!e->censuses_max || w->censuses <= e->censuses_max) &&
	       (!w->row->alone || w->reports == e->reports) &&
	       (!e->gap_max || w->gap_max <= e->gap_max);
}

static void row_play(const struct row *row)
{
	struct world *w = calloc(1, sizeof(*w));
	bool fine;

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	open_world(w, row);
	play(w);
	fine = is_as_expected(w);
	if (!fine)
		fprintf(stderr,
			"\nrow %s: ended %d outcome %s class %s ranks %s hosts %s detect "
			"%.0f; %d looks, the longest gap %d, overdue '%s'; %d censuses, %d "
			"reports\n",
			row->name, w->ended_at, outcome_name(w->verdict.outcome),
			class_name(w->verdict.class, w->verdict.outcome), w->verdict.ranks,
			w->verdict.hosts, w->verdict.detect_ms, w->looks, w->gap_max, w->overdue,
			w->censuses, w->reports);
	CU_ASSERT(fine);
	for (int h = 0; h < w->nhosts; h++)
		decide_release(&w->hosts[h].state);
	free(w);
}

void rows_play(void)
{
	rows_each(CU_get_current_test()->pName, row_play);
}
