/* pace.c: from samples to rows of calls that all ranks of a communicator made, and to what these say of a rank. */
#include "pace/pace.h"

#include "base/call_value.h"
#include "base/error.h"
#include "base/stats.h"
#include "record/record.h"

#define FIGURES	       (1u << 20) /* a communicator's rows times ranks */
#define ROWS_FEWEST    64
#define OPEN_ROWS      2048 /* calls to which not all have come */
#define LONGEST_NS     3600000000000ull
#define BUSY	       0.02   /* of the time without a processor: other programs run here */
#define BUSY_NS	       2e9    /* at least, where other programs run */
#define LASTING_NS     1.5e10 /* of a rank that other programs make slow */
#define RECENT_SECONDS 2.0 /* of a quarter of the calls or less, before a rank is named for them */
#define OFTEN_LAST     0.9 /* of the calls, where those of a rank overlap */
#define TAKEN_CALLS    8   /* a block, as of preload/library/stamps.c */
#define MOST_THIN      20
#define BORNE_OUT      0.3 /* of the excess: so much less it waits than the others, or it is not late */

/* A call to which not all have come so far. */
struct pace_open {
	uint64_t seq;
	int came;
	struct pace_sample *samples; /* by member; arrived 0: not there */
};

void pace_open(struct pace *pace, double percent, double lasting)
{
	*pace = (struct pace){ .percent = percent, .lasting = lasting };
}

static void drop_open(struct pace_rows *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(c->open[i].samples);
	memmove(c->open, c->open + n, (c->nopen - n) * sizeof(*c->open));
	c->nopen -= n;
}

void pace_release(struct pace *pace)
{
	for (size_t i = 0; i < pace->ncomms; i++) {
		struct pace_rows *c = &pace->comms[i];

		drop_open(c, c->nopen);
		free(c->open);
		free(c->ranks);
		free(c->seq);
		free(c->calls);
		free(c->own);
		free(c->last);
	}
	free(pace->comms);
	pace_open(pace, pace->percent, pace->lasting);
}

static void make_rows(struct pace_rows *c, uint64_t id, int n)
{
	size_t figures, members = (size_t)n;

	*c = (struct pace_rows){ .id = id, .n = n, .room = FIGURES / members };
	c->room = c->room > PACE_ROWS ? PACE_ROWS : c->room < ROWS_FEWEST ? ROWS_FEWEST : c->room;
	figures = c->room * members;
	c->ranks = must(calloc(members, sizeof(*c->ranks)));
	c->seq = must(calloc(2 * c->room, sizeof(*c->seq)));
	c->amount = c->seq + c->room;
	c->calls = must(calloc(3 * c->room, sizeof(*c->calls)));
	c->step = c->calls + c->room;
	c->at = c->step + c->room;
	c->own = must(calloc(3 * figures, sizeof(*c->own)));
	c->inside = c->own + figures;
	c->starved = c->inside + figures;
	c->last = must(calloc(4 * members + 2, sizeof(*c->last)));
	for (int i = 0; i < n; i++)
		c->ranks[i] = -1;
}

static struct pace_rows *rows_of(struct pace *pace, const struct pace_sample *s)
{
	for (size_t i = 0; i < pace->ncomms; i++)
		if (pace->comms[i].id == s->comm && pace->comms[i].n == s->nmembers)
			return &pace->comms[i];
	if (pace->ncomms == PACE_COMMS)
		return NULL;
	pace->comms = must_room(pace->comms, (int)pace->ncomms, sizeof(*pace->comms));
	make_rows(&pace->comms[pace->ncomms], s->comm, s->nmembers);
	return &pace->comms[pace->ncomms++];
}

/* The open call of this number, made where it is new; NULL: it is over, or there is no room. */
static struct pace_open *open_row(struct pace_rows *c, uint64_t seq)
{
	size_t low = 0, high = c->nopen;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (c->open[middle].seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < c->nopen && c->open[low].seq == seq)
		return &c->open[low];
	if (seq <= c->last[4 * c->n])
		return NULL;
	if (c->nopen == OPEN_ROWS) { /* a rank that is far behind, or makes no samples */
		drop_open(c, OPEN_ROWS / 2);
		low = low > OPEN_ROWS / 2 ? low - OPEN_ROWS / 2 : 0;
	}
	c->open = must_room(c->open, (int)c->nopen, sizeof(*c->open));
	memmove(c->open + low + 1, c->open + low, (c->nopen - low) * sizeof(*c->open));
	c->nopen++;
	c->open[low] = (struct pace_open){
		.seq = seq, .samples = must(calloc((size_t)c->n, sizeof(struct pace_sample)))
	};
	return &c->open[low];
}

/* Appends the row of a call to which all have come, from the row before on. */
static void close_row(struct pace_rows *c, const struct pace_open *open)
{
	size_t n = (size_t)c->n, row = c->rows % c->room;
	uint64_t *seq = &c->last[4 * n], *amount = seq + 1;
	uint64_t now = open->samples[0].amount << 8 | (uint64_t)open->samples[0].kind << 1 | 1;
	double *steps = must(malloc(n * sizeof(*steps)));
	bool overlaps = false;

	for (size_t m = 0; m < n; m++) {
		const struct pace_sample *s = &open->samples[m];
		uint64_t *last = &c->last[4 * m];

		steps[m] = (double)(s->arrived_ns - last[0]);
		c->own[row * n + m] = (float)(s->own_ns - last[1]);
		c->starved[row * n + m] = (float)(s->starved_ns - last[2]);
		c->inside[row * n + m] = (float)(s->through_ns - s->arrived_ns);
		last[0] = s->arrived_ns;
		last[1] = s->own_ns;
		last[2] = s->starved_ns;
		last[3] = s->part;
		c->ranks[m] = s->rank;
		overlaps = overlaps || s->clock == RECORD_CLOCK_OVERLAP;
	}
	c->overlaps += overlaps;
	c->device = open->samples[0].clock != RECORD_CLOCK_HOST;
	c->seq[row] = open->seq;
	c->calls[row] = (double)(open->seq - *seq);
	c->step[row] = sort_median(steps, n);
	c->at[row] = (double)open->samples[0].arrived_ns;
	/* the first one only begins the time that the second one has */
	c->rows += *seq != 0;
	c->amount[row] = *amount == now ? now : 0;
	*amount = now;
	*seq = open->seq;
	free(steps);
}

/* The rows that are kept are to last longer than a rank has to be slow. */
static void thin_out(struct pace_rows *c, double lasting)
{
	size_t newest = (c->rows - 1) % c->room;

	if (c->rows && c->rows % c->room == 0 && c->thin < MOST_THIN &&
	    c->at[newest] - c->at[c->rows % c->room] < 1.25e9 * lasting)
		c->thin++;
}

/* Returns true if nothing in the sample speaks against the one before it of its rank. */
static bool is_sound(const struct pace_rows *c, const struct pace_sample *s)
{
	const uint64_t *last = &c->last[4 * s->member];

	return s->arrived_ns >= last[0] && s->own_ns >= last[1] && s->starved_ns >= last[2] &&
	       s->part == last[3] && s->own_ns - last[1] <= s->arrived_ns - last[0];
}

static bool is_usable(const struct pace_sample *s)
{
	bool meets = s->kind == CALL_ALL_REDUCE || s->kind == CALL_ALL_GATHER ||
		     s->kind == CALL_REDUCE_SCATTER || s->kind == CALL_ALLTOALL;

	return meets && s->rank >= 0 && s->nmembers >= 2 && s->nmembers <= 1 << 16 &&
	       s->member >= 0 && s->member < s->nmembers && s->arrived_ns > 0 &&
	       s->through_ns >= s->arrived_ns && s->through_ns - s->arrived_ns < LONGEST_NS;
}

void pace_add(struct pace *pace, const struct pace_sample *sample)
{
	struct pace_rows *c = is_usable(sample) ? rows_of(pace, sample) : NULL;
	struct pace_open *open;
	bool sound = true;

	if (c && !record_sampled(~c->id, sample->seq / TAKEN_CALLS, c->thin))
		return;
	open = c ? open_row(c, sample->seq) : NULL;

	pace->dropped += !open;
	if (!open || open->samples[sample->member].arrived_ns)
		return;
	open->samples[sample->member] = *sample;
	if (++open->came < c->n)
		return;
	for (int m = 0; m < c->n && c->last[4 * c->n]; m++)
		sound = sound && is_sound(c, &open->samples[m]);
	if (!sound) /* a clock that jumped, or a rank that began anew: the next call begins the time */
		memset(c->last, 0, (4 * (size_t)c->n + 2) * sizeof(*c->last));
	close_row(c, open);
	thin_out(c, pace->lasting);
	/* samples of a rank come in order: calls before this one miss a rank for good */
	drop_open(c, (size_t)(open - c->open) + 1);
}

/* The rows that are judged, as plain arrays of what one member's excess needs. */
struct window {
	size_t first, n;       /* rows, counted over all that came */
	double *excess, *step; /* of the member, a row */
	double *own, *inside;  /* of all members, of one row */
	double *owns;	       /* of all members, added up */
	double *other;
	bool *usual; /* those of the other members whose own time, added up, is their lower half */
	size_t nusual;
	uint64_t *seq;
	double *lates; /* how late it was: to calls to which it came last, then to the others */
	size_t nlates;
	double *less;	    /* of the member, a row: what it waited less than the others */
	double *starved;    /* of the member, a row: without a processor, more than the others */
	double waited, all; /* sums */
};

static void window_open(struct window *w, const struct pace_rows *c, size_t rows)
{
	size_t kept = c->rows < c->room ? c->rows : c->room, n = (size_t)c->n;

	*w = (struct window){ .n = rows < kept ? rows : kept };
	w->first = c->rows - w->n;
	w->excess = must(calloc(5 * w->n + 4 * n + 1, sizeof(*w->excess)));
	w->step = w->excess + w->n;
	w->lates = w->step + w->n;
	w->less = w->lates + w->n;
	w->starved = w->less + w->n;
	w->own = w->starved + w->n;
	w->inside = w->own + n;
	w->owns = w->inside + n;
	w->other = w->owns + n;
	w->seq = must(calloc(w->n + 1, sizeof(*w->seq)));
	w->usual = must(calloc(n, sizeof(*w->usual)));
	for (size_t i = 0; i < w->n; i++)
		for (size_t m = 0; m < n; m++)
			w->owns[m] += c->own[(w->first + i) % c->room * n + m];
	pace_others(w->owns, n, w->other);
}

/* Member m is compared with the others whose own time is not above the lower median: ranks that are slow, too, are
 * no measure, and pauses of each rank in its turn cancel out. */
static void choose_usual(struct window *w, size_t n, size_t m)
{
	w->nusual = 0;
	for (size_t k = 0; k < n; k++) {
		w->usual[k] = k != m && w->owns[k] <= w->other[m];
		w->nusual += w->usual[k];
	}
}

static void window_release(struct window *w)
{
	free(w->excess);
	free(w->seq);
	free(w->usual);
}

/* Adds one row to the sums of member m. */
static void take_row(struct window *w, const struct pace_rows *c, size_t i, int m)
{
	size_t n = (size_t)c->n, row = (w->first + i) % c->room;
	double least = INFINITY, sum = 0, usual = 0, starved = 0;
	bool last = true;

	for (size_t k = 0; k < n; k++) {
		w->own[k] = c->own[row * n + k];
		usual += w->usual[k] ? w->own[k] : 0;
		starved += w->usual[k] ? c->starved[row * n + k] : 0;
		w->inside[k] = c->inside[row * n + k];
		sum += w->inside[k];
		least = fmin(least, w->inside[k]);
		last = last && (k == (size_t)m || w->inside[k] > w->inside[m]);
	}
	w->seq[i] = c->seq[row];
	w->step[i] = c->step[row];
	w->all += c->step[row];
	w->waited += (sum - least * (double)n) / ((double)n - 1) * c->calls[row];
	w->excess[i] = w->own[m] - usual / (double)w->nusual;
	pace_others(w->inside, n, w->other);
	w->less[i] = (w->other[m] - w->inside[m]) * c->calls[row];
	w->lates[last ? w->nlates : w->n - 1 - (i - w->nlates)] = w->other[m] - w->inside[m];
	w->nlates += last;
	w->starved[i] = c->starved[row * n + m] - starved / (double)w->nusual;
}

bool pace_busy(const struct pace_rows *c, size_t rows)
{
	size_t n = (size_t)c->n, kept = c->rows < c->room ? c->rows : c->room;
	double most = 0, all = 0;

	rows = rows < kept ? rows : kept;
	for (size_t m = 0; m < n; m++) {
		double sum = 0;

		for (size_t i = c->rows - rows; i < c->rows; i++) {
			sum += c->starved[i % c->room * n + m];
			all += m == 0 ? c->step[i % c->room] : 0;
		}
		most = fmax(most, sum);
	}
	return most > BUSY * all;
}

static double sum_of(const double *values, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

/* From the first row to the last; a clock that jumped back counts for nothing. */
static double seconds_of(const struct pace_rows *c, const struct window *w)
{
	double ns = 0;

	for (size_t i = w->first + 1; i < w->first + w->n; i++)
		ns += fmax(c->at[i % c->room] - c->at[(i - 1) % c->room], 0);
	return ns * 1e-9;
}

/* How late it was to the calls that make half of all that the others waited for it; sorts. */
static double heavy_median(double *late, size_t n)
{
	double sum = 0, seen = 0;
	size_t i = n;

	(void)sort_median(late, n);
	for (size_t k = 0; k < n; k++)
		sum += fmax(late[k], 0);
	while (i > 1 && seen + fmax(late[i - 1], 0) < sum / 2)
		seen += fmax(late[--i], 0);
	return late[i - 1];
}

static void describe(const struct pace *pace, const struct pace_rows *c, int m, struct window *w,
		     struct pace_finding *f)
{
	double all = w->all, excess = sum_of(w->excess, w->n);
	size_t change;
	bool shared;

	pace_others(w->owns, (size_t)c->n, w->other);
	f->ratio = w->other[m] > 0 ? w->owns[m] / w->other[m] : NAN;
	f->z = pace_z(w->owns, (size_t)c->n, (size_t)m, &f->fence);
	f->last = (double)w->nlates / (double)w->n;
	f->waited = all > 0 ? fmin(w->waited / all, 1) : 0;
	f->starved = excess > 0 ? fmin(fmax(sum_of(w->starved, w->n) / excess, 0), 1) : 0;
	change = pace_change(w->excess, w->step, w->n, pace->percent / 100);
	f->since = w->seq[change];
	f->from_start = change == 0 && w->first == 0;
	f->or_before = change == 0 && w->first > 0;
	f->until = w->seq[w->n - 1];
	f->shape = pace_shape(w->excess + change, w->seq + change, w->n - change, &f->every);
	/* where several are slow another one may come last */
	shared = f->shape == PACE_STEADY && w->nlates < w->n / 2;
	f->late_ns = !shared && !w->nlates     ? 0
		     : f->shape == PACE_STEADY ? sort_median(w->lates, shared ? w->n : w->nlates)
					       : heavy_median(w->lates, w->nlates);
}

/* Other programs take processors on this host: single long delays count for nothing, and each tenth of the time must
 * show half of what a rank is named for. A rank that mostly lacks its processor is slow if that lasts. */
static bool is_slow_busy(const struct pace *pace, struct window *w, struct pace_finding *f)
{
	struct pace_interval all;

	pace_tame(w->excess, w->n);
	pace_tame(w->less, w->n);
	all = pace_bootstrap(w->excess, w->step, w->n);
	for (size_t i = 0; i < 10; i++) {
		size_t from = w->n * i / 10, n = w->n * (i + 1) / 10 - from;

		if (sum_of(w->excess + from, n) * 200 < pace->percent * sum_of(w->step + from, n))
			return false;
	}
	f->excess = all.ratio;
	f->low = all.low;
	f->high = all.high;
	f->shape = PACE_STEADY;
	f->every = 0;
	return all.low * 100 >= pace->percent &&
	       w->all >= (f->starved < 0.5 ? BUSY_NS : LASTING_NS);
}

bool pace_judge(const struct pace *pace, const struct pace_rows *comm, int m, size_t rows,
		struct pace_finding *f)
{
	struct pace_interval interval;
	struct window w;
	bool slow;

	*f = (struct pace_finding){ .rank = comm->ranks[m], .n = comm->n, .device = comm->device };
	f->overlaps = comm->overlaps * 20 > comm->rows;
	window_open(&w, comm, rows);
	if (w.n < PACE_FEWEST) {
		window_release(&w);
		return false;
	}
	choose_usual(&w, (size_t)comm->n, (size_t)m);
	for (size_t i = 0; i < w.n; i++)
		take_row(&w, comm, i, m);
	f->seconds = seconds_of(comm, &w);
	describe(pace, comm, m, &w, f);
	for (size_t i = 0; i < w.n; i++)
		w.excess[i] -= PACE_CALL_NS * comm->calls[(w.first + i) % comm->room];
	interval = pace_bootstrap(w.excess, w.step, w.n);
	f->rows = w.n;
	f->excess = interval.ratio;
	f->low = interval.low;
	f->high = interval.high;
	f->busy = pace_busy(comm, rows);
	slow = f->busy ? is_slow_busy(pace, &w, f) : interval.low * 100 >= pace->percent;
	slow = slow && f->seconds >= pace->lasting && (!f->overlaps || f->last >= OFTEN_LAST) &&
	       interval.against * 8 <= interval.blocks &&
	       sum_of(w.less, w.n) >= BORNE_OUT * sum_of(w.excess, w.n);
	window_release(&w);
	return slow;
}

bool pace_slow(const struct pace *pace, const struct pace_rows *comm, int m, struct pace_finding *f)
{
	size_t kept = comm->rows < comm->room ? comm->rows : comm->room;
	struct pace_finding recent;

	if (pace_judge(pace, comm, m, PACE_ALL, f))
		return true;
	for (size_t part = 2; kept / part >= PACE_FEWEST; part *= 2) {
		if (!pace_judge(pace, comm, m, kept / part, &recent) ||
		    (part > 2 && recent.seconds < RECENT_SECONDS))
			continue;
		if (!f->from_start && !f->or_before) { /* all calls know better since when */
			recent.since = f->since;
			recent.or_before = false;
		}
		*f = recent;
		return true;
	}
	return false;
}

/* Adds the members that are over the threshold in the newest `rows` rows. */
static void suspect(const struct pace *pace, const struct pace_rows *c, size_t rows, double *over)
{
	size_t kept = c->rows < c->room ? c->rows : c->room, n = (size_t)c->n;
	double *owns = must(calloc(2 * n, sizeof(*owns))), all = 0;

	rows = rows < kept ? rows : kept;
	for (size_t i = c->rows - rows; i < c->rows; i++) {
		all += c->step[i % c->room];
		for (size_t m = 0; m < n; m++)
			owns[m] += c->own[i % c->room * n + m];
	}
	pace_others(owns, n, owns + n);
	for (size_t m = 0; m < n && all > 0; m++)
		over[m] = fmax(over[m], (owns[m] - owns[n + m]) / all * 100 - pace->percent);
	free(owns);
}

size_t pace_suspects(const struct pace *pace, const struct pace_rows *comm, int *members,
		     size_t room)
{
	double *over = must(calloc((size_t)comm->n, sizeof(*over)));
	size_t found = 0;

	suspect(pace, comm, PACE_ALL, over);
	suspect(pace, comm, comm->room / 8, over);
	while (found < room) {
		int worst = 0;

		for (int m = 1; m < comm->n; m++)
			if (over[m] > over[worst])
				worst = m;
		if (over[worst] <= 0)
			break;
		members[found++] = worst;
		over[worst] = 0;
	}
	free(over);
	return found;
}
