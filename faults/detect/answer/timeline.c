/* timeline.c: the calls and ranks that are shown, on one time axis; clocks are not trusted. */
#include "answer/timeline.h"

#include "settings/backend_kind.h"
#include "base/call_value.h"
#include "run/comm.h"
#include "base/rank_list.h"
#include "answer/answer.h"

#define DAY_NS 86400e9

const char *const span_state_names[] = { "done", "failed", "queued", "unfinished" };

static const struct answer healthy = {
	.outcome = OUTCOME_OK,
	.class = CLASS_OUTCOME,
	.ranks = "-",
	.seq_low = -1,
	.seq_high = -1,
	.hang_seq = -1,
};

size_t timeline_newest(int nranks)
{
	size_t each = TIMELINE_TRACE / (size_t)(nranks > 0 ? nranks : 1);

	return each < TIMELINE_BEFORE ? TIMELINE_BEFORE : each < RECORD_RING ? each : RECORD_RING;
}

/* Rank's weight for a reader: 0 is shown first. */
static int weigh_rank(const struct answer *d, int rank, int nranks)
{
	if (rank == 0 || rank == nranks - 1)
		return 0;
	if (rank_list_has(d->ranks, rank))
		return 1;
	return rank_list_has(d->ranks, rank - 1) || rank_list_has(d->ranks, rank + 1) ? 2 : 3;
}

static int by_rank(const void *a, const void *b)
{
	return ((const struct lane *)a)->rank - ((const struct lane *)b)->rank;
}

/* The ranks that weigh most have a lane, and the first of these are drawn. */
static void make_lanes(struct timeline *t)
{
	const struct answer *d = t->diagnosis;
	const int n = t->evidence->nranks;
	const bool all = n <= TIMELINE_DRAWN || rank_list_count(d->ranks) == 0;

	t->lanes = must(calloc(TIMELINE_LANES, sizeof(*t->lanes)));
	for (int weight = 0; weight <= 3; weight++)
		for (int i = 0; i < n && t->nlanes < TIMELINE_LANES; i++) {
			if (weigh_rank(d, i, n) != weight)
				continue;
			t->ndrawn += t->nlanes < TIMELINE_DRAWN && (all || weight < 3);
			t->lanes[t->nlanes] = (struct lane){
				.rank = i,
				.culprit = rank_list_has(d->ranks, i),
				.drawn = t->nlanes < t->ndrawn,
				.wait_since = NAN,
			};
			t->nlanes++;
		}
	qsort(t->lanes, t->nlanes, sizeof(*t->lanes), by_rank);
}

static const struct evidence_rank *rank_of(const struct timeline *t, const struct lane *lane)
{
	return &t->evidence->ranks[lane->rank];
}

/* Index of the rank's first call to show: TIMELINE_BEFORE calls before the point in question, of
 * a rank that did not come that far as many before its end. */
static size_t first_shown(const struct timeline *t, const struct evidence_rank *rank)
{
	const struct answer *d = t->diagnosis;
	int64_t low = d->seq_low;

	if (d == &healthy)
		return rank->ncalls > t->calls ? rank->ncalls - t->calls : 0;
	if (d->hang_seq >= 0 && (low < 0 || d->hang_seq < low))
		low = d->hang_seq;
	for (size_t i = 0; low >= 0 && i < rank->ncalls; i++)
		if (rank->calls[i].comm == d->comm &&
		    rank->calls[i].seq >=
			    (uint64_t)(low < TIMELINE_BEFORE ? 0 : low - TIMELINE_BEFORE))
			return i;
	return rank->ncalls > TIMELINE_BEFORE ? rank->ncalls - TIMELINE_BEFORE : 0;
}

/* Returns true if calls go on after they have returned. */
static bool on_device(const struct timeline *t)
{
	return backend_has(t->evidence->backend, BACKEND_ASYNC);
}

/* When the rank's evidence was taken, on its host's clock: as recorded, else the latest time in it.
 * 0: no time at all. */
static uint64_t time_seen(const struct evidence_rank *rank)
{
	uint64_t latest = rank->view.seen_ns;

	for (size_t i = 0; rank->view.seen_ns == 0 && i < rank->ncalls; i++) {
		const struct record *call = &rank->calls[i];

		latest = call->enqueued_ns > latest ? call->enqueued_ns : latest;
		latest = call->returned_ns > latest ? call->returned_ns : latest;
	}
	return latest;
}

/* Nanoseconds from `seen` back to `time`, negative; NAN: 0, after it, or a day before it. */
static double time_before(uint64_t time, uint64_t seen)
{
	return time == 0 || time > seen || (double)(seen - time) > DAY_NS ? NAN
									  : -(double)(seen - time);
}

/* Tells how far a call came. The recorder learns of ends when the host synchronises; before that a
 * call that returned is merely queued on a device, and over on a backend that blocks, but for sends
 * and receives, which are waited for as a group. */
static enum span_state state_of(const struct timeline *t, const struct evidence_rank *rank,
				const struct record *call, bool ended_on_device)
{
	if (call->flags & RECORD_FAILED)
		return SPAN_FAILED;
	if (call->state == RECORD_ISSUING || call->state == RECORD_CLOSING)
		return SPAN_UNFINISHED;
	if (ended_on_device || call->ticket <= rank->view.completed)
		return SPAN_DONE;
	return on_device(t) || call_is_pair(call->kind) ? SPAN_QUEUED : SPAN_DONE;
}

/* 0, -EINVAL: the times cannot be. They count from the rank's own verdict: they are negative. */
static int make_span(const struct timeline *t, const struct evidence_rank *rank, size_t i,
		     uint64_t seen, struct span *span)
{
	const struct record *call = &rank->calls[i];

	span->call = call;
	span->enter = time_before(call->enqueued_ns, seen);
	span->leave = time_before(call->returned_ns, seen);
	span->device_start = span->device_end = NAN;
	if (rank->times) {
		span->device_start = time_before(rank->times[i].start_ns, seen);
		span->device_end = time_before(rank->times[i].end_ns, seen);
	}
	if (isnan(span->enter))
		return -EINVAL;
	if (!(span->device_start >= span->enter && span->device_end >= span->device_start))
		span->device_start = span->device_end = NAN;
	span->state = state_of(t, rank, call, !isnan(span->device_end));
	if (span->state == SPAN_UNFINISHED)
		span->leave = 0;
	if (!(span->leave >= span->enter))
		return -EINVAL;
	if (span->device_end > span->leave)
		span->leave = span->device_end;
	return 0;
}

/* Marks the queued call of a lane that its rank waits for. On a device it is the one queued
 * first. Off it, it is the newest send or receive, and the other of the same exchange, which was
 * made with it; a group before that has ended, unless it is of -m. */
static void mark_waited(const struct timeline *t, struct lane *lane)
{
	struct span *begin = lane->spans, *end = begin + lane->nspans, *first = begin;
	const struct record *last = end > begin ? end[-1].call : NULL;
	const struct record *before = lane->nspans > 1 ? end[-2].call : NULL;

	if (!on_device(t) && last)
		first = end - 1 -
			(before && call_is_pair(before->kind) && call_is_pair(last->kind) &&
			 before->kind != last->kind && before->ticket + 1 == last->ticket);
	for (struct span *s = first; s < end; s++) {
		if (s->state < SPAN_QUEUED)
			continue;
		if (s->state == SPAN_QUEUED) {
			s->state = SPAN_UNFINISHED;
			s->leave = 0;
		}
		if (on_device(t))
			return;
	}
}

/* Where there are too many calls, the first ones and the very last are taken. */
static void fill_lane(struct timeline *t, struct lane *lane)
{
	const struct evidence_rank *rank = rank_of(t, lane);
	size_t first = first_shown(t, rank);

	lane->seen = time_seen(rank);
	lane->spans = must(calloc(t->calls, sizeof(*lane->spans)));
	for (size_t i = first; i < rank->ncalls; i++) {
		if (lane->nspans == t->calls - 1 && i + 1 < rank->ncalls) {
			t->dropped += rank->ncalls - 1 - i;
			i = rank->ncalls - 1;
		}
		if (make_span(t, rank, i, lane->seen, &lane->spans[lane->nspans]) < 0)
			t->dropped++;
		else
			lane->nspans++;
	}
	if (!rank->view.waiting)
		return;
	if (!view_finished(&rank->view)) /* else it has left: it waits for no call */
		mark_waited(t, lane);
	lane->wait_since = time_before(rank->view.since_ns, lane->seen);
}

/* By communicator and number. */
static int by_call(const void *a, const void *b)
{
	const struct record *p = (*(struct span *const *)a)->call;
	const struct record *q = (*(struct span *const *)b)->call;

	if (p->comm != q->comm)
		return p->comm < q->comm ? -1 : 1;
	return (p->seq > q->seq) - (p->seq < q->seq);
}

/* Ranks of a communicator: all of the first one, of others those that made a call on it. */
static size_t members(const struct timeline *t, uint32_t comm)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nlanes; i++) {
		const struct evidence_rank *rank = rank_of(t, &t->lanes[i]);
		bool member = comm == 0;

		for (size_t k = rank->ncalls; k > 0 && !member; k--)
			member = rank->calls[k - 1].comm == comm;
		n += member;
	}
	return n;
}

/* A call's waiting part lasts until the last rank entered it, else to its end. */
static void find_joined(struct timeline *t)
{
	struct span **all = must(calloc(t->nlanes * t->calls + 1, sizeof(struct span *)));
	size_t n = 0, of_comm = 0;
	int comm = -1;

	for (size_t i = 0; i < t->nlanes; i++)
		for (size_t k = 0; k < t->lanes[i].nspans; k++)
			all[n++] = &t->lanes[i].spans[k];
	qsort(all, n, sizeof(struct span *), by_call);
	for (size_t i = 0, next; i < n; i = next) {
		double last = all[i]->enter;

		for (next = i + 1; next < n && by_call(&all[i], &all[next]) == 0; next++)
			last = all[next]->enter > last ? all[next]->enter : last;
		if (all[i]->call->comm != comm)
			of_comm = members(t, (uint32_t)(comm = all[i]->call->comm));
		if (next - i < of_comm)
			last = INFINITY;
		for (size_t k = i; k < next; k++)
			all[k]->joined = last < all[k]->leave ? last : all[k]->leave;
	}
	free(all);
}

static double first_entry(const struct timeline *t, int64_t seq)
{
	double first = NAN;

	for (size_t i = 0; seq >= 0 && i < t->nlanes; i++)
		for (size_t k = 0; k < t->lanes[i].nspans; k++) {
			const struct span *s = &t->lanes[i].spans[k];

			if (s->call->comm == t->diagnosis->comm && s->call->seq >= (uint64_t)seq &&
			    !(s->enter >= first))
				first = s->enter;
		}
	return first;
}

/* Returns true if calls of more than one communicator are shown. */
static bool several_comms(const struct timeline *t)
{
	const struct span *first = NULL;

	for (size_t i = 0; i < t->nlanes; i++)
		for (size_t k = 0; k < t->lanes[i].nspans; k++) {
			const struct span *s = &t->lanes[i].spans[k];

			first = first ? first : s;
			if (s->call->comm != first->call->comm)
				return true;
		}
	return false;
}

/* Writes " without rank 3": the ranks of the communicator that have not made the call, or "". */
static void name_absent(const struct timeline *t, const struct record *call, char *buf, size_t len)
{
	bool *absent = must(calloc((size_t)t->evidence->nranks, sizeof(*absent))), any = false;
	char ranks[48];

	for (size_t i = 0; i < t->nlanes && !call_is_pair(call->kind); i++) {
		const struct evidence_rank *rank = rank_of(t, &t->lanes[i]);
		size_t k = rank->ncalls;

		while (k > 0 && rank->calls[k - 1].comm != call->comm)
			k--;
		absent[t->lanes[i].rank] = k > 0 && rank->calls[k - 1].seq < call->seq;
		any = any || absent[t->lanes[i].rank];
	}
	rank_list_words(absent, t->evidence->nranks, ranks, sizeof(ranks));
	snprintf(buf, len, "%s%s", any ? " without " : "", any ? ranks : "");
	free(absent);
}

/* The calls that the rank stands in: "call 2", "calls 15 and 16"; how long it does. Where there are
 * several communicators, in which one, and without which ranks. */
static void describe_wait(const struct timeline *t, const struct lane *lane, char *note, size_t len)
{
	const struct span *last = &lane->spans[lane->nspans - 1], *first = last;
	char calls[64], comm[32] = "", absent[64] = "";
	double ns;

	if (lane->nspans > 1 && first[-1].state == SPAN_UNFINISHED)
		first--;
	ns = last->leave - first->enter;
	if (first < last)
		snprintf(calls, sizeof(calls), "calls %llu and %llu",
			 (unsigned long long)first->call->seq, (unsigned long long)last->call->seq);
	else
		snprintf(calls, sizeof(calls), "call %llu", (unsigned long long)last->call->seq);
	if (several_comms(t)) {
		snprintf(comm, sizeof(comm), " of communicator %u,", last->call->comm);
		name_absent(t, last->call, absent, sizeof(absent));
	}
	snprintf(note, len, "in %s%s for %.4g %s%s", calls, comm, ns / (ns >= 1e9 ? 1e9 : 1e6),
		 ns >= 1e9 ? "s" : "ms", absent);
}

static void describe_lane(const struct timeline *t, struct lane *lane)
{
	const struct evidence_rank *rank = rank_of(t, lane);
	bool waits = rank->view.waiting && rank->view.what[0];
	char how[48];

	if (!rank->present)
		snprintf(lane->note, sizeof(lane->note), "nothing known");
	else if (rank->view.process != PROCESS_ALIVE)
		snprintf(lane->note, sizeof(lane->note), "%s",
			 view_process(&rank->view, how, sizeof(how)));
	else if (lane->nspans > 0 && lane->spans[lane->nspans - 1].state == SPAN_UNFINISHED)
		describe_wait(t, lane, lane->note, sizeof(lane->note));
	else if (rank->syscall[0])
		snprintf(lane->note, sizeof(lane->note), "in %s%s",
			 isdigit((unsigned char)rank->syscall[0]) ? "system call " : "",
			 rank->syscall);
	else
		snprintf(lane->note, sizeof(lane->note), "%s%s%s%s",
			 rank->state == 'R' ? "running" : "alive", waits ? " in '" : "",
			 waits ? rank->view.what : "", waits ? "'" : "");
}

/* Times move so that the first call shown is at 0. */
static void finish_times(struct timeline *t)
{
	double begin = INFINITY;

	for (size_t i = 0; i < t->nlanes; i++)
		for (size_t k = 0; k < t->lanes[i].nspans; k++)
			begin = fmin(begin, t->lanes[i].spans[k].enter);
	if (isinf(begin))
		begin = t->end;
	for (size_t i = 0; i < t->nlanes; i++) {
		struct lane *lane = &t->lanes[i];

		for (size_t k = 0; k < lane->nspans; k++) {
			struct span *s = &lane->spans[k];

			if (s->state == SPAN_UNFINISHED)
				s->leave = t->end;
		}
		move_lane(lane, -begin);
		if (lane->wait_since < 0)
			lane->wait_since = 0;
	}
	t->end -= begin;
}

/* One sentence more. */
#define note(t, ...)                                                                               \
	(text_add((t)->notes, sizeof((t)->notes), "%s", (t)->notes[0] ? " " : ""),                 \
	 text_add((t)->notes, sizeof((t)->notes), __VA_ARGS__))

static void note_selection(struct timeline *t, const struct record *common)
{
	if (t->ndrawn < (size_t)t->evidence->nranks)
		note(t,
		     "%zu of %d ranks are drawn: the culprits, their neighbours, the first and the "
		     "last.",
		     t->ndrawn, t->evidence->nranks);
	if (t->diagnosis == &healthy)
		note(t, "At most the newest %zu calls of each rank are shown.", t->calls);
	if (t->dropped > 0)
		note(t,
		     "%zu calls are left out: beyond the %zu of a rank, or at times that cannot "
		     "be.",
		     t->dropped, t->calls);
	if (t->nhosts > 1 && common)
		note(t,
		     "The clocks of %zu hosts are aligned on the end of call %llu of communicator "
		     "%u, the last that all completed.",
		     t->nhosts, (unsigned long long)common->seq, common->comm);
	else if (t->nhosts > 1)
		note(t,
		     "The clocks of %zu hosts share no completed call: they are aligned on the "
		     "moment of the evidence.",
		     t->nhosts);
}

void timeline_init(struct timeline *t, const struct answer *d, const struct evidence *e)
{
	const struct record *common;

	memset(t, 0, sizeof(*t));
	t->evidence = e;
	t->diagnosis = d ? d : &healthy;
	t->calls = d ? TIMELINE_CALLS : timeline_newest(e->nranks);
	make_lanes(t);
	for (size_t i = 0; i < t->nlanes; i++)
		fill_lane(t, &t->lanes[i]);
	common = axis_align(t);
	finish_times(t);
	find_joined(t);
	t->divergence = first_entry(t, t->diagnosis->seq_low);
	t->hang = first_entry(t, t->diagnosis->hang_seq);
	for (size_t i = 0; i < t->nlanes; i++)
		describe_lane(t, &t->lanes[i]);
	note_selection(t, common);
	axis_breaks(t);
}

bool timeline_drawable(const struct timeline *t)
{
	for (size_t i = 0; i < t->nlanes; i++)
		if (t->lanes[i].drawn && t->lanes[i].nspans > 0)
			return true;
	return false;
}

void timeline_release(struct timeline *t)
{
	for (size_t i = 0; t->lanes && i < t->nlanes; i++)
		free(t->lanes[i].spans);
	free(t->lanes);
	memset(t, 0, sizeof(*t));
}
