/* test_check.c: fill and verify, and that each way to be wrong is counted, located and named, on
 * host memory. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check_element.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- A backend on host memory ---- */

static int fetches_until_failure = -1;

static int fake_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
                       const struct check_data *data, uint64_t base, struct verify_result *result)
{
	(void)be;
	check_verify(data, recv, segments, n, base, result);
	return 0;
}

static int fake_fetch(struct backend *be, void *host, const void *src, size_t bytes)
{
	(void)be;
	if (fetches_until_failure >= 0 && fetches_until_failure-- == 0)
		return -EIO;
	memcpy(host, src, bytes);
	return 0;
}

static int failing_verify(struct backend *be, const void *recv, const struct segment *segments,
                          int n, const struct check_data *data, uint64_t base,
                          struct verify_result *result)
{
	(void)be, (void)recv, (void)segments, (void)n, (void)data, (void)base, (void)result;
	return -ENODEV;
}

static const struct backend_ops fake_ops = { .name = "fake",
	                                     .verify = fake_verify,
	                                     .fetch = fake_fetch };
static const struct backend_ops failing_ops = { .name = "failing",
	                                        .verify = failing_verify,
	                                        .fetch = fake_fetch };
static struct backend fake = { .ops = &fake_ops };

/* ---- One finished call: filled send pool, guarded receive buffer with right results ---- */

#define COUNT 3000
#define BASE 8192 /* so many elements before the send buffer: more than a guard of any type */

struct scene {
	struct check_data data;
	struct segment segments[4];
	struct check_place place;
	size_t width;
	char *pool, *area, *send, *recv;
};

static void right_results(struct scene *s)
{
	for (int i = 0; i < s->place.nsegments; i++) {
		const struct segment *g = &s->segments[i];

		for (size_t k = 0; k < g->count && g->kind != SEGMENT_KEEP; k++) {
			char *to = s->recv + (g->at + k) * s->width;

			if (g->kind == SEGMENT_COPY)
				check_element(&s->data, g->from, s->place.base + g->from_at + k,
				              to);
			else
				check_reduced(&s->data, s->place.base + g->from_at + k, to);
		}
	}
}

static void scene_init(struct scene *s, enum dtype type, enum redop op, int nranks,
                       const struct segment *segments, int n)
{
	size_t width = dtype_size(type), pool = (BASE + COUNT + CHECK_GUARD) * width, i;
	size_t area = COUNT * width + 2 * CHECK_GUARD;

	memset(s, 0, sizeof(*s));
	s->data = (struct check_data){ 42, type, op, nranks, true };
	s->width = width;
	s->pool = malloc(pool);
	s->area = malloc(area);
	check_fill(&s->data, 1, 0, pool / width, s->pool);
	memset(s->area, CHECK_POISON, area);
	s->send = s->pool + BASE * width;
	s->recv = s->area + CHECK_GUARD;
	for (i = 0; i < (size_t)n; i++)
		s->segments[i] = segments[i];
	s->place = (struct check_place){
		.recv = s->recv,
		.recv_bytes = COUNT * width,
		.send = s->send,
		.send_bytes = COUNT * width,
		.guards = true,
		.segments = s->segments,
		.nsegments = n,
		.base = BASE,
	};
	right_results(s);
}

static void scene_reduce(struct scene *s, enum dtype type, enum redop op, int nranks)
{
	const struct segment all = { .kind = SEGMENT_REDUCE, .count = COUNT, .from = -1 };

	scene_init(s, type, op, nranks, &all, 1);
}

/* An all-gather of three ranks, moved data. */
static void scene_gather(struct scene *s, enum dtype type)
{
	const struct segment parts[] = {
		{ SEGMENT_COPY, 0, 1000, 0, 0 },
		{ SEGMENT_COPY, 1000, 1000, 1, 0 },
		{ SEGMENT_COPY, 2000, 1000, 2, 0 },
	};

	scene_init(s, type, OP_NONE, 3, parts, 3);
}

static void scene_release(struct scene *s)
{
	free(s->pool);
	free(s->area);
}

static struct check_report checked(struct scene *s)
{
	struct check_report report;

	memset(&report, 0x5a, sizeof(report));
	CU_ASSERT_EQUAL(check_call(&fake, &s->data, 1, &s->place, &report), 0);
	CU_ASSERT_EQUAL(report.rank, 1);
	return report;
}

/* Spoil [at, at + count) in the buffer; returns what check_spoil does, and where the first changed
 * element is. */
static int spoil(struct scene *s, enum wrong_kind kind, int culprit, size_t at, size_t count,
                 size_t *first)
{
	char *dst = malloc(count * s->width), *good = s->recv + at * s->width;
	const struct segment *segment = s->segments;
	int rc;

	while (at >= segment->at + segment->count)
		segment++;
	rc = check_spoil(&s->data, kind, segment, s->place.base, culprit, good, at, count, dst);
	*first = at;
	if (rc == 0) {
		while (!memcmp(dst + (*first - at) * s->width, good + (*first - at) * s->width,
		               s->width))
			++*first;
		memcpy(good, dst, count * s->width);
	}
	free(dst);
	return rc;
}

/* ---- Fill and verify ---- */

static void test_fill_is_element(void)
{
	const uint64_t bases[] = { 0, 7, ((uint64_t)1 << 32) - 300, ((uint64_t)5 << 32) + 1 };
	const int nranks[] = { 1, 2, 4, 7, 40 };
	uint64_t filled[700], one;
	uint32_t wrong = 0;

	for (int k = 0; k < DT_COUNT * (OP_COUNT + 1) * (int)LENGTH(bases) * (int)LENGTH(nranks);
	     k++) {
		int rest = k / DT_COUNT / (OP_COUNT + 1);
		struct check_data data = { 3, (enum dtype)(k % DT_COUNT),
			                   (enum redop)(k / DT_COUNT % (OP_COUNT + 1) - 1),
			                   nranks[rest % (int)LENGTH(nranks)], true };
		uint64_t base = bases[rest / (int)LENGTH(nranks)];
		size_t width = dtype_size(data.dtype);
		int rank = data.nranks - 1;

		check_fill(&data, rank, base, LENGTH(filled), filled);
		for (size_t i = 0; i < LENGTH(filled); i++) {
			check_element(&data, rank, base + i, &one);
			wrong += memcmp((char *)filled + i * width, &one, width) != 0;
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

static void test_fill_bounds(void)
{
	const struct check_data data = { 3, DT_INT8, OP_NONE, 4, false };
	unsigned char buf[8] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	unsigned char two[2];

	check_fill(&data, 2, 100, 0, buf);
	CU_ASSERT_EQUAL(buf[0], 9);
	check_fill(&data, 2, 100, 2, buf + 3);
	check_element(&data, 2, 100, &two[0]);
	check_element(&data, 2, 101, &two[1]);
	CU_ASSERT(buf[2] == 9 && buf[3] == two[0] && buf[4] == two[1] && buf[5] == 9);
}

static void test_right_data_pass(void)
{
	const int nranks[] = { 1, 2, 4, 7, 40 };

	for (int type = 0; type < DT_COUNT; type++) {
		for (int op = 0; op < OP_COUNT; op++) {
			for (size_t n = 0; n < LENGTH(nranks); n++) {
				struct scene s;
				struct check_report report;

				scene_reduce(&s, (enum dtype)type, (enum redop)op, nranks[n]);
				report = checked(&s);
				CU_ASSERT_EQUAL(report.wrong, 0);
				CU_ASSERT_EQUAL(report.kind, WRONG_NONE);
				scene_release(&s);
			}
		}
	}
}

static void test_verify_counts(void)
{
	struct verify_result result = { 99, 99 };
	struct scene s;

	scene_gather(&s, DT_INT32);
	check_verify(&s.data, s.recv, s.segments, 3, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	s.recv[4 * 1999] ^= 1;
	s.recv[4 * 1000 + 3] ^= 0x40;
	s.recv[4 * 2999] ^= 1;
	check_verify(&s.data, s.recv, s.segments, 3, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 3);
	CU_ASSERT_EQUAL(result.first, 1000);
	/* the first wrong element is the lowest, in whatever order the segments come */
	check_verify(&s.data, s.recv, (struct segment[]){ s.segments[2], s.segments[1] }, 2, BASE,
	             &result);
	CU_ASSERT_EQUAL(result.wrong, 3);
	CU_ASSERT_EQUAL(result.first, 1000);
	/* elements outside all segments are nobody's business */
	check_verify(&s.data, s.recv, s.segments, 1, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	check_verify(&s.data, s.recv, s.segments, 0, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	scene_release(&s);
}

/* ---- Names ---- */

/* Every kind that a reduction can suffer, for every type and operator. */
static void test_reduction_kinds(void)
{
	const enum wrong_kind kinds[] = { WRONG_ZERO,    WRONG_STALE, WRONG_SHIFTED, WRONG_MISSING,
		                          WRONG_DOUBLED, WRONG_NAN,   WRONG_OTHER };

	for (int k = 0; k < DT_COUNT * OP_COUNT * (int)LENGTH(kinds); k++) {
		enum dtype type = (enum dtype)(k % DT_COUNT);
		enum redop op = (enum redop)(k / DT_COUNT % OP_COUNT);
		enum wrong_kind kind = kinds[k / DT_COUNT / OP_COUNT];
		bool extreme = op == OP_MAX || op == OP_MIN, possible;
		struct check_report report;
		struct scene s;
		size_t first;

		possible = !(kind == WRONG_NAN && !check_is_float(type)) &&
		           !(kind == WRONG_DOUBLED && extreme);
		scene_reduce(&s, type, op, 4);
		CU_ASSERT_EQUAL(spoil(&s, kind, 2, 500, 400, &first), possible ? 0 : -EINVAL);
		report = checked(&s);
		CU_ASSERT_EQUAL(report.kind, possible ? (int)kind : WRONG_NONE);
		CU_ASSERT_EQUAL(report.wrong != 0, possible);
		CU_ASSERT_EQUAL(report.element, possible ? first : 0);
		CU_ASSERT_EQUAL(report.shift, possible && kind == WRONG_SHIFTED);
		CU_ASSERT_EQUAL(report.culprit,
		                possible && (kind == WRONG_MISSING || kind == WRONG_DOUBLED) ? 2 :
		                                                                               -1);
		scene_release(&s);
	}
}

static void test_many_ranks(void)
{
	const enum dtype types[] = {
		DT_INT8, DT_FLOAT, DT_BFLOAT16, DT_F8E4M3, DT_F8E5M2, DT_DOUBLE
	};
	const enum redop ops[] = { OP_SUM, OP_PROD, OP_MAX, OP_AVG, OP_MULSUM };

	for (size_t k = 0; k < LENGTH(types) * LENGTH(ops) * 2; k++) {
		enum wrong_kind kind = k % 2 ? WRONG_MISSING : WRONG_SHIFTED;
		struct check_report report;
		struct scene s;
		size_t first;

		scene_reduce(&s, types[k / 2 % LENGTH(types)], ops[k / 2 / LENGTH(types)], 40);
		/* an average of 40 small numbers is mostly 0, whatever is missing */
		if (s.data.dtype != DT_INT8 || s.data.op != OP_AVG) {
			CU_ASSERT_EQUAL(spoil(&s, kind, 33, 0, COUNT, &first), 0);
			report = checked(&s);
			CU_ASSERT_EQUAL(report.kind, (int)kind);
			CU_ASSERT_EQUAL(report.element, first);
			CU_ASSERT_EQUAL(report.culprit, kind == WRONG_MISSING ? 33 : -1);
		}
		scene_release(&s);
	}
}

static void test_copy_kinds(void)
{
	const enum wrong_kind kinds[] = { WRONG_ZERO, WRONG_STALE, WRONG_SHIFTED, WRONG_NAN,
		                          WRONG_OTHER };

	for (int k = 0; k < DT_COUNT * (int)LENGTH(kinds); k++) {
		enum wrong_kind kind = kinds[k / DT_COUNT];
		struct check_report report;
		struct scene s;
		size_t first;

		scene_gather(&s, (enum dtype)(k % DT_COUNT));
		if (spoil(&s, kind, -1, 1200, 700, &first) < 0) {
			CU_ASSERT(kind == WRONG_NAN && !check_is_float(s.data.dtype));
		} else {
			report = checked(&s);
			CU_ASSERT_EQUAL(report.kind, (int)kind);
			CU_ASSERT_EQUAL(report.element, first);
			CU_ASSERT_EQUAL(report.shift, kind == WRONG_SHIFTED);
		}
		scene_release(&s);
	}
}

static void test_report_text(void)
{
	struct check_report report;
	struct scene s;
	float wrong = -7;
	char expected[48], line[200];

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	dtype_format(DT_FLOAT, s.recv + 4 * 17, expected, sizeof(expected));
	memcpy(s.recv + 4 * 17, &wrong, 4);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.wrong, 1);
	CU_ASSERT_EQUAL(report.element, 17);
	CU_ASSERT_EQUAL(report.kind, WRONG_OTHER);
	CU_ASSERT_STRING_EQUAL(report.expected, expected);
	CU_ASSERT_STRING_EQUAL(report.got, "-7 (0xc0e00000)");
	CU_ASSERT_PTR_EQUAL(check_describe(&report, line, sizeof(line)), line);
	CU_ASSERT_PTR_NOT_NULL(strstr(line, "rank 1 element 17: expected "));
	CU_ASSERT_PTR_NOT_NULL(strstr(line, " got -7 (0xc0e00000): other (1 wrong)"));
	scene_release(&s);
}

/* ---- Shifts ---- */

static void test_shift_distances(void)
{
	const struct {
		int shift;
		bool named;
	} cases[] = { { 1, true },  { -1, true },  { 3, true },   { -64, true },
		      { 64, true }, { 65, false }, { -65, false } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct check_report report;
		struct scene s;

		scene_reduce(&s, DT_F8E4M3, OP_SUM, 4);
		memmove(s.recv + 1000, s.recv + 1000 - cases[i].shift, 500);
		report = checked(&s);
		CU_ASSERT_EQUAL(report.kind, cases[i].named ? WRONG_SHIFTED : WRONG_OTHER);
		CU_ASSERT_EQUAL(report.shift, cases[i].named ? cases[i].shift : 0);
		scene_release(&s);
	}
}

/* All data of a gather 5 elements too late: the first ones of each segment come from another
 * rank's. */
static void test_shift_of_whole_buffer(void)
{
	struct check_report report;
	struct scene s;

	scene_gather(&s, DT_HALF);
	memmove(s.recv + 5 * 2, s.recv, (COUNT - 5) * 2);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_SHIFTED);
	CU_ASSERT_EQUAL(report.shift, 5);
	CU_ASSERT(report.element >= 5 && report.element <= 6);
	scene_release(&s);
}

/* One element of many bits is evidence, one of few is not. */
static void test_shift_of_one_element(void)
{
	struct check_report report;
	struct scene s;

	scene_reduce(&s, DT_INT64, OP_SUM, 4);
	memcpy(s.recv + 8 * 200, s.recv + 8 * 198, 8);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_SHIFTED);
	CU_ASSERT_EQUAL(report.shift, 2);
	scene_release(&s);
	scene_gather(&s, DT_UINT8);
	s.recv[200] = s.recv[200] == s.recv[198] ? (char)(s.recv[198] ^ 1) : s.recv[198];
	report = checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_OTHER);
	scene_release(&s);
}

/* ---- Which rank ---- */

/* A single wrong element: with floats one rank alone explains it. */
static void test_missing_in_one_element(void)
{
	for (int culprit = 0; culprit < 4; culprit++) {
		struct check_report report;
		struct scene s;
		size_t first;

		scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
		CU_ASSERT_EQUAL(spoil(&s, WRONG_MISSING, culprit, 77, 1, &first), 0);
		report = checked(&s);
		CU_ASSERT_EQUAL(report.wrong, 1);
		CU_ASSERT_EQUAL(report.kind, WRONG_MISSING);
		CU_ASSERT_EQUAL(report.culprit, culprit);
		scene_release(&s);
	}
}

/* Is rank 1's contribution `factor` times rank 0's, and rank 2's unlike both? */
static bool related(const struct check_data *data, uint64_t index, double factor)
{
	double v[3];

	for (int rank = 0; rank < 3; rank++) {
		uint64_t bits = 0;

		check_element(data, rank, index, &bits);
		v[rank] = check_decode(data->dtype, bits);
	}
	return v[1] == factor * v[0] && v[2] != v[0] && v[2] != -v[0];
}

/* Leave rank 0 out wherever rank 1's contribution is `factor` times its own; returns how often. */
static size_t spoil_related(struct scene *s, double factor)
{
	size_t spoilt = 0, first;

	for (size_t i = 0; i < 200; i++) {
		if (!related(&s->data, BASE + i, factor))
			continue;
		CU_ASSERT_EQUAL(spoil(s, WRONG_MISSING, 0, i, 1, &first), 0);
		spoilt++;
	}
	return spoilt;
}

/* Two ranks hold the same value wherever one is missing: the kind is certain, the rank is not. */
static void test_missing_is_ambiguous(void)
{
	struct check_report report;
	struct scene s;
	size_t spoilt;

	scene_reduce(&s, DT_BFLOAT16, OP_SUM, 3);
	spoilt = spoil_related(&s, 1);
	CU_ASSERT(spoilt >= 4);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.wrong, spoilt);
	CU_ASSERT_EQUAL(report.kind, WRONG_MISSING);
	CU_ASSERT_EQUAL(report.culprit, -1);
	scene_release(&s);
}

/* Rank 0 left out or rank 1 counted twice: both explain it, so neither is said. */
static void test_missing_or_doubled(void)
{
	struct check_report report;
	struct scene s;
	size_t spoilt;

	scene_reduce(&s, DT_BFLOAT16, OP_SUM, 3);
	spoilt = spoil_related(&s, -1);
	CU_ASSERT(spoilt >= 4);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.wrong, spoilt);
	CU_ASSERT_EQUAL(report.kind, WRONG_OTHER);
	CU_ASSERT_EQUAL(report.culprit, -1);
	scene_release(&s);
}

/* Values of very few bits: a single wrong element fits somebody by chance and must accuse nobody.
 */
static void test_single_small_element_accuses_nobody(void)
{
	uint32_t accused = 0;

	for (size_t i = 0; i < 200; i++) {
		struct check_report report;
		struct scene s;
		size_t first;

		scene_reduce(&s, DT_F8E5M2, OP_SUM, 4);
		CU_ASSERT_EQUAL(spoil(&s, WRONG_MISSING, (int)(i % 4), i, 1, &first), 0);
		report = checked(&s);
		CU_ASSERT_EQUAL(report.wrong, 1);
		accused += report.culprit != -1;
		scene_release(&s);
	}
	CU_ASSERT_EQUAL(accused, 0);
}

/* Whatever the length of the stretch, nobody innocent is ever accused. */
static void test_never_the_wrong_rank(void)
{
	const enum dtype types[] = {
		DT_INT8, DT_HALF, DT_BFLOAT16, DT_F8E4M3, DT_F8E5M2, DT_FLOAT
	};
	uint32_t innocent = 0, other_kind = 0, named = 0;

	for (size_t k = 0; k < LENGTH(types) * OP_COUNT * 40; k++) {
		struct check_report report;
		struct scene s;
		size_t first;

		scene_reduce(&s, types[k % LENGTH(types)],
		             (enum redop)(k / LENGTH(types) % OP_COUNT), 5);
		if (spoil(&s, WRONG_MISSING, 3, 11 * (k % 97), 1 + k / LENGTH(types) / OP_COUNT,
		          &first) == 0) {
			report = checked(&s);
			innocent += report.culprit != -1 && report.culprit != 3;
			other_kind += report.kind == WRONG_DOUBLED || report.kind == WRONG_SHIFTED;
			named += report.culprit == 3;
		}
		scene_release(&s);
	}
	CU_ASSERT_EQUAL(innocent, 0);
	CU_ASSERT_EQUAL(other_kind, 0);
	CU_ASSERT(named > 700);
}

/* ---- Around the data ---- */

static void test_keep(void)
{
	const struct segment parts[] = {
		{ SEGMENT_KEEP, 0, 1500, 0, 0 },
		{ SEGMENT_COPY, 1500, 1500, 2, 0 },
	};
	struct check_report report;
	struct scene s;
	size_t first;

	scene_init(&s, DT_INT32, OP_NONE, 4, parts, 2);
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	CU_ASSERT_EQUAL(spoil(&s, WRONG_STALE, -1, 100, 4, &first), -EINVAL);
	CU_ASSERT_EQUAL(spoil(&s, WRONG_KEEP, -1, 1600, 4, &first), -EINVAL);
	CU_ASSERT_EQUAL(spoil(&s, WRONG_KEEP, -1, 100, 4, &first), 0);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_KEEP);
	CU_ASSERT_EQUAL(report.element, 100);
	CU_ASSERT_EQUAL(report.wrong, 4);
	CU_ASSERT_STRING_EQUAL(report.expected, "-1515870811"); /* 0xa5a5a5a5 */
	CU_ASSERT_STRING_EQUAL(report.got, "1515870810");
	scene_release(&s);
}

static void test_guards(void)
{
	const struct {
		int64_t at;
		uint64_t wrong;
	} cases[] = { { -CHECK_GUARD, 1 },
		      { -1, 1 },
		      { COUNT, 1 },
		      { COUNT + CHECK_GUARD - 1, 1 },
		      { -CHECK_GUARD - 1, 0 },
		      { COUNT + CHECK_GUARD, 0 } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct check_report report;
		struct scene s;
		char *padded;

		scene_reduce(&s, DT_INT8, OP_SUM, 4);
		padded = malloc(COUNT + 4 * CHECK_GUARD);
		memset(padded, CHECK_POISON, COUNT + 4 * CHECK_GUARD);
		memcpy(padded + 2 * CHECK_GUARD, s.recv, COUNT);
		padded[2 * CHECK_GUARD + cases[i].at] = 0x11;
		s.place.recv = padded + 2 * CHECK_GUARD;
		report = checked(&s);
		CU_ASSERT_EQUAL(report.wrong, cases[i].wrong);
		CU_ASSERT_EQUAL(report.kind, cases[i].wrong ? WRONG_GUARD : WRONG_NONE);
		CU_ASSERT_EQUAL((int64_t)report.element, cases[i].wrong ? cases[i].at : 0);
		if (cases[i].wrong)
			CU_ASSERT_STRING_EQUAL(report.got, "0x11");
		s.place.guards = false;
		CU_ASSERT_EQUAL(checked(&s).wrong, 0);
		free(padded);
		scene_release(&s);
	}
}

static void test_guards_on_both_sides(void)
{
	struct check_report report;
	struct scene s;
	char line[200];

	scene_reduce(&s, DT_INT8, OP_SUM, 4);
	memset(s.recv - 4, 0, 4);
	memset(s.recv + COUNT, 0, 6);
	report = checked(&s);
	CU_ASSERT_EQUAL(report.wrong, 10);
	CU_ASSERT_STRING_EQUAL(check_describe(&report, line, sizeof(line)),
	                       "rank 1 byte -4: expected 0xa5 got 0x00: guard (10 wrong)");
	s.recv[5] ^= 1; /* wrong data weigh more than wrong guards */
	report = checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_OTHER);
	CU_ASSERT_EQUAL(report.wrong, 1);
	scene_release(&s);
}

static void test_send_changed(void)
{
	const int64_t places[] = {
		0, 17, COUNT - 1, -1, -CHECK_GUARD / 4, COUNT, COUNT + CHECK_GUARD / 4 - 1
	};
	struct check_report report;
	struct scene s;

	scene_reduce(&s, DT_FLOAT, OP_PROD, 4);
	for (size_t i = 0; i < LENGTH(places); i++) {
		s.send[4 * places[i]] ^= 1;
		report = checked(&s);
		CU_ASSERT_EQUAL(report.kind, WRONG_SEND);
		CU_ASSERT_EQUAL(report.wrong, 1);
		CU_ASSERT_EQUAL((int64_t)report.element, places[i]);
		s.send[4 * places[i]] ^= 1;
	}
	s.send[4 * (-CHECK_GUARD / 4 - 1)] ^= 1;
	s.send[4 * (COUNT + CHECK_GUARD / 4)] ^= 1;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	s.send[-4] ^= 1;
	s.place.guards = false;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	scene_release(&s);
}

/* A send buffer near the start of its pool: what lies before the pool is not ours. */
static void test_send_at_pool_start(void)
{
	struct scene s;

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	s.place.base = 3;
	s.place.send = s.pool + 3 * 4;
	right_results(&s);
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	s.pool[1] ^= 1;
	CU_ASSERT_EQUAL(checked(&s).kind, WRONG_SEND);
	CU_ASSERT_EQUAL((int64_t)checked(&s).element, -3);
	scene_release(&s);
}

/* Ranks without a send or receive buffer, and in-place calls. */
static void test_absent_buffers(void)
{
	struct scene s;

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	memset(s.send, 0, 64);
	CU_ASSERT_EQUAL(checked(&s).kind, WRONG_SEND);
	s.place.send = NULL;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	s.place.send = s.send;
	s.place.send_bytes = 0;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	memset(s.recv, 0, 64);
	CU_ASSERT_EQUAL(checked(&s).kind, WRONG_ZERO);
	s.place.nsegments = 0;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	s.recv[-1] = 0;
	CU_ASSERT_EQUAL(checked(&s).kind, WRONG_GUARD);
	s.place.recv = NULL;
	CU_ASSERT_EQUAL(checked(&s).wrong, 0);
	scene_release(&s);
}

static void test_backend_errors(void)
{
	struct backend failing = { .ops = &failing_ops };
	struct check_report report;
	struct scene s;

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	CU_ASSERT_EQUAL(check_call(&failing, &s.data, 1, &s.place, &report), -ENODEV);
	for (int fetches = 0; fetches < 2; fetches++) { /* the guards */
		fetches_until_failure = fetches;
		CU_ASSERT_EQUAL(check_call(&fake, &s.data, 1, &s.place, &report), -EIO);
	}
	s.send[0] ^= 1;
	fetches_until_failure = 2; /* the changed element */
	CU_ASSERT_EQUAL(check_call(&fake, &s.data, 1, &s.place, &report), -EIO);
	s.recv[0] ^= 1;
	fetches_until_failure = 0; /* the window */
	CU_ASSERT_EQUAL(check_call(&fake, &s.data, 1, &s.place, &report), -EIO);
	fetches_until_failure = -1;
	scene_release(&s);
}

/* ---- The rest ---- */

static void test_spoil_refuses(void)
{
	const struct segment reduce = { .kind = SEGMENT_REDUCE, .count = 10 },
			     copy = { .kind = SEGMENT_COPY, .count = 10 };
	struct check_data data = { 1, DT_INT32, OP_SUM, 4, false };
	int32_t good[10], dst[10];

	for (int i = 0; i < 10; i++)
		check_reduced(&data, (uint64_t)i, &good[i]);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_MISSING, &reduce, 0, 4, good, 0, 10, dst),
	                -EINVAL);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_MISSING, &reduce, 0, -1, good, 0, 10, dst),
	                -EINVAL);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_MISSING, &copy, 0, 1, good, 0, 10, dst), -EINVAL);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_NONE, &reduce, 0, 1, good, 0, 10, dst), -EINVAL);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_ZERO, &reduce, 0, 1, good, 0, 0, dst), -EINVAL);
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_GUARD, &reduce, 0, 1, good, 0, 1, dst), 0);
	CU_ASSERT_EQUAL(dst[0], ~good[0]);
	data.nranks = 1;
	CU_ASSERT_EQUAL(check_spoil(&data, WRONG_MISSING, &reduce, 0, 0, good, 0, 10, dst),
	                -EINVAL);
}

static void test_describe(void)
{
	struct check_report report = { .wrong = 12,
		                       .kind = WRONG_ZERO,
		                       .rank = 2,
		                       .culprit = -1,
		                       .element = 17,
		                       .expected = "3",
		                       .got = "0" };
	char line[200], little[8];

	CU_ASSERT_STRING_EQUAL(check_describe(&report, line, sizeof(line)),
	                       "rank 2 element 17: expected 3 got 0: zero (12 wrong)");
	report.kind = WRONG_MISSING;
	report.culprit = 3;
	CU_ASSERT_PTR_NOT_NULL(strstr(check_describe(&report, line, sizeof(line)),
	                              ": missing contribution of rank 3 (12 wrong)"));
	report.kind = WRONG_SHIFTED;
	report.shift = -4;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(check_describe(&report, line, sizeof(line)), ": shifted by -4 (12 wrong)"));
	report.kind = WRONG_SEND;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(check_describe(&report, line, sizeof(line)), "rank 2 send element 17: "));
	CU_ASSERT_STRING_EQUAL(check_describe(&report, little, sizeof(little)), "rank 2 ");
	report.wrong = 0;
	CU_ASSERT_STRING_EQUAL(check_describe(&report, line, sizeof(line)),
	                       "rank 2: nothing wrong");
	CU_ASSERT_STRING_EQUAL(wrong_kind_name(WRONG_OTHER), "other");
	CU_ASSERT_STRING_EQUAL(wrong_kind_name(WRONG_STALE), "stale");
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "fill writes check_element's", test_fill_is_element },
		{ "fill stays in bounds", test_fill_bounds },
		{ "right data pass", test_right_data_pass },
		{ "verify counts and locates", test_verify_counts },
		{ "kinds of a reduction", test_reduction_kinds },
		{ "kinds with 40 ranks", test_many_ranks },
		{ "kinds of a copy", test_copy_kinds },
		{ "text of a report", test_report_text },
		{ "shift: distances", test_shift_distances },
		{ "shift: whole buffer", test_shift_of_whole_buffer },
		{ "shift: one element", test_shift_of_one_element },
		{ "missing: one element", test_missing_in_one_element },
		{ "missing: two ranks fit", test_missing_is_ambiguous },
		{ "missing or doubled", test_missing_or_doubled },
		{ "missing: too few bits", test_single_small_element_accuses_nobody },
		{ "missing: never the wrong rank", test_never_the_wrong_rank },
		{ "keep", test_keep },
		{ "guards", test_guards },
		{ "guards on both sides", test_guards_on_both_sides },
		{ "send buffer changed", test_send_changed },
		{ "send buffer at the pool's start", test_send_at_pool_start },
		{ "absent buffers", test_absent_buffers },
		{ "errors of the backend", test_backend_errors },
		{ "spoil refuses", test_spoil_refuses },
		{ "describe", test_describe },
	};

	return unit_main("check", cases, LENGTH(cases));
}
