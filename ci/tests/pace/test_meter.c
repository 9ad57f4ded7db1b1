/* test_meter.c: totals and samples in; rows, text and files out. */
#include "rig/unit.h"

#include <jansson.h>

#include "pace/meter.h"
#include "pace/pace_watch.h"

#define MS 1000000ull

/* `calls` calls of all ranks, 10 ms apart, of 1 MiB; they move data for 2 ms, and rank r waits r % 3 ms more. `silent`: a rank
 * that makes no samples, -1: none. `every`: one of so many is sampled. */
struct plan {
	int n, calls, every, silent;
	bool totals;
	int kind;
	double held, waited;	 /* shares */
	int32_t most, least;	 /* ranks; -1: any */
	double median_ms, busbw; /* GB/s */
};

static struct pace_sample sample_of(const struct plan *p, int rank, int call)
{
	struct pace_sample s = { .comm = 9,
				 .seq = (uint64_t)call,
				 .rank = rank,
				 .member = rank,
				 .nmembers = p->n,
				 .kind = p->kind,
				 .amount = (262144ull << 8) | DT_FLOAT };

	s.through_ns = (uint64_t)rank * 1000 * MS + (uint64_t)call * 10 * MS;
	s.arrived_ns = s.through_ns - (2 + (uint64_t)rank % 3) * MS;
	return s;
}

static void fill(struct meter *meter, const struct plan *p)
{
	for (int c = 1; c <= p->calls; c += p->every)
		for (int r = 0; r < p->n; r++)
			if (r != p->silent) {
				struct pace_sample s = sample_of(p, r, c);

				meter_add(meter, &s, true);
			}
	for (int r = 0; r < p->n && p->totals; r++) {
		struct pace_sample s = sample_of(p, r, 1);

		meter_total(meter, &s, (uint64_t)p->calls, (uint64_t)p->calls << 20, "");
	}
	meter_settle(meter);
	meter_settle(meter);
}

/* One of 400 calls of 2 ms takes 2 s, in which rank 0 waits for rank 1; 1 of 8 is sampled, and that among them (`seen`), or not. */
static double waited_of(int member, bool seen, bool here)
{
	const struct plan p = { .n = 2, .kind = CALL_ALL_REDUCE };
	struct meter meter = { 0 };
	struct pace_sample s;
	struct meter_row *rows, its;
	size_t n;

	for (int c = 1; c <= 400; c += 8)
		for (int r = 0; r < 2; r++) {
			bool is = seen && c == 201;

			s = sample_of(&p, r, c);
			s.through_ns = (uint64_t)c * 5 * MS + (c > 200 ? 2000 * MS : 0);
			s.arrived_ns = s.through_ns - (is && r == 0 ? 2000 : 2) * MS;
			meter_add(&meter, &s, here);
		}
	s.member = s.rank = 0;
	s.through_ns = 3000 * MS;
	s.arrived_ns = s.through_ns - 1990 * MS;
	for (int part = 0; part < 2 && here; part++)
		meter_long(&meter, &s, 995e6, 995e6);
	rows = meter_rows(&meter, 0, &n);
	its = meter_member(&meter, rows, member);
	free(rows);
	meter_release(&meter);
	return its.waited_percent;
}

UNIT_TEST(test_long, "a long call, sampled or not")
{
	for (int seen = 0; seen < 2; seen++)
		UNIT_ALL(fabs(waited_of(0, seen, true) - 49.9) < 0.5,
			 waited_of(1, seen, true) < 0.1);
	CU_ASSERT(waited_of(0, true, false) > 90); /* of another host samples alone are known */
}

#define NEAR(got, wanted)                                                                          \
	CU_ASSERT_TRUE(isnan(wanted) ? isnan(got)                                                  \
				     : fabs((got) - (wanted)) <= 0.02 * fabs(wanted) + 1e-12)

UNIT_TEST(test_rows, "shares, median and busbw, of two and of a thousand ranks, of samples of some")
{
	static const struct plan rows[] = {
		{ 2, 1000, 1, -1, true, CALL_ALL_REDUCE, 0.25, 0.05, 1, 0, 2, 0.524 },
		{ 2, 1000, 8, -1, true, CALL_ALL_REDUCE, 0.25, 0.05, 1, 0, 2, 0.524 },
		{ 2, 1000, 8, -1, false, CALL_ALL_REDUCE, 0.25, 0.05, 1, 0, 2, 0.524 },
		{ 1024, 200, 1, -1, true, CALL_ALL_GATHER, 0.3, 0.1, -1, 0, 2,
		  524.29 * 1023 / 1024 * 1.024 },
		{ 6, 1000, 1, 4, true, CALL_ALL_REDUCE, 0.3, 0.1, 2, 0, 2, 0.524 * 5 / 3 },
		{ 2, 1000, 1, 0, true, CALL_ALL_REDUCE, 0.3, NAN, -1, -1, 3, NAN },
		{ 3, 1000, 1, -1, true, CALL_BROADCAST, 0.3, NAN, -1, -1, 3, NAN },
		{ 1, 1000, 1, -1, true, CALL_ALL_REDUCE, 0.2, NAN, -1, -1, 2, NAN },
		{ 2, 0, 1, -1, true, CALL_ALL_REDUCE, NAN, NAN, -1, -1, NAN, NAN },
	};

	UNIT_ROWS(p, rows) {
		struct meter meter = { 0 };
		struct meter_row *got, whole;
		size_t n;

		fill(&meter, p);
		got = meter_rows(&meter, METER_ROWS, &n);
		whole = meter_whole(&meter);
		CU_ASSERT_EQUAL_FATAL(n, p->calls > 0);
		CU_ASSERT_EQUAL(whole.calls, p->totals ? (uint64_t)p->calls : 0);
		if (n) {
			CU_ASSERT_EQUAL(got->bytes, p->totals ? (uint64_t)p->calls << 20 : 0);
			NEAR(got->held_percent / 100, p->held);
			NEAR(got->waited_percent / 100, p->waited);
			NEAR(whole.held_percent / 100, p->held);
			NEAR(whole.waited_percent / 100, p->waited);
			NEAR(got->median_us * 1e-3, p->median_ms);
			NEAR(got->busbw_gbs, p->busbw);
			CU_ASSERT_TRUE(p->most < 0 ||
				       (got->most == p->most && whole.most == p->most));
			CU_ASSERT_TRUE(p->least < 0 || got->least == p->least);
		}
		free(got);
		meter_release(&meter);
	}
}

UNIT_TEST(test_first,
	  "a first call of 30 s, which connects, does not hide the bandwidth of the others")
{
	static const struct plan p = {
		2, 1000, 1, -1, true, CALL_ALL_REDUCE, 0, 0, 1, 0, 2, 0.524
	};
	struct meter meter = { 0 };
	struct meter_row *got;
	size_t n;

	for (int r = 0; r < 2; r++) {
		struct pace_sample s = sample_of(&p, r, 0);

		s.seq = 1;
		s.through_ns += 60000 * (uint64_t)MS;
		s.arrived_ns = s.through_ns - 30000 * (uint64_t)MS;
		meter_add(&meter, &s, true);
	}
	for (int c = 2; c <= p.calls; c++)
		for (int r = 0; r < 2; r++) {
			struct pace_sample s = sample_of(&p, r, c);

			s.through_ns += 60000 * (uint64_t)MS;
			s.arrived_ns += 60000 * (uint64_t)MS;
			meter_add(&meter, &s, true);
		}
	meter_settle(&meter);
	got = meter_rows(&meter, METER_ROWS, &n);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	NEAR(got->busbw_gbs, p.busbw);
	free(got);
	meter_release(&meter);
}

UNIT_TEST(test_rate, "a rate of sampling that changes does not weigh the slow calls more")
{
	struct meter meter = { 0 };
	struct meter_row whole;
	uint64_t now = MS;

	/* 100 calls of 10 ms, all sampled, then 100,000 of 10 us, one of 100 */
	for (uint64_t call = 1; call <= 100100; call++) {
		uint64_t took = call <= 100 ? 10 * MS : 10000;

		for (int r = 0; r < 2 && (call <= 100 || call % 100 == 0); r++)
			meter_add(&meter,
				  &(struct pace_sample){ .comm = 9,
							 .seq = call,
							 .rank = r,
							 .member = r,
							 .nmembers = 2,
							 .arrived_ns = now,
							 .through_ns = now + took },
				  true);
		now += 2 * took;
	}
	whole = meter_whole(&meter);
	NEAR(whole.held_percent / 100, 0.5);
	meter_release(&meter);
}

UNIT_TEST(test_ahead, "counts that are ahead of the samples make no share larger")
{
	static const struct plan p = {
		2, 20, 1, -1, true, CALL_ALL_REDUCE, 0.25, 0.05, 1, 0, 2, 0
	};
	struct meter meter = { 0 };
	struct meter_row whole;

	fill(&meter, &p);
	for (int r = 0; r < 2; r++) {
		struct pace_sample s = sample_of(&p, r, 1);

		meter_total(&meter, &s, 5000, 5000ull << 20, "");
	}
	whole = meter_whole(&meter);
	CU_ASSERT_EQUAL(whole.calls, 5000);
	CU_ASSERT_DOUBLE_EQUAL(whole.held_percent, 26, 2);
	CU_ASSERT_DOUBLE_EQUAL(whole.waited_percent, 5, 1);
	meter_release(&meter);
}

UNIT_TEST(test_nonsense,
	  "what cannot be is left out: numbers out of range, an end before its begin")
{
	static const struct pace_sample rows[] = {
		{ .rank = -1, .nmembers = 2, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1 << 20, .nmembers = 2, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1, .member = 2, .nmembers = 2, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1, .nmembers = 1 << 30, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1, .nmembers = -3, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1, .nmembers = 2, .kind = 99, .arrived_ns = 1, .through_ns = 2 },
		{ .rank = 1, .nmembers = 2, .arrived_ns = 5, .through_ns = 2 },
		{ .rank = 1, .nmembers = 2, .through_ns = 2 },
		{ .rank = 1, .nmembers = 2, .arrived_ns = 1, .through_ns = UINT64_MAX },
	};
	struct meter meter = { 0 };

	UNIT_ROWS(row, rows)
		meter_add(&meter, row, true);
	CU_ASSERT_EQUAL(meter.ncomms, 0);
	CU_ASSERT_EQUAL(meter.seconds, 0);
	meter_release(&meter);
}

static size_t widest(const char *text, size_t *lines)
{
	size_t most = 0;

	for (*lines = 0; *text; text += strcspn(text, "\n") + 1, ++*lines)
		most = strcspn(text, "\n") > most ? strcspn(text, "\n") : most;
	return most;
}

UNIT_TEST(test_table, "the table fits 80 and 120 columns, and sums what is more than 12 rows")
{
	struct plan plan = { .n = 4, .calls = 50, .every = 1, .silent = -1, .totals = true };
	struct meter meter = { 0 };
	size_t lines;
	char *text;

	text = UNIT_PRINTED(f, meter_print(f, &meter, 80));
	CU_ASSERT_STRING_EQUAL(text, "");
	free(text);
	for (int i = 0; i < 20; i++)
		for (int r = 0; r < 4; r++) {
			struct pace_sample s = sample_of(&plan, r, 1);

			s.comm = (uint64_t)i + 1;
			meter_add(&meter, &s, true);
			meter_total(&meter, &s, 1234567890123, UINT64_MAX,
				    i == 2 ? "data \"parallel\" of all" : "");
		}
	text = UNIT_PRINTED(f, meter_print(f, &meter, 80));
	CU_ASSERT_TRUE(widest(text, &lines) <= 80);
	CU_ASSERT_EQUAL(lines, 2 + 12 + 3);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n# 9 more rows "));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "\n# data ?parallel AllReduce      1.23 T 18.4 EB 2.00 ms 2.00 ms"));
	CU_ASSERT_PTR_NULL(strstr(text, "nan"));
	free(text);
	text = UNIT_PRINTED(f, meter_print(f, &meter, 120));
	CU_ASSERT_TRUE(widest(text, &lines) <= 120);
	free(text);
	meter_release(&meter);
}

UNIT_TEST(test_trace,
	  "a trace is JSON, has two slices a call that waits, and is thinned over the whole time")
{
	struct plan plan = { .n = 2, .calls = 60000, .every = 1, .silent = -1 };
	struct meter meter = { .traces = true };
	json_t *trace, *events;
	char *text;

	fill(&meter, &plan);
	CU_ASSERT_TRUE(meter.nevents <= METER_EVENTS && meter.nevents > METER_EVENTS / 4);
	CU_ASSERT_EQUAL(meter.shift, 2);
	CU_ASSERT_TRUE(meter.events[0].sample.seq < 100 &&
		       meter.events[meter.nevents - 1].sample.seq > 59900);
	text = UNIT_PRINTED(f, meter_trace(f, &meter));
	trace = json_loads(text, 0, NULL);
	events = json_object_get(trace, "traceEvents");
	CU_ASSERT_PTR_NOT_NULL_FATAL(events);
	CU_ASSERT_EQUAL(json_array_size(events), 3 + meter.nevents * 3 / 2);
	json_decref(trace);
	free(text);
	meter_release(&meter);
}

UNIT_TEST(test_totals,
	  "a rank's memory: calls and bytes, of a communicator whose number is used again, too")
{
	struct record_memory *memory =
		aligned_alloc(_Alignof(struct record_memory), sizeof(*memory));
	struct pace_watch w;
	struct meter_row whole;

	CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
	memset(memory, 0, sizeof(*memory));
	memory->header.inits[3] = (struct record_init){ .id = 77, .rank = 0, .nranks = 2 };
	memory->totals[3][CALL_SEND].calls = 7;
	memory->totals[3][CALL_SEND].bytes = 700;
	pace_watch_open(&w, 0, 0);
	w.metered = true;
	pace_watch_meter(&w, (struct record_memory *[]){ memory }, 1);
	memory->header.inits[3].id = 78;
	memory->totals[3][CALL_SEND].calls = 1;
	pace_watch_meter(&w, (struct record_memory *[]){ memory }, 1);
	whole = meter_whole(&w.meter);
	UNIT_ALL(whole.rows == 2, whole.calls == 8, whole.bytes == 1400, !whole.samples,
		 isnan(whole.held_percent));
	pace_watch_release(&w);
	free(memory);
}

UNIT_MAIN(unit_main())
