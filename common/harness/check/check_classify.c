/* check_classify.c: finds a single cause that explains every wrong element of a window. */
#include "check/check_classify.h"

/* A kind is named only if random data would match it with at most this probability. */
#define LUCK_LIMIT 0.01

/* The wrong elements and their surroundings. Window element i has pool index `index` + i. */
struct scene {
	struct check_plan plan;
	const struct segment *segment;
	uint64_t index;
	int64_t low, high; /* window elements [low, high) lie in the segment */
	size_t last;	   /* wrong elements lie in [0, last) */
	size_t wrong;
	double luck; /* probability that two neighbouring elements are equal */
	uint64_t got[CHECK_WINDOW];
	/* expected elements, from window element -CHECK_REACH on */
	uint64_t around[CHECK_REACH + CHECK_WINDOW + CHECK_REACH];
};

uint64_t check_expected_at(const struct check_plan *p, const struct segment *segment,
			   uint64_t index)
{
	if (segment->kind == SEGMENT_KEEP)
		return p->poison;
	if (segment->kind == SEGMENT_COPY)
		return check_element_at(p, (uint32_t)segment->from, index, check_turn(p, index));
	return check_reduced_at(p, index, check_turn(p, index));
}

static uint64_t expected(const struct scene *s, int64_t i)
{
	return s->around[i + CHECK_REACH];
}

/* ---- A reduction with one contribution missing, doubled or replaced ---- */

struct change {
	uint32_t rank, times; /* its contribution counts `times` times */
	bool replaced;	      /* its contribution is `bits` */
	uint64_t bits;
};

/* A neutral element counts if it has been replaced. Doubles hold every sum and product exactly. */
static uint64_t reduced_with(const struct check_plan *p, uint64_t index,
			     const struct change *change)
{
	uint32_t turn = check_turn(p, index), rank = turn, count;
	uint32_t active = change->replaced ? p->nranks : p->active;
	bool real = check_is_float(p->dtype) && p->fold != FOLD_MAX;
	uint64_t carrier = p->start, next;
	double sum = 0, product = 1, value;

	for (uint32_t phase = 0; phase < active; phase++) {
		uint64_t bits = rank == change->rank && change->replaced
					? change->bits
					: check_element_at(p, rank, index, turn);

		value = real ? check_decode(p->dtype, bits) * (1 + (rank & p->scaled)) : 0;
		next = (p->fold == FOLD_MAX ? check_to_key(p, bits) : bits) << (rank & p->scaled);
		for (count = rank == change->rank ? change->times : 1; count > 0; count--) {
			sum += value;
			product *= value;
			carrier = check_folded(p, carrier, next);
		}
		rank = check_next_turn(p, rank, 1);
	}
	if (p->op == OP_AVG)
		return check_average(p, real ? (uint64_t)(int64_t)sum : carrier);
	if (real)
		return check_round(p->dtype, p->op == OP_PROD ? product : sum);
	return check_carried(p, carrier, p->active);
}

uint64_t check_reduced_with(const struct check_plan *p, uint64_t index, uint32_t culprit,
			    uint32_t times)
{
	return reduced_with(p, index, &(struct change){ .rank = culprit, .times = times });
}

uint64_t check_reduced_flipped(const struct check_plan *p, uint64_t index, uint32_t culprit,
			       uint32_t bit)
{
	uint64_t bits = check_element_at(p, culprit, index, check_turn(p, index));

	return reduced_with(p, index,
			    &(struct change){ .rank = culprit,
					      .times = 1,
					      .replaced = true,
					      .bits = bits ^ (uint64_t)1 << bit });
}

/* ---- Hypotheses ---- */

static bool all_wrong_are(const struct scene *s, uint64_t value)
{
	for (size_t i = 0; i < s->last; i++)
		if (s->got[i] != expected(s, (int64_t)i) && s->got[i] != value)
			return false;
	return true;
}

static bool all_wrong_are_nan(const struct scene *s)
{
	if (!check_is_float(s->plan.dtype))
		return false;
	for (size_t i = 0; i < s->last; i++)
		if (s->got[i] != expected(s, (int64_t)i) &&
		    !isnan(check_decode(s->plan.dtype, s->got[i])))
			return false;
	return true;
}

/* Returns true if random data of this kind may pass one of `trials` tests on `tested` elements. */
static bool may_be_luck(const struct scene *s, double trials, size_t tested)
{
	return trials * pow(s->luck, (double)tested) > LUCK_LIMIT;
}

/* Ranks whose contribution, with this multiplicity, explains the wrong elements (fit), and also the
 * correct ones between them (fit_all). */
struct contributors {
	int fit, fit_all;
	uint32_t first, first_all;
};

static void try_contributor(const struct scene *s, uint32_t rank, uint32_t times,
			    struct contributors *fits)
{
	bool all = true, wrong, same;

	for (size_t i = 0; i < s->last; i++) {
		wrong = s->got[i] != expected(s, (int64_t)i);
		same = check_reduced_with(&s->plan, s->index + i, rank, times) == s->got[i];
		if (wrong && !same)
			return;
		all &= same;
	}
	if (fits->fit++ == 0)
		fits->first = rank;
	if (all && fits->fit_all++ == 0)
		fits->first_all = rank;
}

static int culprit_of(const struct contributors *fits)
{
	if (fits->fit == 1)
		return (int)fits->first;
	return fits->fit_all == 1 ? (int)fits->first_all : -1;
}

static bool name_contribution(const struct scene *s, struct check_report *report)
{
	struct contributors missing = { 0 }, doubled = { 0 };
	bool is_missing;

	if (s->segment->kind != SEGMENT_REDUCE || may_be_luck(s, 2.0 * s->plan.active, s->wrong))
		return false;
	for (uint32_t rank = 0; rank < s->plan.nranks; rank++) {
		try_contributor(s, rank, 0, &missing);
		try_contributor(s, rank, 2, &doubled);
	}
	if (!missing.fit && !doubled.fit)
		return false;
	/* One rank's missing 3 and another's doubled -3 give one result: correct elements tell. */
	if (missing.fit && doubled.fit && !missing.fit_all == !doubled.fit_all)
		return false;
	is_missing = missing.fit && (!doubled.fit || missing.fit_all);
	report->kind = is_missing ? WRONG_MISSING : WRONG_DOUBLED;
	report->culprit = culprit_of(is_missing ? &missing : &doubled);
	return true;
}

/* One flipped bit in rank `rank`'s contribution to the first element explains it. */
static bool flip_fits(const struct scene *s, uint32_t rank)
{
	for (uint32_t bit = 0; bit < 8 * s->plan.width; bit++)
		if (check_reduced_flipped(&s->plan, s->index, rank, bit) == s->got[0])
			return true;
	return false;
}

/* One flipped bit in a single element, or in one rank's contribution to it. */
static bool name_flip(const struct scene *s, struct check_report *report)
{
	uint64_t differ = s->got[0] ^ expected(s, 0);
	bool reduced = s->segment->kind == SEGMENT_REDUCE;
	uint32_t ranks = reduced ? s->plan.nranks : 1;
	int fits = 0;

	if (s->wrong != 1 || may_be_luck(s, 8.0 * s->plan.width * ranks, 1))
		return false;
	for (uint32_t rank = 0; reduced && rank < ranks; rank++)
		fits += flip_fits(s, rank);
	/* a flipped bit of the sum can look like one of a contribution */
	report->culprit = -1;
	if (!fits && (differ & (differ - 1)))
		return false;
	report->kind = WRONG_FLIPPED;
	return true;
}

/* Counts the wrong elements that equal the expected ones `shift` earlier; 0: one contradicts. */
static size_t explained_by_shift(const struct scene *s, int64_t shift)
{
	size_t explained = 0;

	for (int64_t i = 0; i < (int64_t)s->last; i++) {
		if (i - shift < s->low || i - shift >= s->high)
			continue; /* came from outside the segment: unknown */
		if (s->got[i] != expected(s, i - shift))
			return 0;
		explained += s->got[i] != expected(s, i);
	}
	return explained;
}

static bool name_shift(const struct scene *s, struct check_report *report)
{
	size_t explained, best = 0;
	int fits = 0;

	for (int64_t shift = -CHECK_REACH; shift <= CHECK_REACH; shift++) {
		explained = shift ? explained_by_shift(s, shift) : 0;
		if (!explained || may_be_luck(s, 2.0 * CHECK_REACH, explained))
			continue;
		/* Near the ends of a segment a wide shift is tested on few elements: the best
		 * tested shift counts. */
		fits = explained > best ? 1 : fits + (explained == best);
		if (explained > best) {
			best = explained;
			report->shift = shift;
		}
	}
	if (fits != 1) {
		report->shift = 0;
		return false;
	}
	report->kind = WRONG_SHIFTED;
	return true;
}

/* ---- The scene ---- */

static void look_around(struct scene *s, size_t n)
{
	size_t first = s->index < CHECK_REACH ? (size_t)(CHECK_REACH - s->index) : 0;
	size_t end = CHECK_REACH + n + CHECK_REACH;
	uint64_t equal = 0, pairs = (uint64_t)(end - first) * (end - first - 1) / 2;

	for (size_t i = first; i < end; i++)
		s->around[i] = check_expected_at(&s->plan, s->segment, s->index + i - CHECK_REACH);
	for (size_t i = first; i < end; i++)
		for (size_t j = i + 1; j < end; j++)
			equal += s->around[i] == s->around[j];
	s->luck = ((double)equal + 0.5) / (double)(pairs + 1);
	if (s->low < (int64_t)first - CHECK_REACH)
		s->low = (int64_t)first - CHECK_REACH;
	if (s->high > (int64_t)n + CHECK_REACH)
		s->high = (int64_t)n + CHECK_REACH;
}

static void set_scene(struct scene *s, const struct check_data *data, const struct segment *segment,
		      uint64_t base, uint64_t at, size_t n, const char *got)
{
	memset(s, 0, sizeof(*s));
	check_plan(data, &s->plan);
	s->segment = segment;
	s->index = base + segment->from_at + (at - segment->at);
	s->low = (int64_t)segment->at - (int64_t)at;
	s->high = s->low + (int64_t)segment->count;
	look_around(s, n);
	for (size_t i = 0; i < n; i++) {
		memcpy(&s->got[i], got + i * s->plan.width, s->plan.width);
		if (s->got[i] == expected(s, (int64_t)i))
			continue;
		s->wrong++;
		s->last = i + 1;
	}
}

void check_classify(const struct check_data *data, const struct segment *segment, uint64_t base,
		    uint64_t at, size_t n, const void *got, struct check_report *report)
{
	struct scene s;
	uint64_t first;

	set_scene(&s, data, segment, base, at, n, got);
	first = expected(&s, 0);
	dtype_format(data->dtype, &first, report->expected, sizeof(report->expected));
	dtype_format(data->dtype, got, report->got, sizeof(report->got));
	report->kind = WRONG_OTHER;
	report->culprit = -1;
	report->shift = 0;
	if (segment->kind == SEGMENT_KEEP)
		report->kind = WRONG_KEEP;
	else if (!s.wrong)
		return; /* correct by now: another writer changed it */
	else if (all_wrong_are(&s, 0))
		report->kind = WRONG_ZERO;
	else if (all_wrong_are(&s, s.plan.poison))
		report->kind = WRONG_STALE;
	else if (all_wrong_are_nan(&s))
		report->kind = WRONG_NAN;
	else if (!name_contribution(&s, report) && !name_shift(&s, report))
		name_flip(&s, report);
}
