/* meter.c: from totals and samples to rows. */
#include "pace/meter.h"

#include "base/stats.h"
#include "record/record.h"
#include "model/model.h"

#define RANKS_MOST 65536
#define LONGEST_NS 3600000000000ull
#define OPEN	   1024 /* calls of a communicator to which not all have come */

/* A rank's part of an open call; took_ns and gap are of each call of its group. */
struct part {
	struct pace_sample sample; /* arrived_ns 0: it has not come */
	double took_ns, gap;
	bool here;
};

struct meter_open {
	struct part *parts; /* by member; NULL: the place is free */
	uint64_t seq;
	int came, kind;
	double bytes; /* times the bus factor; 0: not known */
	bool old;
};

void meter_release(struct meter *meter)
{
	for (size_t i = 0; i < meter->ncomms; i++) {
		struct meter_comm *c = &meter->comms[i];

		for (size_t k = 0; k < OPEN; k++)
			free(c->open[k].parts);
		for (int k = 0; k < CALL_KIND_COUNT; k++)
			if (c->kinds[k]) {
				free(c->kinds[k]->took);
				free(c->kinds[k]->moved);
				free(c->kinds[k]);
			}
		free(c->open);
		free(c->ranks);
		free(c->last);
	}
	free(meter->comms);
	free(meter->spans);
	free(meter->events);
	*meter = (struct meter){ .traces = meter->traces };
}

/* ---- places ---- */

static struct meter_comm *comm_of(struct meter *meter, const struct pace_sample *s)
{
	size_t n = (size_t)s->nmembers;
	struct meter_comm *c;

	for (size_t i = 0; i < meter->ncomms; i++)
		if (meter->comms[i].id == s->comm && meter->comms[i].n == s->nmembers)
			return &meter->comms[i];
	if (meter->ncomms == PACE_COMMS)
		return NULL;
	meter->comms = must_room(meter->comms, (int)meter->ncomms, sizeof(*meter->comms));
	c = &meter->comms[meter->ncomms++];
	*c = (struct meter_comm){ .id = s->comm, .n = s->nmembers };
	c->ranks = must(malloc(n * sizeof(*c->ranks)));
	memset(c->ranks, 0xff, n * sizeof(*c->ranks));
	c->last = must(calloc(n * (1 + METER_LAST), sizeof(*c->last)));
	c->open = must(calloc(OPEN, sizeof(*c->open)));
	return c;
}

/* The place of the rank's calls of this kind; NULL: the sample cannot be. */
static struct meter_kind *kind_of(struct meter *meter, const struct pace_sample *s,
				  struct meter_comm **comm)
{
	struct meter_kind **k;

	if (s->rank < 0 || s->rank >= RANKS_MOST || s->nmembers < 1 || s->nmembers > RANKS_MOST ||
	    s->member < 0 || s->member >= s->nmembers || s->kind < 0 || s->kind >= CALL_KIND_COUNT)
		return NULL;
	*comm = comm_of(meter, s);
	if (!*comm)
		return NULL;
	for (; meter->nranks <= s->rank; meter->nranks++) {
		meter->spans = must_room(meter->spans, meter->nranks, sizeof(*meter->spans));
		memset(meter->spans[meter->nranks], 0, sizeof(*meter->spans));
	}
	(*comm)->ranks[s->member] = s->rank;
	k = &(*comm)->kinds[s->kind];
	if (!*k) {
		size_t members = (size_t)s->nmembers * sizeof(*(*k)->members);

		*k = must(calloc(1, sizeof(**k) + members));
		(*k)->took = must(calloc(METER_KEPT, sizeof(*(*k)->took)));
		(*k)->moved = must(calloc(METER_KEPT, sizeof(*(*k)->moved)));
		(*k)->members = (struct meter_member *)(*k + 1);
	}
	return *k;
}

/* Bus factor of a call that no rank leaves before all have come; 0: of others. */
static double bus_factor(const struct pace_sample *s)
{
	static const int colls[CALL_KIND_COUNT] = { [CALL_ALL_REDUCE] = 1 + MODEL_ALL_REDUCE,
						    [CALL_ALL_GATHER] = 1 + MODEL_ALL_GATHER,
						    [CALL_REDUCE_SCATTER] =
							    1 + MODEL_REDUCE_SCATTER,
						    [CALL_ALLTOALL] = 1 + MODEL_ALLTOALL };
	int coll = s->nmembers > 1 ? colls[s->kind] : 0;

	return coll ? model_bus_factor((enum model_coll)(coll - 1), s->nmembers) : 0;
}

/* ---- samples ---- */

/* METER_KEPT of all durations stay, each with the same chance (Vitter 1985, algorithm R). */
static void keep(struct meter_kind *k, double took, double moved)
{
	uint64_t x = k->samples * 0x9e3779b97f4a7c15ull;
	size_t at = k->samples;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	if (at >= METER_KEPT)
		at = (size_t)((x ^ x >> 31) % (at + 1));
	if (at < METER_KEPT) {
		k->took[at] = took;
		k->moved[at] = moved;
	}
	k->samples++;
}

/* Where there is no more room every second call goes, over the whole time. */
static void note_event(struct meter *meter, const struct part *p, double waited)
{
	int calls = p->sample.calls > 1 ? p->sample.calls : 1;
	size_t n = 0;

	if (!meter->traces || !p->here)
		return;
	if (meter->nevents == METER_EVENTS)
		meter->shift++;
	for (size_t i = 0; meter->nevents == METER_EVENTS && i < METER_EVENTS; i++)
		if (record_sampled(~meter->events[i].sample.comm, meter->events[i].sample.seq,
				   meter->shift))
			meter->events[n++] = meter->events[i];
	meter->nevents = meter->nevents == METER_EVENTS ? n : meter->nevents;
	if (!record_sampled(~p->sample.comm, p->sample.seq, meter->shift))
		return;
	meter->events = must_room(meter->events, (int)meter->nevents, sizeof(*meter->events));
	meter->events[meter->nevents++] = (struct meter_event){ .sample = p->sample,
								.took_ns = p->took_ns * calls,
								.waited_ns = waited * calls };
}

/* Such calls of this host are told one by one. */
static bool is_long(const struct part *p)
{
	return p->here && p->sample.through_ns - p->sample.arrived_ns > METER_LONG;
}

/* All ranks have come, or no other will. Devices' clocks differ: events have the end of the call's first rank. */
static void close_call(struct meter *meter, struct meter_comm *c, struct meter_open *open)
{
	struct meter_kind *k = c->kinds[open->kind];
	double least = INFINITY;
	uint64_t end = 0;

	for (int m = 0; m < c->n; m++)
		if (open->parts[m].sample.arrived_ns)
			least = fmin(least, open->parts[m].took_ns);
	for (int m = 0; m < c->n; m++) {
		struct part *p = &open->parts[m];

		if (!p->sample.arrived_ns)
			continue;
		if (open->came > 1) {
			if (!is_long(p))
				k->members[m].waited.ns += (p->took_ns - least) * p->gap;
			k->members[m].waited.calls += p->gap;
		}
		end = end ? end : p->sample.through_ns;
		if (p->sample.clock != RECORD_CLOCK_HOST)
			p->sample.arrived_ns += end - p->sample.through_ns;
		note_event(meter, p, open->came > 1 ? p->took_ns - least : NAN);
	}
	keep(k, least, open->came > 1 ? open->bytes : 0);
	free(open->parts);
	open->parts = NULL;
}

/* Adds a rank's part to a call that all ranks are in. */
static void join(struct meter *meter, struct meter_comm *c, const struct part *part, double factor)
{
	const struct pace_sample *s = &part->sample;
	struct meter_open *open = &c->open[s->seq * 0x9e3779b97f4a7c15ull >> 32 & (OPEN - 1)];

	if (open->parts && open->seq != s->seq)
		close_call(meter, c, open);
	if (!open->parts) {
		*open = (struct meter_open){ .seq = s->seq, .kind = s->kind };
		open->parts = must(calloc((size_t)c->n, sizeof(*open->parts)));
		open->bytes = factor *
			      (double)record_bytes(s->kind, s->amount & 255, s->amount >> 8, c->n);
	}
	open->came += !open->parts[s->member].sample.arrived_ns;
	open->parts[s->member] = *part;
	if (open->came == c->n)
		close_call(meter, c, open);
}

/* The calls for which a sample stands: the mean distance of METER_LAST samples. */
static double stands_for(uint64_t *last, uint64_t seq)
{
	uint64_t *n = last++, kept = *n < METER_LAST ? *n : METER_LAST;
	double calls = 1;

	if (*n && seq <= last[(*n - 1) % METER_LAST])
		*n = kept = 0;
	if (kept)
		calls = (double)(seq - last[(*n - kept) % METER_LAST]) / (double)kept;
	last[(*n)++ % METER_LAST] = seq;
	return calls;
}

static void extend_span(struct meter *meter, const struct pace_sample *s)
{
	uint64_t *span = meter->spans[s->rank];

	span[0] = span[0] ? span[0] : s->arrived_ns;
	span[1] = span[1] > s->through_ns ? span[1] : s->through_ns;
	meter->seconds = fmax(meter->seconds, (double)(span[1] - span[0]) * 1e-9);
}

void meter_long(struct meter *meter, const struct pace_sample *who, double held_ns,
		double waited_ns)
{
	struct meter_comm *c;
	struct meter_kind *k = kind_of(meter, who, &c);

	if (!k)
		return;
	extend_span(meter, who);
	k->members[who->member].long_held += held_ns;
	k->members[who->member].long_waited += waited_ns;
}

void meter_add(struct meter *meter, const struct pace_sample *s, bool here)
{
	struct part part = { .sample = *s, .here = here };
	uint64_t took = s->through_ns - s->arrived_ns;
	struct meter_comm *c;
	struct meter_kind *k;
	double factor;

	if (!s->arrived_ns || s->through_ns < s->arrived_ns || took > LONGEST_NS)
		return;
	k = kind_of(meter, s, &c);
	if (!k)
		return;
	part.took_ns = (double)took / (s->calls > 1 ? s->calls : 1);
	part.gap = stands_for(&c->last[(size_t)s->member * (1 + METER_LAST)], s->seq);
	k->members[s->member].held.ns += is_long(&part) ? 0 : part.took_ns * part.gap;
	k->members[s->member].held.calls += part.gap;
	extend_span(meter, s);
	factor = bus_factor(s);
	if (factor > 0) {
		join(meter, c, &part, factor);
		return;
	}
	keep(k, part.took_ns, 0);
	note_event(meter, &part, NAN);
}

void meter_total(struct meter *meter, const struct pace_sample *who, uint64_t calls, uint64_t bytes,
		 const char *name)
{
	struct meter_comm *c;
	struct meter_kind *k = calls ? kind_of(meter, who, &c) : NULL;

	if (!k)
		return;
	snprintf(c->name, sizeof(c->name), "%s", name);
	for (char *at = make_printable(c->name); *at; at++)
		*at = *at == '"' || *at == '\\' ? '?' : *at;
	k->members[who->member].calls = calls;
	k->bytes = calls > k->calls ? bytes : k->bytes;
	k->calls = calls > k->calls ? calls : k->calls;
}

void meter_settle(struct meter *meter)
{
	for (size_t i = 0; i < meter->ncomms * OPEN; i++) {
		struct meter_comm *c = &meter->comms[i / OPEN];
		struct meter_open *open = &c->open[i % OPEN];

		if (open->parts && open->old)
			close_call(meter, c, open);
		open->old = true;
	}
}

/* ---- rows ---- */

/* The percentage of the time that samples say: of `sum` ns, which stand for `known` of all `gaps` calls; and of long calls. */
static double percent_of(double sum, double known, double gaps, double longer, double seconds)
{
	double ns = (known > 0 ? sum * gaps / known : 0) + longer;

	return (known > 0 || longer > 0) && seconds > 0 ? fmin(ns * 1e-7 / seconds, 100) : NAN;
}

struct meter_row meter_member(const struct meter *meter, const struct meter_row *row, int member)
{
	const struct meter_kind *k = row->comm->kinds[row->kind];
	const struct meter_member *m = &k->members[member];
	struct meter_row its = *row;

	its.rank = row->comm->ranks[member];
	its.calls = (double)(m->calls ? m->calls : k->calls);
	its.held_percent =
		percent_of(m->held.ns, m->held.calls, m->held.calls, m->long_held, meter->seconds);
	its.waited_percent = percent_of(m->waited.ns, m->waited.calls, m->held.calls,
					m->long_waited, meter->seconds);
	return its;
}

static double add_known(double sum, double more)
{
	return isfinite(more) ? fmax(sum, 0) + more : sum;
}

/* The mean of what is known of n ranks, and which of them waited most and least. */
static void sum_ranks(struct meter_row *row, const struct meter_row *ranks, size_t n)
{
	double held = 0, waited = 0;

	for (size_t i = 0; i < n; i++) {
		double its = ranks[i].waited_percent;

		row->held_percent = add_known(row->held_percent, ranks[i].held_percent);
		row->waited_percent = add_known(row->waited_percent, its);
		held += isfinite(ranks[i].held_percent);
		waited += isfinite(its);
		if (isfinite(its) && !(its <= row->most_percent)) {
			row->most = ranks[i].rank;
			row->most_percent = its;
		}
		if (isfinite(its) && !(its >= row->least_percent)) {
			row->least = ranks[i].rank;
			row->least_percent = its;
		}
	}
	row->held_percent /= held;
	row->waited_percent /= waited;
}

static const struct meter_row unknown = { .rank = -1,
					  .most = -1,
					  .least = -1,
					  .median_us = NAN,
					  .p95_us = NAN,
					  .busbw_gbs = NAN,
					  .predicted_gbs = NAN,
					  .held_percent = NAN,
					  .waited_percent = NAN,
					  .most_percent = NAN,
					  .least_percent = NAN };

static void add_counts(struct meter_row *sum, const struct meter_row *row)
{
	sum->rows += row->rows;
	sum->calls += row->calls;
	sum->bytes += row->bytes;
	sum->samples += row->samples;
}

struct rate {
	double gbs, bytes;
};

static int by_rate(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;

	return (x->gbs > y->gbs) - (x->gbs < y->gbs);
}

/* The bandwidth that half of the bytes had, or more; NaN: no bytes are known. */
static double bandwidth(const struct meter_kind *k)
{
	size_t n = k->samples < METER_KEPT ? k->samples : METER_KEPT, at = 0;
	struct rate *rates = must(calloc(n + 1, sizeof(*rates)));
	double all = 0, found = NAN;

	for (size_t i = 0; i < n; i++) {
		rates[i] = (struct rate){ k->moved[i] / k->took[i], k->moved[i] };
		all += k->moved[i];
	}
	qsort(rates, n, sizeof(*rates), by_rate);
	for (double seen = 0; all > 0 && seen < all / 2; at++) {
		seen += rates[at].bytes;
		found = rates[at].gbs;
	}
	free(rates);
	return found;
}

static struct meter_row row_of(const struct meter *meter, size_t number, int kind)
{
	const struct meter_comm *c = &meter->comms[number];
	const struct meter_kind *k = c->kinds[kind];
	struct meter_row row = unknown, *members = must(calloc((size_t)c->n, sizeof(*members)));
	struct stats stats;

	row.comm = c;
	row.number = number;
	row.kind = kind;
	row.rows = 1;
	row.calls = (double)k->calls;
	row.bytes = (double)k->bytes;
	row.samples = (double)k->samples;
	stats_compute(k->took, k->samples < METER_KEPT ? k->samples : METER_KEPT, &stats);
	row.median_us = stats.median * 1e-3;
	row.p95_us = stats.p95 * 1e-3;
	row.busbw_gbs = bandwidth(k);
	if (meter->model && k->calls)
		row.predicted_gbs =
			meter_predicted(meter->model, kind, c->n, row.bytes / row.calls);
	for (int m = 0; m < c->n; m++)
		members[m] = meter_member(meter, &row, m);
	sum_ranks(&row, members, (size_t)c->n);
	free(members);
	return row;
}

static int by_time(const void *a, const void *b)
{
	const struct meter_row *x = a, *y = b;
	double more = (isfinite(y->held_percent) ? y->held_percent : 0) -
		      (isfinite(x->held_percent) ? x->held_percent : 0);

	more = more != 0 ? more : y->calls - x->calls;
	more = more != 0 ? more : (double)x->number - (double)y->number;
	return (more > 0) - (more < 0);
}

struct meter_row *meter_rows(const struct meter *meter, size_t most, size_t *n)
{
	struct meter_row *rows = must(calloc(meter->ncomms * CALL_KIND_COUNT + 1, sizeof(*rows)));

	*n = 0;
	for (size_t i = 0; i < meter->ncomms; i++)
		for (int k = 0; k < CALL_KIND_COUNT; k++)
			if (meter->comms[i].kinds[k])
				rows[(*n)++] = row_of(meter, i, k);
	qsort(rows, *n, sizeof(*rows), by_time);
	while (most && *n > most) {
		struct meter_row sum = unknown;

		add_counts(&sum, &rows[*n - 2]);
		add_counts(&sum, &rows[--*n]);
		rows[*n - 1] = sum;
	}
	return rows;
}

struct meter_row meter_whole(const struct meter *meter)
{
	struct meter_row whole = unknown, *rows, *ranks;
	size_t n;

	rows = meter_rows(meter, 0, &n);
	ranks = must(calloc((size_t)meter->nranks + 1, sizeof(*ranks)));
	for (int r = 0; r < meter->nranks; r++) {
		ranks[r] = unknown;
		ranks[r].rank = r;
	}
	for (size_t i = 0; i < n; i++) {
		add_counts(&whole, &rows[i]);
		for (int m = 0; m < rows[i].comm->n; m++) {
			struct meter_row its = meter_member(meter, &rows[i], m), *sum;

			if (its.rank < 0)
				continue;
			sum = &ranks[its.rank];
			sum->held_percent = add_known(sum->held_percent, its.held_percent);
			sum->waited_percent = add_known(sum->waited_percent, its.waited_percent);
		}
	}
	sum_ranks(&whole, ranks, (size_t)meter->nranks);
	free(rows);
	free(ranks);
	return whole;
}
