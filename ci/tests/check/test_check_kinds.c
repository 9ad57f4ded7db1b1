/* test_check_kinds.c: each kind of failure is located and named, and no correct rank is named. */
#include "check_scene.h"

static struct scene s;
static struct check_report report;

/* Every kind of failure of a reduction, for every type and operator. */
UNIT_TEST(test_reduction_kinds, "kinds of a reduction")
{
	const enum wrong_kind kinds[] = { WRONG_ZERO,	 WRONG_STALE, WRONG_SHIFTED, WRONG_MISSING,
					  WRONG_DOUBLED, WRONG_NAN,   WRONG_OTHER };

	for (int k = 0; k < DT_COUNT * OP_COUNT * (int)LENGTH(kinds); k++) {
		enum dtype type = (enum dtype)(k % DT_COUNT);
		enum redop op = (enum redop)(k / DT_COUNT % OP_COUNT);
		enum wrong_kind kind = kinds[k / DT_COUNT / OP_COUNT];
		bool extreme = op == OP_MAX || op == OP_MIN, possible;
		size_t first;

		possible = !(kind == WRONG_NAN && !check_is_float(type)) &&
			   !(kind == WRONG_DOUBLED && extreme);
		scene_reduce(&s, type, op, 4);
		CU_ASSERT_EQUAL(scene_corrupt(&s, kind, 2, 500, 400, &first),
				possible ? 0 : -EINVAL);
		report = scene_checked(&s);
		UNIT_ALL(report.kind == (possible ? (int)kind : WRONG_NONE),
			 (report.wrong != 0) == possible, report.element == (possible ? first : 0),
			 report.shift == (possible && kind == WRONG_SHIFTED),
			 report.culprit ==
				 (possible && (kind == WRONG_MISSING || kind == WRONG_DOUBLED)
					  ? 2
					  : -1));
		scene_release(&s);
	}
}

UNIT_TEST(test_many_ranks, "kinds with 40 ranks")
{
	const enum dtype types[] = {
		DT_INT8, DT_FLOAT, DT_BFLOAT16, DT_F8E4M3, DT_F8E5M2, DT_DOUBLE
	};
	const enum redop ops[] = { OP_SUM, OP_PROD, OP_MAX, OP_AVG, OP_MULSUM };

	for (size_t k = 0; k < LENGTH(types) * LENGTH(ops) * 2; k++) {
		enum wrong_kind kind = k % 2 ? WRONG_MISSING : WRONG_SHIFTED;
		size_t first;

		scene_reduce(&s, types[k / 2 % LENGTH(types)], ops[k / 2 / LENGTH(types)], 40);
		/* an average of 40 small numbers is mostly 0, whichever is missing */
		if (s.data.dtype != DT_INT8 || s.data.op != OP_AVG) {
			CU_ASSERT_EQUAL(scene_corrupt(&s, kind, 33, 0, COUNT, &first), 0);
			report = scene_checked(&s);
			UNIT_ALL(report.kind == (int)kind, report.element == first,
				 report.culprit == (kind == WRONG_MISSING ? 33 : -1));
		}
		scene_release(&s);
	}
}

UNIT_TEST(test_copy_kinds, "kinds of a copy")
{
	const enum wrong_kind kinds[] = { WRONG_ZERO, WRONG_STALE, WRONG_SHIFTED, WRONG_NAN,
					  WRONG_OTHER };

	for (int k = 0; k < DT_COUNT * (int)LENGTH(kinds); k++) {
		enum wrong_kind kind = kinds[k / DT_COUNT];
		size_t first;

		scene_gather(&s, (enum dtype)(k % DT_COUNT));
		if (scene_corrupt(&s, kind, -1, 1200, 700, &first) < 0) {
			CU_ASSERT(kind == WRONG_NAN && !check_is_float(s.data.dtype));
		} else {
			report = scene_checked(&s);
			UNIT_ALL(report.kind == (int)kind, report.element == first,
				 report.shift == (kind == WRONG_SHIFTED));
		}
		scene_release(&s);
	}
}

UNIT_TEST(test_shift_distances, "shift: distances")
{
	const struct {
		int shift;
		bool named;
	} cases[] = { { 1, true },  { -1, true },  { 3, true },	  { -64, true },
		      { 64, true }, { 65, false }, { -65, false } };

	for (size_t i = 0; i < LENGTH(cases); i++) {
		scene_reduce(&s, DT_F8E4M3, OP_SUM, 4);
		memmove(s.recv + 1000, s.recv + 1000 - cases[i].shift, 500);
		report = scene_checked(&s);
		CU_ASSERT_EQUAL(report.kind, cases[i].named ? WRONG_SHIFTED : WRONG_OTHER);
		CU_ASSERT_EQUAL(report.shift, cases[i].named ? cases[i].shift : 0);
		scene_release(&s);
	}
}

/* A gather 5 elements too far back: the first ones of each segment are another rank's. */
UNIT_TEST(test_shift_of_whole_buffer, "shift: whole buffer")
{
	scene_gather(&s, DT_HALF);
	memmove(s.recv + 5 * 2, s.recv, (COUNT - 5) * 2);
	report = scene_checked(&s);
	UNIT_ALL(report.kind == WRONG_SHIFTED, report.shift == 5,
		 report.element >= 5 && report.element <= 6);
	scene_release(&s);
}

/* One element of many bits is evidence, one of few is not. */
UNIT_TEST(test_shift_of_one_element, "shift: one element")
{
	scene_reduce(&s, DT_INT64, OP_SUM, 4);
	memcpy(s.recv + 8 * 200, s.recv + 8 * 198, 8);
	report = scene_checked(&s);
	UNIT_ALL(report.kind == WRONG_SHIFTED, report.shift == 2);
	scene_release(&s);
	scene_gather(&s, DT_UINT8);
	s.recv[200] = s.recv[200] == s.recv[198] ? (char)(s.recv[198] ^ 1) : s.recv[198];
	report = scene_checked(&s);
	CU_ASSERT_EQUAL(report.kind, WRONG_OTHER);
	scene_release(&s);
}

/* A single wrong element: with floats one rank alone explains it. */
UNIT_TEST(test_missing_in_one_element, "missing: one element")
{
	for (int culprit = 0; culprit < 4; culprit++) {
		size_t first;

		scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
		CU_ASSERT_EQUAL(scene_corrupt(&s, WRONG_MISSING, culprit, 77, 1, &first), 0);
		report = scene_checked(&s);
		UNIT_ALL(report.wrong == 1, report.kind == WRONG_MISSING,
			 report.culprit == culprit);
		scene_release(&s);
	}
}

/* Returns true if rank 1's contribution is `factor` times rank 0's, and rank 2's is neither. */
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

/* Leaves rank 0 out wherever rank 1's contribution is `factor` times its own; returns how often. */
static size_t corrupt_related(double factor)
{
	size_t corrupted = 0, first;

	for (size_t i = 0; i < 200; i++) {
		if (!related(&s.data, BASE + i, factor))
			continue;
		CU_ASSERT_EQUAL(scene_corrupt(&s, WRONG_MISSING, 0, i, 1, &first), 0);
		corrupted++;
	}
	return corrupted;
}

/* Rank 0 is missing in such places: the kind is named, a rank is not. */
static void check_related(double factor, enum wrong_kind kind)
{
	size_t corrupted;

	scene_reduce(&s, DT_BFLOAT16, OP_SUM, 3);
	corrupted = corrupt_related(factor);
	CU_ASSERT(corrupted >= 4);
	report = scene_checked(&s);
	UNIT_ALL(report.wrong == corrupted, report.kind == (int32_t)kind, report.culprit == -1);
	scene_release(&s);
}

/* Two ranks hold the same value at each missing place: the kind is certain, the rank is not. */
UNIT_TEST(test_missing_is_ambiguous, "missing: two ranks fit")
{
	check_related(1, WRONG_MISSING);
}

/* Rank 0 missing or rank 1 doubled: both explain it, so neither is named. */
UNIT_TEST(test_missing_or_doubled, "missing or doubled")
{
	check_related(-1, WRONG_OTHER);
}

/* Values of few bits: a single wrong element fits some rank by chance and must not name one. */
UNIT_TEST(test_single_small_element_names_no_rank, "missing: too few bits")
{
	uint32_t named = 0;

	for (size_t i = 0; i < 200; i++) {
		size_t first;

		scene_reduce(&s, DT_F8E5M2, OP_SUM, 4);
		CU_ASSERT_EQUAL(scene_corrupt(&s, WRONG_MISSING, (int)(i % 4), i, 1, &first), 0);
		report = scene_checked(&s);
		CU_ASSERT_EQUAL(report.wrong, 1);
		named += report.culprit != -1;
		scene_release(&s);
	}
	CU_ASSERT_EQUAL(named, 0);
}

/* A stretch of any length never names a correct rank: for a missing contribution, or one flipped
 * bit, which a missing one may explain as well. */
UNIT_TEST(test_never_the_wrong_rank, "missing: never the wrong rank")
{
	const enum dtype types[] = { DT_INT8,	DT_HALF,  DT_BFLOAT16, DT_F8E4M3,
				     DT_F8E5M2, DT_FLOAT, DT_INT32 };
	uint32_t innocent = 0, other_kind = 0, named = 0, flipped = 0;

	for (size_t k = 0; k < LENGTH(types) * OP_COUNT * 80; k++) {
		bool flip = k >= LENGTH(types) * OP_COUNT * 40;
		size_t first;

		scene_reduce(&s, types[k % LENGTH(types)],
			     (enum redop)(k / LENGTH(types) % OP_COUNT), 5);
		if (scene_corrupt(&s, flip ? WRONG_FLIPPED : WRONG_MISSING, 3, 11 * (k % 97),
				  flip ? 1 : 1 + k / LENGTH(types) / OP_COUNT, &first) == 0) {
			report = scene_checked(&s);
			innocent += report.culprit != -1 && report.culprit != 3;
			other_kind += !flip && (report.kind == WRONG_DOUBLED ||
						report.kind == WRONG_SHIFTED);
			named += !flip && report.culprit == 3;
			flipped += flip && report.kind == WRONG_FLIPPED;
		}
		scene_release(&s);
	}
	UNIT_ALL(innocent == 0, other_kind == 0, named > 700 && flipped > 150);
}
