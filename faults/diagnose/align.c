/* align.c: ranks' call sequences side by side, against the one that most of them made. */
#include "align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "watch.h"

#define SHIFT_MAX  8		     /* calls skipped or added in one place */
#define PERIOD_MAX 64		     /* of a schedule that repeats itself */
#define WINDOW	   65536	     /* further from the median rank than this is not compared */
#define SEQ_MAX	   (UINT64_MAX >> 2) /* sums of call numbers do not overflow */
#define ROUNDS	   4		     /* of voting: each removes ranks that have left the majority */

/* The newest record, or its copy in the view where there is one: to look at the record itself costs
 * a page of a mapped file, and the pages around it. */
static const struct record *newest(const struct evidence_rank *rank, const struct record *final)
{
	const struct record *last = &rank->view.last;

	return rank->mapped && last->ticket && last->ticket == rank->index.last_ticket &&
	                       final == &rank->calls[rank->ncalls - 1] ?
	               last :
	               final;
}

/* A rank whose index says it all. False: its records must be walked. */
static bool measure_plain(struct track *track, const struct evidence_rank *rank,
                          const struct align *a)
{
	const struct evidence_index *x = &rank->index;

	if (!x->sig || !x->plain || x->comm != a->comm || x->first_seq > SEQ_MAX)
		return false;
	track->plain = track->whole = true;
	track->sig = a->closely ? NULL : x->sig;
	track->first = x->first_seq;
	track->last = x->first_seq + rank->ncalls - 1;
	track->final = &rank->calls[rank->ncalls - 1];
	return true;
}

/* First, last and final record on the communicator; what goes backwards ends the track. */
static void walk_track(struct track *track, const struct evidence_rank *rank, uint32_t comm)
{
	uint64_t room = rank->ncalls > RECORD_RING ? rank->ncalls : RECORD_RING;

	if (rank->index.sig && !(rank->index.comms & 1u << comm))
		return;
	for (size_t i = 0; i < rank->ncalls; i++) {
		const struct record *r = &rank->calls[i];

		if (r->comm != comm)
			continue;
		if (r->seq <= track->last || r->seq > SEQ_MAX)
			return;
		track->whole = !track->final || (track->whole && r->seq == track->last + 1);
		if (!track->final || r->seq - track->first >= room)
			track->first = r->seq;
		track->last = r->seq;
		track->final = r;
	}
}

static uint64_t last_ticket(const struct evidence_rank *rank)
{
	if (rank->index.sig)
		return rank->index.last_ticket;
	return rank->ncalls ? rank->calls[rank->ncalls - 1].ticket : 0;
}

static void measure_track(struct track *track, const struct evidence_rank *rank,
                          const struct align *a)
{
	memset(track, 0, sizeof(*track));
	track->oldest = rank->calls;
	if (!measure_plain(track, rank, a))
		walk_track(track, rank, a->comm);
	if (track->final) {
		track->inside = newest(rank, track->final)->state == RECORD_ISSUING;
		track->last_kind = newest(rank, track->final)->kind;
	}
	/* who stands aside makes no calls by right */
	track->known = rank->present && (track->final || a->comm == 0) &&
	               rank->view.phase != PHASE_ASIDE && last_ticket(rank) >= rank->view.issued;
}

uint64_t align_signed(const struct align *a, const struct record *record)
{
	return a->closely ? align_signature_closely(record) : align_signature(record);
}

/* `sig`: room for first..last, zero. */
static void fill_track(struct track *track, uint64_t *sig, const struct evidence_rank *rank,
                       const struct align *a)
{
	const uint64_t *known = a->closely ? NULL : rank->index.sig;

	track->sig = sig;
	for (size_t i = 0; track->final && i < rank->ncalls; i++) {
		const struct record *r = &rank->calls[i];

		if (r->comm == a->comm && r->seq >= track->first && r->seq <= track->last)
			sig[r->seq - track->first] = known ? known[i] : align_signed(a, r);
		if (r == track->final)
			break;
	}
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The numbers that are compared: a hostile rank's must not make everyone else's disappear. */
static int set_window(struct align *a)
{
	uint64_t *lasts = malloc(((size_t)a->nranks + 1) * sizeof(*lasts));
	uint64_t low = UINT64_MAX, high = 0, median;
	size_t n = 0;

	if (!lasts)
		return -ENOMEM;
	for (int i = 0; i < a->nranks; i++)
		if (a->tracks[i].final)
			lasts[n++] = a->tracks[i].last;
	qsort(lasts, n, sizeof(*lasts), compare_words);
	median = n ? lasts[n / 2] : 0;
	free(lasts);
	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];

		if (!t->final || t->last + WINDOW < median || t->first > median + WINDOW)
			continue;
		low = t->first < low ? t->first : low;
		high = t->last > high ? t->last : high;
	}
	if (low + WINDOW < median)
		low = median - WINDOW;
	if (high > median + WINDOW)
		high = median + WINDOW;
	a->base = n ? low : 1;
	a->span = n ? (size_t)(high - low + 1) : 0;
	return 0;
}

uint64_t align_sig(const struct align *a, int rank, uint64_t seq)
{
	const struct track *t = &a->tracks[rank];

	return t->final && seq >= t->first && seq <= t->last ? t->sig[seq - t->first] : 0;
}

static uint64_t reference_at(const struct align *a, uint64_t seq)
{
	return seq >= a->base && seq - a->base < a->span ? a->reference[seq - a->base] : 0;
}

/* The part of a track inside the window: false when there is none. */
static bool clip(const struct align *a, const struct track *t, uint64_t *from, uint64_t *to)
{
	uint64_t end = a->base + a->span - 1;

	if (!t->final || a->span == 0 || t->last < a->base || t->first > end)
		return false;
	*from = t->first > a->base ? t->first : a->base;
	*to = t->last < end ? t->last : end;
	return true;
}

/* Boyer and Moore's vote for every call number at once, then a count of who agrees: two passes
 * over the tracks. Returns the first number without majority, 0: there is none. */
static uint64_t vote(struct align *a, const bool *in)
{
	uint64_t *votes = a->work, *total = a->work + a->span, from, to;

	memset(a->work, 0, 2 * a->span * sizeof(*a->work));
	memset(a->reference, 0, a->span * sizeof(*a->reference));
	for (int r = 0; r < a->nranks; r++) {
		if (!in[r] || !clip(a, &a->tracks[r], &from, &to))
			continue;
		for (uint64_t s = from; s <= to; s++) {
			uint64_t sig = a->tracks[r].sig[s - a->tracks[r].first], k = s - a->base;

			if (sig && votes[k] == 0)
				a->reference[k] = sig;
			if (sig)
				votes[k] += sig == a->reference[k] ? 1 : -1ull;
		}
	}
	memset(a->work, 0, 2 * a->span * sizeof(*a->work));
	for (int r = 0; r < a->nranks; r++) {
		if (!in[r] || !clip(a, &a->tracks[r], &from, &to))
			continue;
		for (uint64_t s = from; s <= to; s++) {
			uint64_t sig = a->tracks[r].sig[s - a->tracks[r].first], k = s - a->base;

			votes[k] += sig == a->reference[k];
			total[k] += sig != 0;
		}
	}
	for (size_t k = a->span; k-- > 0;)
		if (total[k] && votes[k] * 2 <= total[k])
			a->reference[k] = 0;
	for (size_t k = 0; k < a->span; k++)
		if (total[k] && !a->reference[k])
			return a->base + k;
	return 0;
}

static uint64_t first_difference(const struct align *a, int rank)
{
	uint64_t from, to;

	if (!clip(a, &a->tracks[rank], &from, &to))
		return 0;
	for (uint64_t s = from; s <= to; s++) {
		uint64_t sig = a->tracks[rank].sig[s - a->tracks[rank].first];
		uint64_t ref = a->reference[s - a->base];

		if (sig && ref && sig != ref)
			return s;
	}
	return 0;
}

const struct record *align_record(const struct align *a, int rank, uint64_t seq)
{
	const struct track *t = &a->tracks[rank];

	if (!t->final || seq < t->first || seq > t->last)
		return NULL;
	if (t->plain)
		return t->final - (t->last - seq);
	/* backwards from the newest: what is asked for stands near the end */
	for (const struct record *r = t->final;; r--) {
		if (r->comm == a->comm && r->seq == seq)
			return r;
		if (r == t->oldest)
			return NULL;
	}
}

const struct record *align_reference(const struct align *a, uint64_t seq)
{
	uint64_t sig = reference_at(a, seq);

	for (int r = 0; sig && r < a->nranks; r++)
		if (align_sig(a, r, seq) == sig)
			return align_record(a, r, seq);
	return NULL;
}

/* A schedule whose counts go by about equal steps (rounding makes them uneven): the call `ahead`
 * after `seq` in *next, and by how much its count may be off. False: no such schedule. */
static bool next_step(const struct align *a, uint64_t seq, uint64_t ahead, struct record *next,
		      uint64_t *off)
{
	const struct record *last[3];
	int64_t step, before;

	for (uint64_t i = 0; i < 3; i++) {
		last[i] = seq > i ? align_reference(a, seq - i) : NULL;
		if (!last[i])
			return false;
	}
	step = (int64_t)(last[0]->count - last[1]->count);
	before = (int64_t)(last[1]->count - last[2]->count);
	if (step == 0 || llabs(step / 4 - before / 4) > llabs(step / 32))
		return false;
	*next = *last[0];
	next->count = last[1]->count;
	if (align_signed(a, next) != align_signed(a, last[1]))
		return false; /* more than the count changes */
	next->count = last[0]->count + (uint64_t)step * ahead;
	*off = (uint64_t)llabs(step / 8) * ahead;
	return true;
}

/* Is rank's call `seq` what such a schedule has `ahead` calls after `before`? */
static bool is_step(const struct align *a, int rank, uint64_t seq, uint64_t before, uint64_t ahead)
{
	const struct record *made = align_record(a, rank, seq);
	struct record next, same;
	uint64_t off = 0;

	if (!made || !next_step(a, before, ahead, &next, &off))
		return false;
	same = *made;
	same.count = next.count;
	return align_signed(a, &same) == align_signed(a, &next) &&
	       made->count - next.count + off <= 2 * off;
}

/* The shortest period that the reference has had up to `seq`, 0: none. */
static uint64_t period(const struct align *a, uint64_t seq)
{
	for (uint64_t p = 1; p <= PERIOD_MAX && seq >= a->base + 2 * p; p++) {
		uint64_t need = p < 3 ? 3 : p, i = 0;

		while (i < need && seq >= a->base + i + p && reference_at(a, seq - i) &&
		       reference_at(a, seq - i) == reference_at(a, seq - i - p))
			i++;
		if (i == need)
			return p;
	}
	return 0;
}

/* What the reference up to `seq` itself says of the call after it: its period goes on. 0: it
 * says nothing. */
static uint64_t next_expected(const struct align *a, uint64_t seq)
{
	uint64_t p = period(a, seq);

	return p ? reference_at(a, seq + 1 - p) : 0;
}

/* The others stand in call `at`: are rank's calls from `at` on those that the schedule so far
 * has from the one after? */
static bool runs_ahead(const struct align *a, int rank, uint64_t at)
{
	uint64_t p = period(a, at);

	for (uint64_t s = at; s <= a->tracks[rank].last; s++) {
		uint64_t ahead = s + 1 - at;

		if (p ? align_sig(a, rank, s) != reference_at(a, at + 1 + (ahead - 1) % p - p)
		      : !is_step(a, rank, s, at, ahead))
			return false;
	}
	return true;
}

/* Is `less` what `more` is without its call `at`? */
static bool lacks_one(const struct align *a, int less, int more, uint64_t at)
{
	uint64_t compared = 0;

	for (uint64_t s = at; s <= a->tracks[less].last && s < a->tracks[more].last; s++) {
		uint64_t x = align_sig(a, less, s), y = align_sig(a, more, s + 1);

		if (x && y && x != y)
			return false;
		compared += x && y;
	}
	return compared > 0;
}

/* A tie at call `at`, between the sides of ranks x and y: the signature that the sequences
 * themselves call right, 0: they do not say. */
static uint64_t right_side(const struct align *a, int x, int y, uint64_t at)
{
	uint64_t sx = align_sig(a, x, at), sy = align_sig(a, y, at),
		 next = next_expected(a, at - 1);
	bool x_lacks = lacks_one(a, x, y, at), y_lacks = lacks_one(a, y, x, at);

	if (next && (next == sx || next == sy))
		return next;
	if (is_step(a, x, at, at - 1, 1) != is_step(a, y, at, at - 1, 1))
		return is_step(a, x, at, at - 1, 1) ? sx : sy;
	if (x_lacks == y_lacks)
		return 0;
	/* The longer side's call is one too many if it repeats the one before it, else the other
	 * lacks it. */
	if (x_lacks)
		return sy == align_sig(a, y, at - 1) ? sx : sy;
	return sx == align_sig(a, x, at - 1) ? sy : sx;
}

/* Keep one side of the tie at `at` in the vote. False when neither is right. */
static bool take_side(struct align *a, bool *in, uint64_t at)
{
	int x = -1, y = -1;
	uint64_t right = 0;

	for (int r = 0; r < a->nranks; r++) {
		uint64_t sig = in[r] ? align_sig(a, r, at) : 0;

		if (!sig)
			continue;
		if (x < 0)
			x = r;
		else if (y < 0 && sig != align_sig(a, x, at))
			y = r;
		else if (y >= 0 && sig != align_sig(a, x, at) && sig != align_sig(a, y, at))
			return false; /* more than two opinions */
	}
	if (x >= 0 && y >= 0)
		right = right_side(a, x, y, at);
	for (int r = 0; right && r < a->nranks; r++) {
		uint64_t sig = align_sig(a, r, at);

		in[r] = in[r] && (!sig || sig == right);
	}
	return right != 0;
}

/* Ranks that have left the majority before `tie` (0: anywhere) have no vote about what comes
 * later. */
static bool exclude(const struct align *a, bool *in, uint64_t tie)
{
	bool any = false;

	for (int r = 0; r < a->nranks; r++) {
		uint64_t at = in[r] ? first_difference(a, r) : 0;

		if (at && (!tie || at < tie)) {
			in[r] = false;
			any = true;
		}
	}
	return any;
}

static int find_reference(struct align *a)
{
	bool *in = malloc((size_t)a->nranks + 1);

	if (!in)
		return -ENOMEM;
	memset(in, 1, (size_t)a->nranks + 1);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t tie = vote(a, in);

		if (exclude(a, in, tie))
			continue;
		if (!tie)
			break;
		if (!a->tie)
			a->tie = tie;
		if (!take_side(a, in, tie))
			break;
		a->sided = a->tie == tie || a->sided;
	}
	free(in);
	return 0;
}

/* The most calls that any other rank made. */
static uint64_t others_last(const struct align *a, int rank)
{
	return rank == a->top_rank ? a->second : a->top;
}

static void find_top(struct align *a)
{
	a->top_rank = -1;
	for (int r = 0; r < a->nranks; r++) {
		const struct track *t = &a->tracks[r];

		if (!t->known)
			continue;
		if (a->top_rank < 0 || t->last > a->top) {
			a->second = a->top;
			a->top = t->last;
			a->top_rank = r;
		} else if (t->last > a->second) {
			a->second = t->last;
		}
	}
}

int align_init(struct align *a, const struct evidence *evidence, uint32_t comm, bool closely)
{
	size_t words = 0, at = 0;
	int rc;

	memset(a, 0, sizeof(*a));
	a->comm = comm;
	a->nranks = evidence->nranks;
	a->closely = closely;
	a->tracks = calloc((size_t)a->nranks + 1, sizeof(*a->tracks));
	if (!a->tracks)
		return -ENOMEM;
	for (int i = 0; i < a->nranks; i++) {
		measure_track(&a->tracks[i], &evidence->ranks[i], a);
		if (a->tracks[i].final && !a->tracks[i].sig)
			words += (size_t)(a->tracks[i].last - a->tracks[i].first + 1);
	}
	rc = set_window(a);
	if (rc < 0)
		return rc;
	a->arena = calloc(words + 1, sizeof(*a->arena));
	a->reference = calloc(a->span + 1, sizeof(*a->reference));
	a->work = calloc(2 * a->span + 1, sizeof(*a->work));
	if (!a->arena || !a->reference || !a->work)
		return -ENOMEM;
	for (int i = 0; i < a->nranks; i++) {
		if (a->tracks[i].sig || !a->tracks[i].final)
			continue;
		fill_track(&a->tracks[i], a->arena + at, &evidence->ranks[i], a);
		at += (size_t)(a->tracks[i].last - a->tracks[i].first + 1);
	}
	find_top(a);
	return find_reference(a);
}

void align_release(struct align *a)
{
	free(a->tracks);
	free(a->arena);
	free(a->reference);
	free(a->work);
	memset(a, 0, sizeof(*a));
}

/* How many calls after `at` speak for the rank being the reference moved by `shift` (positive:
 * it lacks calls), -1: some call speaks against it. */
static int64_t fits(const struct align *a, int rank, uint64_t at, int64_t shift)
{
	uint64_t from = shift < 0 ? at + (uint64_t)-shift : at + (shift == 0);
	int64_t n = 0;

	for (uint64_t s = from; s <= a->tracks[rank].last; s++) {
		uint64_t sig = align_sig(a, rank, s), ref = reference_at(a, s + (uint64_t)shift);

		if (sig && ref && sig != ref)
			return -1;
		n += sig && ref;
	}
	return n;
}

/* Nothing follows the call that differs: it may be the one after (skipped) or the one before
 * once more (extra). */
static enum deviation_kind judge_last(const struct align *a, int rank, uint64_t at)
{
	uint64_t sig = align_sig(a, rank, at), next = reference_at(a, at + 1);
	bool extra = sig == reference_at(a, at - 1), skipped;

	skipped = next ? sig == next : runs_ahead(a, rank, at);
	if (extra && skipped)
		return DEVIATION_UNCLEAR;
	return extra ? DEVIATION_EXTRA : skipped ? DEVIATION_SKIPPED : DEVIATION_FIELD;
}

/* Several explanations fit: how many calls the rank made in all decides. */
static enum deviation_kind judge_length(const struct align *a, int rank, bool skipped, bool extra)
{
	uint64_t mine = a->tracks[rank].last, others = others_last(a, rank);

	if (skipped && mine < others)
		return DEVIATION_SKIPPED;
	if (extra && mine > others)
		return DEVIATION_EXTRA;
	return DEVIATION_UNCLEAR;
}

static enum deviation_kind judge(const struct align *a, int rank, uint64_t at, uint64_t *shift)
{
	bool field = fits(a, rank, at, 0) > 0;
	bool ahead = !reference_at(a, at + 1) && runs_ahead(a, rank, at);

	*shift = 1;
	if (at == a->tracks[rank].last)
		return judge_last(a, rank, at);
	for (uint64_t n = 1; n <= SHIFT_MAX; n++) {
		bool skipped = fits(a, rank, at, (int64_t)n) > 0 || (n == 1 && ahead);
		bool extra = n < at && fits(a, rank, at, -(int64_t)n) > 0;

		*shift = n;
		if (!skipped && !extra)
			continue;
		if (field || (skipped && extra))
			return judge_length(a, rank, skipped, extra);
		return skipped ? DEVIATION_SKIPPED : DEVIATION_EXTRA;
	}
	return field ? DEVIATION_FIELD : DEVIATION_UNCLEAR;
}

uint64_t align_run(const struct align *a, uint64_t seq)
{
	while (seq > a->base && reference_at(a, seq) &&
	       reference_at(a, seq - 1) == reference_at(a, seq))
		seq--;
	return seq;
}

/* Removing or adding the calls a little earlier would have given the same sequence. */
static uint64_t earliest(const struct align *a, int rank, uint64_t at, const struct deviation *d)
{
	const struct track *t = &a->tracks[rank];

	if (at == t->first && t->first > 1)
		return 1; /* it lies before what the ring still holds */
	while (at > a->base + 1) {
		uint64_t now, then;

		if (d->kind == DEVIATION_SKIPPED) {
			now = reference_at(a, at - 1 + d->shift);
			then = reference_at(a, at - 1);
		} else {
			now = align_sig(a, rank, at - 1 + d->shift);
			then = align_sig(a, rank, at - 1);
		}
		if (!now || now != then)
			break;
		at--;
	}
	return at;
}

/* How many calls speak for the rank having the reference's plan, but for the deviation. */
static uint64_t agreed(const struct align *a, int rank, uint64_t at, const struct deviation *d)
{
	int64_t shift = d->kind == DEVIATION_SKIPPED ? (int64_t)d->shift
		      : d->kind == DEVIATION_EXTRA   ? -(int64_t)d->shift
						     : 0;
	int64_t behind = fits(a, rank, at, shift);
	uint64_t n = behind > 0 ? (uint64_t)behind : 0, from, to;

	if (clip(a, &a->tracks[rank], &from, &to))
		for (uint64_t s = from; s < at; s++)
			n += align_sig(a, rank, s) && align_sig(a, rank, s) == reference_at(a, s);
	return n;
}

struct deviation align_compare(const struct align *a, int rank)
{
	uint64_t at = first_difference(a, rank);
	struct deviation d = { .kind = DEVIATION_NONE };

	if (!at)
		return d;
	d.kind = judge(a, rank, at, &d.shift);
	d.low = d.high = at;
	if (d.kind == DEVIATION_SKIPPED || d.kind == DEVIATION_EXTRA)
		d.low = earliest(a, rank, at, &d);
	d.agreed = agreed(a, rank, at, &d);
	return d;
}
