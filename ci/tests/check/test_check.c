/* test_check.c: fill and verify, guards, the report of a wrong element; on host memory. */
#include "check_scene.h"

static struct scene s;
static struct check_report report;

UNIT_TEST(test_fill_is_element, "fill writes check_element's")
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

UNIT_TEST(test_fill_bounds, "fill stays in bounds")
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

UNIT_TEST(test_right_data_pass, "right data pass")
{
	const int nranks[] = { 1, 2, 4, 7, 40 };

	for (int type = 0; type < DT_COUNT; type++) {
		for (int op = 0; op < OP_COUNT; op++) {
			for (size_t n = 0; n < LENGTH(nranks); n++) {
				scene_reduce(&s, (enum dtype)type, (enum redop)op, nranks[n]);
				report = scene_checked(&s);
				UNIT_ALL(report.wrong == 0, report.kind == WRONG_NONE);
				scene_release(&s);
			}
		}
	}
}

UNIT_TEST(test_verify_counts, "verify counts and locates")
{
	struct verify_result result = { 99, 99 };

	scene_gather(&s, DT_INT32);
	check_verify(&s.data, s.recv, s.segments, 3, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	s.recv[4 * 1999] ^= 1;
	s.recv[4 * 1000 + 3] ^= 0x40;
	s.recv[4 * 2999] ^= 1;
	check_verify(&s.data, s.recv, s.segments, 3, BASE, &result);
	UNIT_ALL(result.wrong == 3, result.first == 1000);
	/* the first wrong element is the lowest, in any order of segments */
	check_verify(&s.data, s.recv, (struct segment[]){ s.segments[2], s.segments[1] }, 2, BASE,
		     &result);
	UNIT_ALL(result.wrong == 3, result.first == 1000);
	/* elements outside all segments are not checked */
	check_verify(&s.data, s.recv, s.segments, 1, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	check_verify(&s.data, s.recv, s.segments, 0, BASE, &result);
	CU_ASSERT_EQUAL(result.wrong, 0);
	scene_release(&s);
}

UNIT_TEST(test_keep, "keep")
{
	const struct segment parts[] = {
		{ SEGMENT_KEEP, 0, 1500, 0, 0 },
		{ SEGMENT_COPY, 1500, 1500, 2, 0 },
	};
	size_t first;

	scene_init(&s, DT_INT32, OP_NONE, 4, parts, 2);
	UNIT_ALL(scene_checked(&s).wrong == 0,
		 scene_corrupt(&s, WRONG_STALE, -1, 100, 4, &first) == -EINVAL,
		 scene_corrupt(&s, WRONG_KEEP, -1, 1600, 4, &first) == -EINVAL,
		 scene_corrupt(&s, WRONG_KEEP, -1, 100, 4, &first) == 0);
	report = scene_checked(&s);
	UNIT_ALL(report.kind == WRONG_KEEP, report.element == 100, report.wrong == 4);
	CU_ASSERT_STRING_EQUAL(report.expected, "-1515870811"); /* 0xa5a5a5a5 */
	CU_ASSERT_STRING_EQUAL(report.got, "1515870810");
	scene_release(&s);
}

UNIT_TEST(test_guards, "guards")
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
		char *padded;

		scene_reduce(&s, DT_INT8, OP_SUM, 4);
		padded = malloc(COUNT + 4 * CHECK_GUARD);
		memset(padded, CHECK_POISON, COUNT + 4 * CHECK_GUARD);
		memcpy(padded + 2 * CHECK_GUARD, s.recv, COUNT);
		padded[2 * CHECK_GUARD + cases[i].at] = 0x11;
		s.place.recv = padded + 2 * CHECK_GUARD;
		report = scene_checked(&s);
		CU_ASSERT_EQUAL(report.wrong, cases[i].wrong);
		CU_ASSERT_EQUAL(report.kind, cases[i].wrong ? WRONG_GUARD : WRONG_NONE);
		CU_ASSERT_EQUAL((int64_t)report.element, cases[i].wrong ? cases[i].at : 0);
		if (cases[i].wrong)
			CU_ASSERT_STRING_EQUAL(report.got, "0x11");
		s.place.guards = false;
		CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
		free(padded);
		scene_release(&s);
	}
}

UNIT_TEST(test_guards_on_both_sides, "guards on both sides")
{
	char line[200];

	scene_reduce(&s, DT_INT8, OP_SUM, 4);
	memset(s.recv - 4, 0, 4);
	memset(s.recv + COUNT, 0, 6);
	report = scene_checked(&s);
	UNIT_ALL(report.wrong == 10,
		 !strcmp(check_describe(&report, line, sizeof(line)),
			 "rank 1 byte -4: expected 0xa5 got 0x00: guard (10 wrong)"));
	s.recv[5] ^= 1; /* wrong data precede wrong guards */
	report = scene_checked(&s);
	UNIT_ALL(report.kind == WRONG_OTHER, report.wrong == 1);
	scene_release(&s);
}

UNIT_TEST(test_send_changed, "send buffer changed")
{
	const int64_t places[] = {
		0, 17, COUNT - 1, -1, -CHECK_GUARD / 4, COUNT, COUNT + CHECK_GUARD / 4 - 1
	};

	scene_reduce(&s, DT_FLOAT, OP_PROD, 4);
	for (size_t i = 0; i < LENGTH(places); i++) {
		s.send[4 * places[i]] ^= 1;
		report = scene_checked(&s);
		UNIT_ALL(report.kind == WRONG_SEND, report.wrong == 1,
			 (int64_t)report.element == places[i]);
		s.send[4 * places[i]] ^= 1;
	}
	s.send[4 * (-CHECK_GUARD / 4 - 1)] ^= 1;
	s.send[4 * (COUNT + CHECK_GUARD / 4)] ^= 1;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	s.send[-4] ^= 1;
	s.place.guards = false;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	scene_release(&s);
}

/* A send buffer near the start of its pool: bytes before the pool are not checked. */
UNIT_TEST(test_send_at_pool_start, "send buffer at the pool's start")
{
	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	s.place.base = 3;
	s.place.send = s.pool + 3 * 4;
	scene_right_results(&s);
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	s.pool[1] ^= 1;
	UNIT_ALL(scene_checked(&s).kind == WRONG_SEND, (int64_t)scene_checked(&s).element == -3);
	scene_release(&s);
}

/* Ranks without a send or receive buffer, and in-place calls. */
UNIT_TEST(test_absent_buffers, "absent buffers")
{
	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	memset(s.send, 0, 64);
	CU_ASSERT_EQUAL(scene_checked(&s).kind, WRONG_SEND);
	s.place.send = NULL;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	s.place.send = s.send;
	s.place.send_bytes = 0;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	memset(s.recv, 0, 64);
	CU_ASSERT_EQUAL(scene_checked(&s).kind, WRONG_ZERO);
	s.place.nsegments = 0;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	s.recv[-1] = 0;
	CU_ASSERT_EQUAL(scene_checked(&s).kind, WRONG_GUARD);
	s.place.recv = NULL;
	CU_ASSERT_EQUAL(scene_checked(&s).wrong, 0);
	scene_release(&s);
}

static int failing_verify(struct backend *be, const void *recv, const struct segment *segments,
			  int n, const struct check_data *data, uint64_t base,
			  struct verify_result *result)
{
	return -ENODEV;
}

static const struct backend_ops failing_ops = { .name = "failing",
						.verify = failing_verify,
						.fetch = scene_fetch };

UNIT_TEST(test_backend_errors, "errors of the backend")
{
	struct backend failing = { .ops = &failing_ops };

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	CU_ASSERT_EQUAL(check_call(&failing, &s.data, 1, &s.place, &report), -ENODEV);
	for (int fetches = 0; fetches < 2; fetches++) { /* the guards */
		scene_fetches_left = fetches;
		CU_ASSERT_EQUAL(check_call(&scene_backend, &s.data, 1, &s.place, &report), -EIO);
	}
	s.send[0] ^= 1;
	scene_fetches_left = 2; /* the changed element */
	CU_ASSERT_EQUAL(check_call(&scene_backend, &s.data, 1, &s.place, &report), -EIO);
	s.recv[0] ^= 1;
	scene_fetches_left = 0; /* the window */
	CU_ASSERT_EQUAL(check_call(&scene_backend, &s.data, 1, &s.place, &report), -EIO);
	scene_fetches_left = -1;
	scene_release(&s);
}

UNIT_TEST(test_report_text, "text of a report")
{
	float wrong = -7;
	char expected[48], line[200];

	scene_reduce(&s, DT_FLOAT, OP_SUM, 4);
	dtype_format(DT_FLOAT, s.recv + 4 * 17, expected, sizeof(expected));
	memcpy(s.recv + 4 * 17, &wrong, 4);
	report = scene_checked(&s);
	UNIT_ALL(report.wrong == 1, report.element == 17, report.kind == WRONG_OTHER,
		 !strcmp(report.expected, expected), !strcmp(report.got, "-7 (0xc0e00000)"),
		 check_describe(&report, line, sizeof(line)) == line,
		 strstr(line, "rank 1 element 17: expected ") != NULL,
		 strstr(line, " got -7 (0xc0e00000): other (1 wrong)") != NULL);
	scene_release(&s);
}

UNIT_TEST(test_corrupt_refuses, "refusals of corruption")
{
	const struct segment reduce = { .kind = SEGMENT_REDUCE, .count = 10 },
			     copy = { .kind = SEGMENT_COPY, .count = 10 };
	struct check_data data = { 1, DT_INT32, OP_SUM, 4, false };
	int32_t good[10], dst[10];

	for (int i = 0; i < 10; i++)
		check_reduced(&data, (uint64_t)i, &good[i]);
	UNIT_ALL(check_corrupt(&data, WRONG_MISSING, &reduce, 0, 4, good, 0, 10, dst) == -EINVAL,
		 check_corrupt(&data, WRONG_MISSING, &reduce, 0, -1, good, 0, 10, dst) == -EINVAL,
		 check_corrupt(&data, WRONG_MISSING, &copy, 0, 1, good, 0, 10, dst) == -EINVAL,
		 check_corrupt(&data, WRONG_NONE, &reduce, 0, 1, good, 0, 10, dst) == -EINVAL,
		 check_corrupt(&data, WRONG_ZERO, &reduce, 0, 1, good, 0, 0, dst) == -EINVAL,
		 check_corrupt(&data, WRONG_GUARD, &reduce, 0, 1, good, 0, 1, dst) == 0);
	CU_ASSERT(dst[0] == ~good[0]);
	data.nranks = 1;
	CU_ASSERT(check_corrupt(&data, WRONG_MISSING, &reduce, 0, 0, good, 0, 10, dst) == -EINVAL);
}

UNIT_TEST(test_describe, "describe")
{
	char line[200], little[8];

	report = (struct check_report){ .wrong = 12,
					.kind = WRONG_ZERO,
					.rank = 2,
					.culprit = -1,
					.element = 17,
					.expected = "3",
					.got = "0" };
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
	UNIT_ALL(strstr(check_describe(&report, line, sizeof(line)), "rank 2 send element 17: ") !=
			 NULL,
		 !strcmp(check_describe(&report, little, sizeof(little)), "rank 2 "));
	report.wrong = 0;
	UNIT_ALL(!strcmp(check_describe(&report, line, sizeof(line)), "rank 2: nothing wrong"),
		 !strcmp(wrong_kind_name(WRONG_OTHER), "other"),
		 !strcmp(wrong_kind_name(WRONG_STALE), "stale"));
}
