/* meter.c: from totals and samples to rows. */
#include "pace/meter.h"

#include "base/error.h"
#include "base/stats.h"
#include "record/record.h"
#include "topo/model.h"

#define RANKS_MOST 65536
#define LONGEST_NS 3600000000000ull

/* A rank's part of an open call. */
struct part {
	uint64_t arrived_ns; /* 0: it has not come */
	double took, gap;    /* of each of `calls` of a group */
	int32_t rank, calls;
	bool here;
};

struct meter_open {
	struct part *parts; /* by member; NULL: the place is free */
	uint64_t seq;
	int came, kind;
	double bytes; /* times the bus factor */
	bool old;
};

static void drop(struct meter_open *open)
{
	free(open->parts);
	open->parts = NULL;
}

void meter_release(struct meter *meter)
{
	for (size_t i = 0; i < meter->ncomms; i++) {
		struct meter_comm *c = &meter->comms[i];

		for (size_t k = 0; k < METER_OPEN; k++)
			drop(&c->open[k]);
		for (int k = 0; k < CALL_KIND_COUNT; k++) {
			if (!c->kinds[k])
				continue;
			free(c->kinds[k]->took);
			free(c->kinds[k]->members);
			free(c->kinds[k]);
		}
		free(c->open);
		free(c->ranks);
		free(c->last);
	}
	free(meter->comms);
	free(meter->ranks);
	free(meter->events);
	*meter = (struct meter){ .traces = meter->traces };
}

/* ---- places ---- */

static struct meter_comm *comm_of(struct meter *meter, const struct pace_sample *s)
{
	struct meter_comm *c;

	for (size_t i = 0; i < meter->ncomms; i++)
		if (meter->comms[i].id == s->comm && meter->comms[i].n == s->nmembers)
			return &meter->comms[i];
	if (meter->ncomms == PACE_COMMS)
		return NULL;
	meter->comms = must_room(meter->comms, (int)meter->ncomms, sizeof(*meter->comms));
	c = &meter->comms[meter->ncomms++];
	*c = (struct meter_comm){ .id = s->comm, .n = s->nmembers };
	c->ranks = must(calloc((size_t)c->n, sizeof(*c->ranks)));
	memset(c->ranks, 0xff, (size_t)c->n * sizeof(*c->ranks));
	c->last = must(calloc((size_t)c->n * (1 + METER_LAST), sizeof(*c->last)));
	c->open = must(calloc(METER_OPEN, sizeof(*c->open)));
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
		meter->ranks = must_room(meter->ranks, meter->nranks, sizeof(*meter->ranks));
		memset(&meter->ranks[meter->nranks], 0, sizeof(*meter->ranks));
	}
	(*comm)->ranks[s->member] = s->rank;
	k = &(*comm)->kinds[s->kind];
	if (!*k) {
		*k = must(calloc(1, sizeof(**k)));
		(*k)->took = must(calloc(METER_KEPT, sizeof(*(*k)->took)));
		(*k)->members = must(calloc((size_t)s->nmembers, sizeof(*(*k)->members)));
	}
	return *k;
}

/* No rank leaves such a call before all have come. */
static bool meets(int kind)
{
	return kind == CALL_ALL_REDUCE || kind == CALL_ALL_GATHER || kind == CALL_REDUCE_SCATTER ||
	       kind == CALL_ALLTOALL;
}

static double bus_factor(int kind, int n)
{
	static const enum model_coll colls[] = { [CALL_ALL_REDUCE] = MODEL_ALL_REDUCE,
						 [CALL_ALL_GATHER] = MODEL_ALL_GATHER,
						 [CALL_REDUCE_SCATTER] = MODEL_REDUCE_SCATTER,
						 [CALL_ALLTOALL] = MODEL_ALLTOALL };

	return model_bus_factor(colls[kind], n);
}

/* ---- samples ---- */

/* A number below n that is as good as random; that of splitmix64. */
static size_t draw(uint64_t x, size_t n)
{
	x *= 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (size_t)((x ^ x >> 31) % n);
}

/* METER_KEPT of all durations stay, each with the same chance (Vitter 1985, algorithm R). */
static void keep(struct meter_kind *k, double took)
{
	size_t n = k->samples++, at = n < METER_KEPT ? n : draw(n, n + 1);

	if (at < METER_KEPT)
		k->took[at] = took;
}

/* Where there is no more room every second call goes, over the whole time. */
static void thin(struct meter *meter)
{
	size_t n = 0;

	meter->shift++;
	for (size_t i = 0; i < meter->nevents; i++) {
		const struct meter_event *e = &meter->events[i];

		if (record_sampled(~e->id, e->seq, meter->shift))
			meter->events[n++] = *e;
	}
	meter->nevents = n;
}

static void note_event(struct meter *meter, const struct meter_event *event)
{
	if (!meter->traces)
		return;
	while (meter->nevents == METER_EVENTS)
		thin(meter);
	if (!record_sampled(~event->id, event->seq, meter->shift))
		return;
	meter->events = must_room(meter->events, (int)meter->nevents, sizeof(*meter->events));
	meter->events[meter->nevents++] = *event;
}

/* All ranks have come, or no other will. */
static void close_call(struct meter *meter, struct meter_comm *c, struct meter_open *open)
{
	struct meter_kind *k = c->kinds[open->kind];
	double least = INFINITY, gaps = 0;

	for (int m = 0; m < c->n; m++)
		if (open->parts[m].arrived_ns)
			least = fmin(least, open->parts[m].took);
	for (int m = 0; m < c->n; m++) {
		const struct part *p = &open->parts[m];
		bool known = p->arrived_ns && open->came > 1;

		if (known) {
			k->members[m].waited += (p->took - least) * p->gap;
			k->members[m].waited_gaps += p->gap;
			gaps += p->gap / open->came;
		}
		if (p->here)
			note_event(meter,
				   &(struct meter_event){
					   .arrived_ns = p->arrived_ns,
					   .seq = open->seq,
					   .id = c->id,
					   .took = (float)(p->took * p->calls),
					   .waited = known ? (float)((p->took - least) * p->calls)
							   : NAN,
					   .rank = p->rank,
					   .comm = (uint16_t)(c - meter->comms),
					   .kind = (uint8_t)open->kind });
	}
	keep(k, least);
	k->moved_ns += open->bytes > 0 ? least * gaps : 0; /* 0: of a group, not known */
	k->moved_bytes += open->bytes * gaps;
	drop(open);
}

/* Adds a rank's part to a call that all ranks are in. */
static void join(struct meter *meter, struct meter_comm *c, const struct pace_sample *s,
		 const struct part *part)
{
	struct meter_open *open = &c->open[s->seq * 0x9e3779b97f4a7c15ull >> 54];

	if (open->parts && open->seq != s->seq)
		close_call(meter, c, open);
	if (!open->parts)
		*open = (struct meter_open){
			.parts = must(calloc((size_t)c->n, sizeof(*open->parts))),
			.seq = s->seq,
			.kind = s->kind,
			.bytes = (double)record_bytes(s->kind, s->amount & 255, s->amount >> 8,
						      c->n) *
				 bus_factor(s->kind, c->n),
		};
	open->came += !open->parts[s->member].arrived_ns;
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

void meter_add(struct meter *meter, const struct pace_sample *s, bool here)
{
	double took = (double)(s->through_ns - s->arrived_ns) / (s->calls > 1 ? s->calls : 1), gap;
	struct meter_comm *c;
	struct meter_kind *k;

	if (!s->arrived_ns || s->through_ns < s->arrived_ns || took > LONGEST_NS)
		return;
	k = kind_of(meter, s, &c);
	if (!k)
		return;
	gap = stands_for(&c->last[(size_t)s->member * (1 + METER_LAST)], s->seq);
	k->members[s->member].held += took * gap;
	k->members[s->member].gaps += gap;
	if (!meter->ranks[s->rank].first_ns)
		meter->ranks[s->rank].first_ns = s->arrived_ns;
	if (meter->ranks[s->rank].last_ns < s->through_ns)
		meter->ranks[s->rank].last_ns = s->through_ns;
	meter->ranks[s->rank].device = s->clock == RECORD_CLOCK_DEVICE;
	if (meets(s->kind) && c->n > 1) {
		join(meter, c, s,
		     &(struct part){ .arrived_ns = s->arrived_ns,
				     .took = took,
				     .gap = gap,
				     .rank = s->rank,
				     .calls = s->calls > 1 ? s->calls : 1,
				     .here = here });
		return;
	}
	keep(k, took);
	if (here)
		note_event(meter,
			   &(struct meter_event){ .arrived_ns = s->arrived_ns,
						  .seq = s->seq,
						  .id = c->id,
						  .took = (float)(s->through_ns - s->arrived_ns),
						  .waited = NAN,
						  .rank = s->rank,
						  .comm = (uint16_t)(c - meter->comms),
						  .kind = (uint8_t)s->kind });
}

void meter_total(struct meter *meter, const struct pace_sample *who, uint64_t calls, uint64_t bytes)
{
	struct meter_comm *c;
	struct meter_kind *k = calls ? kind_of(meter, who, &c) : NULL;

	if (!k)
		return;
	k->members[who->member].calls = calls;
	if (calls > k->calls) {
		k->calls = calls;
		k->bytes = bytes;
	}
}

void meter_window(struct meter *meter, struct meter *window)
{
	for (size_t i = 0; i < meter->ncomms; i++)
		for (int kind = 0; kind < CALL_KIND_COUNT; kind++) {
			const struct meter_comm *c = &meter->comms[i];
			struct meter_kind *k = c->kinds[kind];

			for (int m = 0; k && m < c->n; m++) {
				struct pace_sample who = { .comm = c->id,
							   .rank = c->ranks[m],
							   .member = m,
							   .nmembers = c->n,
							   .kind = kind };

				meter_total(window, &who,
					    k->members[m].calls - k->members[m].handed,
					    k->bytes - k->bytes_handed);
				k->members[m].handed = k->members[m].calls;
			}
			if (k)
				k->bytes_handed = k->bytes;
		}
}

void meter_name(struct meter *meter, uint64_t comm, const char *name)
{
	for (size_t i = 0; i < meter->ncomms; i++)
		if (meter->comms[i].id == comm) {
			snprintf(meter->comms[i].name, sizeof(meter->comms[i].name), "%s", name);
			make_printable(meter->comms[i].name);
			for (char *c = meter->comms[i].name; *c; c++)
				*c = *c == '"' || *c == '\\' ? '?' : *c;
		}
}

void meter_settle(struct meter *meter)
{
	for (size_t i = 0; i < meter->ncomms; i++)
		for (size_t k = 0; k < METER_OPEN; k++) {
			struct meter_open *open = &meter->comms[i].open[k];

			if (open->parts && open->old)
				close_call(meter, &meter->comms[i], open);
			open->old = true;
		}
}

/* ---- rows ---- */

double meter_seconds(const struct meter *meter)
{
	uint64_t most = 0;

	for (int r = 0; r < meter->nranks; r++)
		if (meter->ranks[r].last_ns - meter->ranks[r].first_ns > most)
			most = meter->ranks[r].last_ns - meter->ranks[r].first_ns;
	return (double)most * 1e-9;
}

/* The share of the time that samples of `sum` ns, which stand for `gaps` calls, say of all calls. */
static double share_of(double sum, double gaps, uint64_t calls, double seconds)
{
	double all = calls ? (double)calls / gaps : 1;

	return gaps > 0 && seconds > 0 ? fmin(sum * all * 1e-9 / seconds, 1) : NAN;
}

void meter_member(const struct meter_row *row, int member, double seconds, double *held,
		  double *waited)
{
	const struct meter_kind *k = row->comm->kinds[row->kind];
	const struct meter_member *m = &k->members[member];
	uint64_t calls = m->calls ? m->calls : k->calls;

	*held = share_of(m->held, m->gaps, calls, seconds);
	*waited = share_of(m->waited, m->waited_gaps, calls, seconds);
}

/* The mean of shares that are known, and which rank waited most and least. */
static void add_ranks(struct meter_row *row, const double *held, const double *waited,
		      const int32_t *ranks, int n)
{
	double helds = 0, waiteds = 0;
	int nheld = 0, nwaited = 0;

	row->most = row->least = -1;
	for (int m = 0; m < n; m++) {
		int32_t rank = ranks ? ranks[m] : m;

		if (isfinite(held[m])) {
			helds += held[m];
			nheld++;
		}
		if (!isfinite(waited[m]))
			continue;
		waiteds += waited[m];
		if (nwaited == 0 || waited[m] > row->most_waited) {
			row->most = rank;
			row->most_waited = waited[m];
		}
		if (nwaited == 0 || waited[m] < row->least_waited) {
			row->least = rank;
			row->least_waited = waited[m];
		}
		nwaited++;
	}
	row->held = nheld ? helds / nheld : NAN;
	row->waited = nwaited ? waiteds / nwaited : NAN;
}

static struct meter_row row_of(const struct meter *meter, size_t number, int kind, double seconds)
{
	const struct meter_comm *c = &meter->comms[number];
	const struct meter_kind *k = c->kinds[kind];
	size_t kept = k->samples < METER_KEPT ? k->samples : METER_KEPT;
	double *room = must(calloc(2 * (size_t)c->n, sizeof(*room)));
	struct meter_row row = { .comm = c,
				 .number = number,
				 .kind = kind,
				 .rows = 1,
				 .calls = k->calls,
				 .bytes = k->bytes,
				 .samples = k->samples,
				 .busbw = k->moved_ns > 0 ? k->moved_bytes / k->moved_ns * 1e9
							  : NAN };
	struct stats stats;

	stats_compute(k->took, kept, &stats);
	row.median_ns = stats.median;
	row.p95_ns = stats.p95;
	for (int m = 0; m < c->n; m++)
		meter_member(&row, m, seconds, &room[m], &room[c->n + m]);
	add_ranks(&row, room, room + c->n, c->ranks, c->n);
	free(room);
	return row;
}

static int by_time(const void *a, const void *b)
{
	const struct meter_row *x = a, *y = b;
	double one = isfinite(x->held) ? x->held : 0, other = isfinite(y->held) ? y->held : 0;

	if (one != other)
		return one < other ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

static double add_known(double sum, double more)
{
	return isfinite(sum) && isfinite(more) ? sum + more : isfinite(more) ? more : sum;
}

struct meter_row *meter_rows(const struct meter *meter, double seconds, size_t most, size_t *n)
{
	struct meter_row *rows = must(calloc(meter->ncomms * CALL_KIND_COUNT + 1, sizeof(*rows)));

	*n = 0;
	for (size_t i = 0; i < meter->ncomms; i++)
		for (int k = 0; k < CALL_KIND_COUNT; k++)
			if (meter->comms[i].kinds[k])
				rows[(*n)++] = row_of(meter, i, k, seconds);
	qsort(rows, *n, sizeof(*rows), by_time);
	while (most && *n > most) {
		struct meter_row *sum = &rows[*n - 2], *last = &rows[--*n];

		*sum = (struct meter_row){ .rows = sum->rows + last->rows,
					   .calls = sum->calls + last->calls,
					   .bytes = sum->bytes + last->bytes,
					   .samples = sum->samples + last->samples,
					   .median_ns = NAN,
					   .p95_ns = NAN,
					   .busbw = NAN,
					   .held = NAN,
					   .waited = NAN,
					   .most = -1,
					   .least = -1 };
	}
	return rows;
}

struct meter_row meter_whole(const struct meter *meter, double seconds)
{
	size_t n = (size_t)meter->nranks + 1;
	double *room = must(malloc(2 * n * sizeof(*room)));
	struct meter_row whole = { .kind = -1, .busbw = NAN, .median_ns = NAN, .p95_ns = NAN };

	for (size_t i = 0; i < 2 * n; i++)
		room[i] = NAN;
	for (size_t i = 0; i < meter->ncomms; i++)
		for (int k = 0; k < CALL_KIND_COUNT; k++) {
			const struct meter_comm *c = &meter->comms[i];
			struct meter_row row = { .comm = c, .kind = k };

			if (!c->kinds[k])
				continue;
			whole.rows++;
			whole.calls += c->kinds[k]->calls;
			whole.bytes += c->kinds[k]->bytes;
			whole.samples += c->kinds[k]->samples;
			for (int m = 0; m < c->n; m++) {
				double held, waited;
				size_t rank = (size_t)c->ranks[m];

				if (c->ranks[m] < 0)
					continue;
				meter_member(&row, m, seconds, &held, &waited);
				room[rank] = add_known(room[rank], held);
				room[n + rank] = add_known(room[n + rank], waited);
			}
		}
	add_ranks(&whole, room, room + n, NULL, meter->nranks);
	free(room);
	return whole;
}
