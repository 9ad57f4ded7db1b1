/* test_timeline.c: which calls are shown, and what trace and table say of them. The axis of several
 * clocks is in test_timeline_axis.c. */
#include "timeline_scene.h"

#include <sys/resource.h>

UNIT_TEST(test_two_ranks, "two ranks: times, waiting, verdict")
{
	const struct span *s;

	timeline_play_two();
	CU_ASSERT_EQUAL_FATAL(timeline.nlanes, 2);
	CU_ASSERT_EQUAL(timeline.ndrawn, 2);
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[0].nspans, 2);
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[1].nspans, 1);
	UNIT_ALL(!timeline.lanes[0].culprit, timeline.lanes[1].culprit);
	s = timeline.lanes[0].spans; /* the first call shown is at 0; it waits 10 ms for rank 1 */
	UNIT_ALL(s[0].enter == 0, s[0].joined == 10e6, s[0].leave == 20e6, s[0].state == SPAN_DONE);
	CU_ASSERT_EQUAL(s[1].enter, 30e6); /* never joined: waits to the verdict */
	UNIT_ALL(s[1].joined == 90e6, s[1].leave == 90e6, s[1].state == SPAN_UNFINISHED);
	s = timeline.lanes[1].spans;
	UNIT_ALL(s[0].enter == 10e6, s[0].joined == 10e6, timeline.end == 90e6,
		 timeline.divergence == 30e6, timeline.hang == 30e6,
		 timeline.lanes[0].wait_since == 25e6, isnan(timeline.lanes[1].wait_since),
		 !strcmp(timeline.lanes[0].note, "in call 2 for 60 ms"),
		 !strcmp(timeline.lanes[1].note, "in futex"), !strcmp(timeline.notes, ""));
	timeline_tear_down();
}

/* The nth event of that phase and rank, -1: any; NULL: there is none. */
static const json_t *event(const json_t *top, const char *phase, int rank, size_t nth)
{
	const json_t *events = json_object_get(top, "traceEvents");

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *e = json_array_get(events, i);

		if (strcmp(json_string_value(json_object_get(e, "ph")), phase) != 0 ||
		    (rank >= 0 && json_integer_value(json_object_get(e, "pid")) != rank))
			continue;
		if (nth-- == 0)
			return e;
	}
	return NULL;
}

static void expect_event(const json_t *top, int rank, size_t nth, const char *name, int thread,
			 double us, double long_us)
{
	const json_t *e = event(top, "X", rank, nth);

	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(e, "name")), name);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(e, "tid")), thread);
	CU_ASSERT_EQUAL(json_number_value(json_object_get(e, "ts")), us);
	CU_ASSERT_EQUAL(json_number_value(json_object_get(e, "dur")), long_us);
}

static void expect_arg(const json_t *e, const char *key, const char *text, json_int_t number)
{
	const json_t *value = json_object_get(json_object_get(e, "args"), key);

	CU_ASSERT_PTR_NOT_NULL_FATAL(value);
	if (!text) {
		CU_ASSERT_EQUAL(json_integer_value(value), number);
		return;
	}
	CU_ASSERT_STRING_EQUAL(json_string_value(value), text);
}

/* A run that came to its end: all calls, as many as there is room for. */
UNIT_TEST(test_healthy, "trace of a healthy run")
{
	static const int room[][2] = { { 1, 4096 }, { 16, 4096 }, { 128, 512 }, { 100000, 4 } };
	json_t *top;

	for (size_t i = 0; i < LENGTH(room); i++)
		CU_ASSERT_EQUAL(timeline_newest(room[i][0]), (size_t)room[i][1]);
	timeline_set_up(2);
	for (uint64_t i = 0; i < 99; i++)
		for (int rank = 0; rank < 2; rank++)
			timeline_call(rank, i, i + 1);
	timeline_init(&timeline, NULL, &timeline_evidence);
	CU_ASSERT_EQUAL(timeline.lanes[1].nspans, 99);
	top = timeline_trace();
	expect_event(top, 1, 98, "AllReduce", 0, 98000, 1000);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(event(top, "i", -1, 0), "name")),
			       "end of the run");
	json_decref(top);
	timeline_tear_down();
}

UNIT_TEST(test_trace, "trace, event by event")
{
	const json_t *e;
	json_t *top;

	timeline_play_two();
	top = timeline_trace();
	expect_event(top, 0, 0, "AllReduce", 0, 0, 20000);
	expect_event(top, 0, 1, "waits for ranks", 0, 0, 10000);
	expect_event(top, 0, 2, "AllReduce", 0, 30000, 60000);
	expect_event(top, 0, 3, "waits for ranks", 0, 30000, 60000);
	expect_event(top, 0, 4, "a scheduled call", 2, 25000, 65000);
	CU_ASSERT_PTR_NULL(event(top, "X", 0, 5));
	expect_event(top, 1, 0, "AllReduce", 0, 10000, 10000);
	CU_ASSERT_PTR_NULL(event(top, "X", 1, 1));
	e = event(top, "X", 0, 2);
	expect_arg(e, "seq", NULL, 2);
	expect_arg(e, "comm", NULL, 0);
	expect_arg(e, "kind", "AllReduce", 0);
	expect_arg(e, "count", NULL, 102);
	expect_arg(e, "dtype", "float", 0);
	expect_arg(e, "op", "sum", 0);
	expect_arg(e, "state", "unfinished", 0);
	e = event(top, "M", 1, 0);
	expect_arg(e, "name", "rank 1 (culprit)", 0);
	e = event(top, "i", -1, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	UNIT_ALL(!strcmp(json_string_value(json_object_get(e, "name")),
			 "divergence: call 2 of communicator 0"),
		 json_number_value(json_object_get(e, "ts")) == 30000,
		 !strcmp(json_string_value(json_object_get(event(top, "i", -1, 2), "name")),
			 "verdict"));
	json_decref(top);
	timeline_tear_down();
}

/* Several culprits; no comma, which gnuplot would end the cell at. The time is that of the verdict line. */
UNIT_TEST(test_title, "title of several ranks")
{
	timeline_play_two();
	strcpy(timeline_diagnosis.ranks, "0,1");
	timeline_evidence.detect_ms = 640;
	CU_ASSERT_PTR_NOT_NULL(
		strstr(timeline_table(),
		       "\ntitle,,,,\"hang: missing-call (ranks 0;1); named after 640 ms\",,"));
	timeline_tear_down();
}

/* Each of two ranks is in a communicator's call that the other has not made. */
UNIT_TEST(test_circle, "a circle of two communicators")
{
	static const char *const notes[] = {
		"in call 3 of communicator 0, for 60 ms without rank 1",
		"in call 3 of communicator 7, for 60 ms without rank 0"
	};

	timeline_set_up(2);
	for (int i = 0; i < 2; i++) {
		timeline_call(i, 10, 20);
		timeline_call(i, 20, 30)->comm = 7;
		timeline_call(i, 40, 0)->comm = i ? 7 : 0;
	}
	timeline_build();
	for (int i = 0; i < 2; i++)
		CU_ASSERT_STRING_EQUAL(timeline.lanes[i].note, notes[i]);
	timeline_tear_down();
}

UNIT_TEST(test_table, "table, cell by cell")
{
	timeline_play_two();
	CU_ASSERT_STRING_EQUAL(
		timeline_table(),
		"row,rank,lane,guilty,text,comm,seq,kind,count,dtype,state,start_ms,joined_ms,"
		"end_ms,device_start_ms,device_end_ms\n"
		"title,,,,\"hang: missing-call (rank 1)\",,,,,,,,,,,\n"
		"divergence,,,,\"divergence: call 2 of communicator 0\",,,,,,,30.000000,,,,\n"
		"hang,,,,\"hang: call 2 of communicator 0\",,,,,,,30.000000,,,,\n"
		"verdict,,,,\"verdict\",,,,,,,90.000000,,,,\n"
		"lane,0,0,0,\"in call 2 for 60 ms\",,,,,,,,,,,\n"
		"call,0,0,0,,0,1,AllReduce,101,float,done,0.000000,10.000000,20.000000,,\n"
		"call,0,0,0,,0,2,AllReduce,102,float,unfinished,30.000000,90.000000,90.000000,,\n"
		"lane,1,1,1,\"in futex\",,,,,,,,,,,\n"
		"call,1,1,1,,0,1,AllReduce,101,float,done,10.000000,10.000000,20.000000,,\n");
	timeline_tear_down();
}

/* Four ranks on a device, which runs on behind the host: times of the device count, and what is
 * queued is told from what ran. */
UNIT_TEST(test_device, "four ranks on a device")
{
	timeline_set_up(4);
	strcpy(timeline_evidence.backend, "nccl");
	for (int i = 0; i < 4; i++) {
		struct evidence_rank *r = &timeline_evidence.ranks[i];

		timeline_call(i, 10, 11);
		timeline_call(i, 12, 13);
		timeline_call(i, 14, 15);
		r->view.completed = 0;
		r->view.waiting = 1;
		r->view.since_ns = START + 16 * MS;
		r->times = calloc(200, sizeof(*r->times));
		r->times[0] = (struct call_times){ START + 20 * MS, START + 25 * MS };
		r->times[1] = (struct call_times){ START + 5 * MS, START + 4 * MS }; /* cannot be */
	}
	timeline_evidence.ranks[3].calls[2].flags = RECORD_FAILED;
	timeline_build();
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[2].nspans, 3);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].state, SPAN_DONE);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].device_start, 10e6);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].leave, 15e6);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[1].state, SPAN_UNFINISHED); /* what it waits for */
	UNIT_ALL(timeline.lanes[2].spans[1].leave == 90e6,
		 isnan(timeline.lanes[2].spans[1].device_end),
		 timeline.lanes[2].spans[2].state == SPAN_QUEUED,
		 timeline.lanes[2].spans[2].leave == 5e6,
		 timeline.lanes[3].spans[2].state == SPAN_FAILED,
		 strstr(timeline_table(),
			"call,2,2,0,,0,1,AllReduce,101,float,done,0.000000,0.000000,15.000000,"
			"10.000000,15.000000\n") != NULL);
	timeline_tear_down();
}

/* A send or receive of a group: it returns at once, and the group's end completes it. */
static void add_half(int rank, uint64_t enter, enum call_kind kind)
{
	uint64_t completed = timeline_evidence.ranks[rank].view.completed;

	*timeline_call(rank, enter, enter + 1) =
		(struct record){ .ticket = timeline_evidence.ranks[rank].ncalls,
				 .seq = timeline_evidence.ranks[rank].ncalls,
				 .enqueued_ns = START + enter * MS,
				 .returned_ns = START + (enter + 1) * MS,
				 .peer = 1 - rank,
				 .kind = (uint8_t)kind,
				 .op = OP_NONE,
				 .state = RECORD_RETURNED };
	timeline_evidence.ranks[rank].view.completed = completed;
}

/* Two groups of a send and a receive since the host last synchronised, as hypercube has them. The first has
 * ended, though no record says so, and the rank waits in the second. Without a wait it is in neither. */
UNIT_TEST(test_groups, "groups of sends and receives")
{
	for (int waiting = 1; waiting >= 0; waiting--) {
		const struct span *s;

		timeline_set_up(2);
		timeline_call(0, 10, 11);
		add_half(0, 12, CALL_SEND);
		add_half(0, 13, CALL_RECV);
		add_half(0, 20, CALL_SEND);
		add_half(0, 21, CALL_RECV);
		timeline_evidence.ranks[0].state = 'R';
		timeline_evidence.ranks[0].view.waiting = (uint32_t)waiting;
		timeline_build();
		CU_ASSERT_EQUAL_FATAL(timeline.lanes[0].nspans, 5);
		s = timeline.lanes[0].spans;
		UNIT_ALL(s[0].state == SPAN_DONE, s[1].state == SPAN_QUEUED,
			 s[2].state == SPAN_QUEUED, s[2].leave == 4e6,
			 s[3].state == (waiting ? SPAN_UNFINISHED : SPAN_QUEUED),
			 s[3].leave == (waiting ? 90e6 : 11e6),
			 s[4].state == (waiting ? SPAN_UNFINISHED : SPAN_QUEUED),
			 s[4].leave == (waiting ? 90e6 : 12e6));
		CU_ASSERT(!strcmp(timeline.lanes[0].note,
				  waiting ? "in calls 4 and 5 for 80 ms" : "running"));
		timeline_tear_down();
	}
}

/* A rank that left with an error out of an exchange is in it no longer; a killed one is. */
UNIT_TEST(test_left, "a rank that left")
{
	for (int killed = 0; killed <= 1; killed++) {
		struct rank_view *view;

		timeline_set_up(2);
		add_half(0, 10, CALL_SEND);
		add_half(0, 12, CALL_RECV);
		view = &timeline_evidence.ranks[0].view;
		view->waiting = 1;
		view->process = killed ? PROCESS_KILLED : PROCESS_EXITED;
		view->outcome = killed ? -1 : OUTCOME_ERROR;
		view->status = killed ? 9 : OUTCOME_ERROR;
		timeline_build();
		CU_ASSERT_EQUAL_FATAL(timeline.lanes[0].nspans, 2);
		for (int i = 0; i < 2; i++)
			CU_ASSERT_EQUAL(timeline.lanes[0].spans[i].state,
					killed ? SPAN_UNFINISHED : SPAN_QUEUED);
		timeline_tear_down();
	}
}

/* A rank that polls in a wait of its own is not merely running. */
UNIT_TEST(test_polling, "a rank that polls")
{
	timeline_set_up(2);
	timeline_call(0, 10, 11);
	timeline_call(1, 10, 11);
	timeline_evidence.ranks[0].state = timeline_evidence.ranks[1].state = 'R';
	timeline_evidence.ranks[0].view.waiting = 1;
	strcpy(timeline_evidence.ranks[0].view.what, "the end of the schedule");
	timeline_build();
	CU_ASSERT_STRING_EQUAL(timeline.lanes[0].note, "running in 'the end of the schedule'");
	CU_ASSERT_STRING_EQUAL(timeline.lanes[1].note, "running");
	timeline_tear_down();
}

/* A receive, a call not next to it, a collective, over on return, belong to no exchange. */
UNIT_TEST(test_last_exchange, "the last exchange")
{
	static const struct {
		enum call_kind kinds[2];
		uint64_t skipped; /* tickets between the two */
		uint64_t completed;
		enum span_state states[2];
	} rows[] = {
		{ { CALL_RECV, CALL_RECV }, 0, 0, { SPAN_QUEUED, SPAN_UNFINISHED } },
		{ { CALL_SEND, CALL_RECV }, 1, 0, { SPAN_QUEUED, SPAN_UNFINISHED } },
		{ { CALL_RECV, CALL_SEND }, 0, 0, { SPAN_UNFINISHED, SPAN_UNFINISHED } },
		{ { CALL_SEND, CALL_RECV }, 0, 1, { SPAN_DONE, SPAN_UNFINISHED } },
		{ { CALL_SEND, CALL_RECV }, 0, 2, { SPAN_DONE, SPAN_DONE } },
		{ { CALL_SEND, CALL_ALL_REDUCE }, 0, 0, { SPAN_QUEUED, SPAN_DONE } },
		{ { CALL_ALL_REDUCE, CALL_RECV }, 0, 0, { SPAN_DONE, SPAN_UNFINISHED } },
	};

	UNIT_ROWS(row, rows) {
		struct evidence_rank *r;

		timeline_set_up(2);
		r = &timeline_evidence.ranks[0];
		add_half(0, 10, row->kinds[0]);
		add_half(0, 12, row->kinds[1]);
		r->calls[1].ticket += row->skipped;
		r->view.waiting = 1;
		r->view.completed = row->completed;
		timeline_build();
		CU_ASSERT_EQUAL_FATAL(timeline.lanes[0].nspans, 2);
		CU_ASSERT_EQUAL(timeline.lanes[0].spans[0].state, row->states[0]);
		CU_ASSERT_EQUAL(timeline.lanes[0].spans[1].state, row->states[1]);
		timeline_tear_down();
	}
}

/* From four calls before the divergence on, the last four of a rank that did not come so far. */
UNIT_TEST(test_window, "which calls")
{
	timeline_set_up(2);
	for (uint64_t k = 1; k <= 40; k++)
		timeline_call(0, k, k + 1);
	for (uint64_t k = 1; k <= 9; k++)
		timeline_call(1, k, k + 1);
	timeline_diagnosis.seq_low = 20;
	timeline_diagnosis.hang_seq = 30;
	timeline_build();
	UNIT_ALL(timeline.lanes[0].nspans == 25, timeline.lanes[0].spans[0].call->seq == 16,
		 timeline.lanes[1].nspans == 4, timeline.lanes[1].spans[0].call->seq == 6);
	timeline_release(&timeline);
	timeline_diagnosis.hang_seq = 10; /* the lower of the two */
	timeline_build();
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[0].call->seq, 6);
	timeline_release(&timeline);
	timeline_diagnosis.seq_low = 2;
	timeline_diagnosis.hang_seq = -1;
	for (uint64_t k = 41; k <= 90; k++)
		timeline_call(0, k, k + 1);
	timeline_build(); /* 90 calls: 63 and the last */
	UNIT_ALL(timeline.lanes[0].nspans == TIMELINE_CALLS,
		 timeline.lanes[0].spans[0].call->seq == 1,
		 timeline.lanes[0].spans[62].call->seq == 63,
		 timeline.lanes[0].spans[63].call->seq == 90, timeline.dropped == 26,
		 strstr(timeline.notes, "26 calls are left out") != NULL);
	timeline_tear_down();
}

static void expect_drawn(int nranks, const char *culprits, const int *ranks, size_t n)
{
	size_t k = 0;

	timeline_set_up(nranks);
	strcpy(timeline_diagnosis.ranks, culprits);
	for (int i = 0; i < nranks; i++)
		timeline_call(i, 10, 20);
	timeline_build();
	CU_ASSERT_EQUAL(timeline.ndrawn, n);
	for (size_t i = 0; i < timeline.nlanes; i++)
		if (timeline.lanes[i].drawn && k < n)
			CU_ASSERT_EQUAL(timeline.lanes[i].rank, ranks[k++]);
	CU_ASSERT_EQUAL(k, n);
	CU_ASSERT_EQUAL(strstr(timeline.notes, "ranks are drawn") != NULL, nranks > TIMELINE_DRAWN);
	CU_ASSERT_EQUAL((int)timeline.nlanes, nranks < TIMELINE_LANES ? nranks : TIMELINE_LANES);
	timeline_tear_down();
}

UNIT_TEST(test_selection, "which ranks")
{
	expect_drawn(64, "17", (const int[]){ 0, 16, 17, 18, 63 }, 5);
	expect_drawn(64, "0,63", (const int[]){ 0, 1, 62, 63 }, 4);
	expect_drawn(64, "5,6,900", (const int[]){ 0, 4, 5, 6, 7, 63 }, 6);
	expect_drawn(64, "-", (const int[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 63 },
		     16);
	expect_drawn(64, "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33",
		     (const int[]){ 0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 63 }, 16);
	expect_drawn(16, "3", (const int[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		     16);
	expect_drawn(300, "200", (const int[]){ 0, 199, 200, 201, 299 }, 5);
}

UNIT_TEST(test_no_folder, "no folder to write to")
{
	timeline_play_two();
	CU_ASSERT(timeline_save_csv(&timeline, "/nowhere/at/all/t.csv") < 0);
	CU_ASSERT(timeline_save_trace(&timeline, "/nowhere/at/all/t.json") < 0);
	timeline_tear_down();
}

/* The file system takes 200 bytes of a file. A file that is there already stays, and no half file is left. */
UNIT_TEST(test_full, "a full disk leaves no half file")
{
	struct rlimit before, small;
	int table, trace;

	timeline_play_two();
	signal(SIGXFSZ, SIG_IGN);
	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 200, before.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	table = timeline_save_csv(&timeline, timeline_path("t.csv"));
	trace = timeline_save_trace(&timeline, timeline_path("t.json"));
	setrlimit(RLIMIT_FSIZE, &before);
	CU_ASSERT(table < 0 && trace < 0);
	CU_ASSERT(access(timeline_path("t.csv"), F_OK) < 0 &&
		  access(timeline_path("t.json"), F_OK) < 0);
	timeline_tear_down();
}
