/* test_timeline_axis.c: clocks of several hosts, mad clocks, hostile times, long gaps. */
#include "timeline_scene.h"

/* Host b's clock is an hour and more ahead; call 1 ended on all ranks at once. */
UNIT_TEST(test_hosts, "clocks of two hosts")
{
	const uint64_t ahead = 4000000 * MS;

	for (int common = 1; common >= 0; common--) {
		timeline_set_up(4);
		for (int i = 0; i < 4; i++) {
			timeline_call(i, 10, 30);
			if (i != 1)
				timeline_call(i, 40, 0);
		}
		for (int i = 2; i < 4; i++) {
			struct evidence_rank *r = &timeline_evidence.ranks[i];

			strcpy(r->view.host, "b");
			/* 7 ms later than on host a, by the ends of call 1 */
			r->view.seen_ns += ahead + 7 * MS;
			for (size_t k = 0; k < 2; k++) {
				r->calls[k].enqueued_ns += ahead;
				if (r->calls[k].returned_ns)
					r->calls[k].returned_ns += ahead;
			}
			if (!common)
				r->calls[0].seq = 77;
		}
		timeline_build();
		CU_ASSERT_EQUAL(timeline.nhosts, 2);
		CU_ASSERT_EQUAL_FATAL(timeline.lanes[3].nspans, 2);
		if (common) {
			UNIT_ALL(fabs(timeline.lanes[3].spans[0].enter - 0) <= 1,
				 fabs(timeline.lanes[0].spans[0].enter - 0) <= 1,
				 fabs(timeline.end - 97e6) <= 1,
				 strstr(timeline.notes,
					"aligned on the end of call 1 of communicator 0") != NULL);
		} else {
			/* evidence of both hosts at one moment */
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[3].spans[0].enter, 0, 1);
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[0].spans[0].enter, 7e6, 1);
			CU_ASSERT_PTR_NOT_NULL(strstr(timeline.notes, "share no completed call"));
		}
		timeline_tear_down();
	}
}

/* No crash, no endless file, nothing outside the axis, whatever stands in the times. */
static void check_bounds(void)
{
	struct stat st;
	json_t *top;

	for (size_t i = 0; i < timeline.nlanes; i++)
		for (size_t k = 0; k < timeline.lanes[i].nspans; k++) {
			const struct span *s = &timeline.lanes[i].spans[k];

			CU_ASSERT(s->enter >= 0 && s->enter <= timeline.end);
			CU_ASSERT(s->leave >= s->enter && s->leave <= timeline.end);
			CU_ASSERT(s->joined >= s->enter && s->joined <= s->leave);
		}
	CU_ASSERT(timeline.end >= 0 && timeline.end < 1e15);
	top = timeline_trace();
	json_decref(top);
	UNIT_ALL(stat(timeline_path("t.json"), &st) == 0, st.st_size < 4 << 20,
		 strlen(timeline_table()) < 1 << 19);
}

#define NASTY                                                                                      \
	0, 1, START, START + 50 * MS, START + MS, START + 200 * MS, UINT64_MAX, UINT64_MAX / 2,    \
		1ull << 63, START - 100000000 * MS

UNIT_TEST(test_hostile_times, "hostile times")
{
	static const uint64_t nasty[] = { NASTY };
	const size_t n = LENGTH(nasty);

	srand(5);
	for (int round = 0; round < unit_times(300); round++) {
		timeline_set_up(4);
		for (int i = 0; i < 4; i++) {
			struct evidence_rank *r = &timeline_evidence.ranks[i];

			r->times = calloc(200, sizeof(*r->times));
			for (int k = 0; k < 5; k++) {
				struct record *call = timeline_call(i, 10, k < 4 ? 20 : 0);

				call->enqueued_ns = nasty[(size_t)rand() % n];
				call->returned_ns = nasty[(size_t)rand() % n];
				r->times[k].start_ns = nasty[(size_t)rand() % n];
				r->times[k].end_ns = nasty[(size_t)rand() % n];
			}
			if (round % 2)
				r->view.seen_ns = nasty[(size_t)rand() % n];
			r->view.since_ns = nasty[(size_t)rand() % n];
			r->view.waiting = 1;
			memset(r->view.what, 0xff, sizeof(r->view.what) - 1);
			r->view.host[0] = round % 3 ? 'a' : (char)('a' + i);
		}
		timeline_build();
		check_bounds();
		timeline_tear_down();
	}
}

/* One rank's mad clock costs that rank alone its calls. */
UNIT_TEST(test_mad_clock, "one mad clock")
{
	timeline_set_up(3);
	for (int i = 0; i < 3; i++)
		timeline_call(i, 10, 30);
	timeline_evidence.ranks[1].view.seen_ns += 86400000 * MS;
	timeline_evidence.ranks[1].calls[0].enqueued_ns += 86400000 * MS;
	timeline_evidence.ranks[1].calls[0].returned_ns += 86400000 * MS;
	timeline_build();
	UNIT_ALL(timeline.lanes[0].nspans == 1, timeline.lanes[1].nspans == 0,
		 timeline.lanes[2].nspans == 1, timeline.end == 90e6, timeline.dropped == 1);
	timeline_tear_down();
}

UNIT_TEST(test_empty, "empty evidence")
{
	timeline_set_up(2);
	timeline_evidence.ranks[1].present = false;
	timeline_diagnosis.seq_low = timeline_diagnosis.hang_seq = -1;
	timeline_build();
	check_bounds();
	UNIT_ALL(timeline.end == 0, isnan(timeline.divergence),
		 strstr(timeline_table(), "lane,1,1,1,\"nothing known\"") != NULL,
		 strstr(timeline_table(), "\ncall,") == NULL);
	timeline_tear_down();
	timeline_set_up(1);
	timeline_evidence.nranks = 0;
	timeline_build();
	check_bounds();
	CU_ASSERT_EQUAL(timeline.nlanes, 0);
	timeline_evidence.nranks = 1;
	timeline_tear_down();
}

/* Hours of waiting beside microseconds of calls: the wait is named as what may be shortened. */
UNIT_TEST(test_breaks, "long gaps")
{
	timeline_set_up(2);
	for (uint64_t k = 1; k < 20; k += 2) {
		timeline_call(0, k, k + 1);
		timeline_call(1, k, k + 1);
	}
	timeline_call(0, 30, 0);
	timeline_evidence.ranks[0].view.seen_ns = timeline_evidence.ranks[1].view.seen_ns =
		START + 3600000 * MS;
	timeline_diagnosis.seq_low = timeline_diagnosis.hang_seq = 11;
	timeline_build();
	CU_ASSERT_EQUAL_FATAL(timeline.nbreaks, 1);
	CU_ASSERT_EQUAL(timeline.breaks[0].low,
			17e6); /* the first call shown is number 7, at 13 ms */
	UNIT_ALL(timeline.breaks[0].high == timeline.end, timeline.end == 3600e9 - 13e6);
	timeline_tear_down();
	timeline_play_two(); /* nothing stands out */
	CU_ASSERT_EQUAL(timeline.nbreaks, 0);
	timeline_tear_down();
}
