/* timeline_axis.c: lanes onto one axis: hosts by the last call that all completed; long gaps. */
#include "answer/timeline.h"
#include "base/stats.h"

#define HOUR_NS	  3600e9
#define GAP_JUMP  8.0 /* a gap that is shortened is so much longer than those that are not */
#define GAP_SHARE 0.3 /* and at least this part of all that remain */

static const char *host_of(const struct timeline *t, size_t lane)
{
	return t->evidence->ranks[t->lanes[lane].rank].view.host;
}

/* The median moment of evidence of a host: one mad clock does not move it. */
static uint64_t host_moment(const struct timeline *t, size_t host)
{
	uint64_t moments[TIMELINE_LANES] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < t->nlanes; i++)
		if (t->lanes[i].host == host && t->lanes[i].nspans > 0)
			moments[n++] = t->lanes[i].seen;
	sort_words(moments, n);
	return moments[n / 2];
}

static const struct span *find_span(const struct lane *lane, const struct record *call)
{
	for (size_t i = 0; i < lane->nspans; i++)
		if (lane->spans[i].call->comm == call->comm &&
		    lane->spans[i].call->seq == call->seq)
			return &lane->spans[i];
	return NULL;
}

/* The last call that all lanes with calls completed. */
static const struct record *last_common(const struct timeline *t)
{
	const struct lane *first = t->lanes;

	while (first < t->lanes + t->nlanes && first->nspans == 0)
		first++;
	if (first == t->lanes + t->nlanes)
		return NULL;
	for (size_t k = first->nspans; k > 0; k--) {
		const struct record *call = first->spans[k - 1].call;
		bool common = true;

		for (size_t i = 0; i < t->nlanes && common; i++) {
			const struct span *span = find_span(&t->lanes[i], call);

			common = t->lanes[i].nspans == 0 || (span && span->state == SPAN_DONE);
		}
		if (common)
			return call;
	}
	return NULL;
}

void move_lane(struct lane *lane, double by)
{
	for (size_t i = 0; i < lane->nspans; i++) {
		lane->spans[i].enter += by;
		lane->spans[i].leave += by;
		lane->spans[i].device_start += by;
		lane->spans[i].device_end += by;
	}
	lane->wait_since += by;
	lane->end += by;
}

/* Tells when the host's last rank left `call`; -INFINITY when none of its lanes made it. */
static double end_of(const struct timeline *t, size_t host, const struct record *call)
{
	double end = -INFINITY;

	for (size_t i = 0; i < t->nlanes; i++) {
		const struct lane *lane = &t->lanes[i];
		const struct span *span = lane->host == host ? find_span(lane, call) : NULL;

		end = span && span->leave > end ? span->leave : end;
	}
	return end;
}

const struct record *axis_align(struct timeline *t)
{
	const struct record *common;
	double last = -INFINITY;

	for (size_t i = 0; i < t->nlanes; i++) {
		t->lanes[i].host = t->nhosts;
		for (size_t k = 0; k < i; k++)
			if (strcmp(host_of(t, k), host_of(t, i)) == 0)
				t->lanes[i].host = t->lanes[k].host;
		t->nhosts += t->lanes[i].host == t->nhosts;
	}
	for (struct lane *lane = t->lanes; lane < t->lanes + t->nlanes; lane++) {
		uint64_t seen = lane->seen, moment = host_moment(t, lane->host);
		double by = seen >= moment ? (double)(seen - moment) : -(double)(moment - seen);

		if (fabs(by) > HOUR_NS) {
			t->dropped += lane->nspans;
			lane->nspans = 0;
			lane->wait_since = NAN;
		}
		move_lane(lane, by);
	}
	common = t->nhosts > 1 ? last_common(t) : NULL;
	for (size_t h = 1; h < t->nhosts && common; h++) {
		double by = end_of(t, 0, common) - end_of(t, h, common);

		for (size_t i = 0; isfinite(by) && i < t->nlanes; i++)
			if (t->lanes[i].host == h)
				move_lane(&t->lanes[i], by);
	}
	for (size_t i = 0; i < t->nlanes; i++)
		if (t->lanes[i].nspans > 0)
			last = fmax(last, t->lanes[i].end);
	t->end = isinf(last) ? 0 : last;
	return common;
}

/* Beginnings and ends of all that is drawn, ascending. */
static size_t find_events(const struct timeline *t, double *events)
{
	size_t n = 0;

	for (size_t i = 0; i < t->nlanes; i++)
		for (size_t k = 0; t->lanes[i].drawn && k < t->lanes[i].nspans; k++) {
			events[n++] = t->lanes[i].spans[k].enter;
			events[n++] = t->lanes[i].spans[k].leave;
		}
	events[n++] = t->end;
	sort_median(events, n);
	return n;
}

/* The longest gaps, up to the last that is so much longer than the next one. */
void axis_breaks(struct timeline *t)
{
	size_t room = 2 * t->nlanes * t->calls + 1, n, most = 0;
	double *events = must(calloc(2 * room, sizeof(*events))), *lengths = events + room;
	double rest = 0, best = GAP_JUMP, shortest = 0;

	n = find_events(t, events) - 1;
	for (size_t i = 0; i < n; i++) {
		lengths[i] = events[i + 1] - events[i];
		rest += lengths[i];
	}
	if (n > 0)
		sort_median(lengths, n);
	for (size_t i = n; i-- > 1 && n - i <= TIMELINE_BREAKS;) {
		double length = lengths[i], next = lengths[i - 1];

		rest -= length;
		if (next > 0 && length > best * next && length > GAP_SHARE * rest) {
			best = length / next;
			shortest = length;
			most = n - i;
		}
	}
	for (size_t i = 0; i < n && t->nbreaks < most; i++)
		if (events[i + 1] - events[i] >= shortest)
			t->breaks[t->nbreaks++] = (struct gap){ events[i], events[i + 1] };
	free(events);
}
