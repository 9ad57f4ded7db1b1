/* test_timeline.c: which calls are shown, where on the axis, and what trace and table say of
 * them. */
#include "unit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "dtype.h"
#include "timeline.h"
#include "watch.h"

#define MS    1000000ull
#define START (5000 * MS) /* of the made-up clock */

static struct evidence evidence;
static struct diagnosis diagnosis;
static struct timeline timeline;
static char dir[UNIT_TEMP];

/* Ranks of one host that were looked at 100 ms after START, none with calls. */
static void set_up(int nranks)
{
	memset(&evidence, 0, sizeof(evidence));
	memset(&diagnosis, 0, sizeof(diagnosis));
	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	diagnosis.outcome = OUTCOME_HANG;
	diagnosis.class = "missing-call";
	diagnosis.confidence = "proved";
	diagnosis.seq_low = diagnosis.seq_high = diagnosis.hang_seq = 2;
	strcpy(diagnosis.ranks, "1");
	strcpy(evidence.backend, "mpi");
	evidence.nranks = nranks;
	evidence.ranks = calloc((size_t)nranks, sizeof(*evidence.ranks));
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->present = true;
		r->view.rank = i;
		r->view.seen_ns = START + 100 * MS;
		strcpy(r->view.host, "a");
		r->calls = calloc(200, sizeof(*r->calls));
	}
}

/* The rank's next call: entered and left so many milliseconds after START; left 0: it is in it. */
static struct record *add(int rank, uint64_t enter, uint64_t leave)
{
	struct evidence_rank *r = &evidence.ranks[rank];
	struct record *call = &r->calls[r->ncalls++];

	*call = (struct record){ .ticket = r->ncalls,
				 .seq = r->ncalls,
				 .count = 100 + r->ncalls,
				 .enqueued_ns = START + enter * MS,
				 .returned_ns = leave ? START + leave * MS : 0,
				 .peer = -1,
				 .kind = CALL_ALL_REDUCE,
				 .dtype = DT_FLOAT,
				 .op = OP_SUM,
				 .state = leave ? RECORD_RETURNED : RECORD_ISSUING };
	r->view.issued = r->ncalls;
	r->view.completed = leave ? r->ncalls : r->ncalls - 1;
	return call;
}

static const char *path_of(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void build(void)
{
	CU_ASSERT_EQUAL_FATAL(timeline_init(&timeline, &diagnosis, &evidence), 0);
}

static void tear_down(void)
{
	timeline_release(&timeline);
	evidence_release(&evidence);
	unlink(path_of("t.csv"));
	unlink(path_of("t.json"));
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

/* Rank 0 makes two calls and stands in the second, rank 1 one and none after; it came 10 ms late
 * to the first. */
static void play_two(void)
{
	set_up(2);
	add(0, 10, 30);
	add(0, 40, 0);
	add(1, 20, 30);
	strcpy(evidence.ranks[1].syscall, "futex");
	evidence.ranks[0].view.waiting = 1;
	evidence.ranks[0].view.since_ns = START + 35 * MS;
	strcpy(evidence.ranks[0].view.what, "a scheduled call");
	build();
}

static void test_two_ranks(void)
{
	const struct span *s;

	play_two();
	CU_ASSERT_EQUAL_FATAL(timeline.nlanes, 2);
	CU_ASSERT_EQUAL(timeline.ndrawn, 2);
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[0].nspans, 2);
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[1].nspans, 1);
	CU_ASSERT_FALSE(timeline.lanes[0].guilty);
	CU_ASSERT_TRUE(timeline.lanes[1].guilty);
	s = timeline.lanes[0].spans; /* the first call shown is at 0; it waits 10 ms for rank 1 */
	CU_ASSERT_EQUAL(s[0].enter, 0);
	CU_ASSERT_EQUAL(s[0].joined, 10e6);
	CU_ASSERT_EQUAL(s[0].leave, 20e6);
	CU_ASSERT_EQUAL(s[0].state, SPAN_DONE);
	CU_ASSERT_EQUAL(s[1].enter, 30e6); /* never joined: waits to the verdict */
	CU_ASSERT_EQUAL(s[1].joined, 90e6);
	CU_ASSERT_EQUAL(s[1].leave, 90e6);
	CU_ASSERT_EQUAL(s[1].state, SPAN_UNFINISHED);
	s = timeline.lanes[1].spans;
	CU_ASSERT_EQUAL(s[0].enter, 10e6);
	CU_ASSERT_EQUAL(s[0].joined, 10e6);
	CU_ASSERT_EQUAL(timeline.end, 90e6);
	CU_ASSERT_EQUAL(timeline.divergence, 30e6);
	CU_ASSERT_EQUAL(timeline.hang, 30e6);
	CU_ASSERT_EQUAL(timeline.lanes[0].wait_since, 25e6);
	CU_ASSERT_TRUE(isnan(timeline.lanes[1].wait_since));
	CU_ASSERT_STRING_EQUAL(timeline.lanes[0].note, "in call 2 for 60 ms");
	CU_ASSERT_STRING_EQUAL(timeline.lanes[1].note, "in futex");
	CU_ASSERT_STRING_EQUAL(timeline.notes, "");
	tear_down();
}

static json_t *save_trace(void)
{
	json_t *top;

	CU_ASSERT_EQUAL_FATAL(timeline_save_trace(&timeline, path_of("t.json")), 0);
	top = json_load_file(path_of("t.json"), 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	return top;
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

static void test_trace(void)
{
	const json_t *e;
	json_t *top;

	play_two();
	top = save_trace();
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
	expect_arg(e, "name", "rank 1 (guilty)", 0);
	e = event(top, "i", -1, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(e, "name")),
			       "divergence: call 2 of communicator 0");
	CU_ASSERT_EQUAL(json_number_value(json_object_get(e, "ts")), 30000);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(event(top, "i", -1, 2), "name")),
			       "verdict");
	json_decref(top);
	tear_down();
}

static const char *table(void)
{
	static char text[1 << 20];
	FILE *f;
	size_t n;

	CU_ASSERT_EQUAL_FATAL(timeline_save_csv(&timeline, path_of("t.csv")), 0);
	f = fopen(path_of("t.csv"), "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	CU_ASSERT(n < sizeof(text) - 1);
	text[n] = '\0';
	return text;
}

/* Several guilty ranks; no comma, which gnuplot would end the cell at. */
static void test_title(void)
{
	play_two();
	strcpy(diagnosis.ranks, "0,1");
	CU_ASSERT_PTR_NOT_NULL(strstr(table(), "\ntitle,,,,\"hang: missing-call (ranks 0;1)\",,"));
	tear_down();
}

static void test_table(void)
{
	play_two();
	CU_ASSERT_STRING_EQUAL(
		table(),
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
	tear_down();
}

/* Four ranks on a device, which runs on behind the host: times of the device count, and what is
 * queued is told from what ran. */
static void test_device(void)
{
	set_up(4);
	strcpy(evidence.backend, "nccl");
	for (int i = 0; i < 4; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		add(i, 10, 11);
		add(i, 12, 13);
		add(i, 14, 15);
		r->view.completed = 0;
		r->view.waiting = 1;
		r->view.since_ns = START + 16 * MS;
		r->times = calloc(200, sizeof(*r->times));
		r->times[0] = (struct call_times){ START + 20 * MS, START + 25 * MS };
		r->times[1] = (struct call_times){ START + 5 * MS, START + 4 * MS }; /* cannot be */
	}
	evidence.ranks[3].calls[2].failed = 1;
	build();
	CU_ASSERT_EQUAL_FATAL(timeline.lanes[2].nspans, 3);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].state, SPAN_DONE);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].device_start, 10e6);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[0].leave, 15e6);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[1].state, SPAN_UNFINISHED); /* what it waits for */
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[1].leave, 90e6);
	CU_ASSERT_TRUE(isnan(timeline.lanes[2].spans[1].device_end));
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[2].state, SPAN_QUEUED);
	CU_ASSERT_EQUAL(timeline.lanes[2].spans[2].leave, 5e6);
	CU_ASSERT_EQUAL(timeline.lanes[3].spans[2].state, SPAN_FAILED);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(table(),
		       "call,2,2,0,,0,1,AllReduce,101,float,done,0.000000,0.000000,15.000000,"
		       "10.000000,15.000000\n"));
	tear_down();
}

/* From four calls before the divergence on, the last four of a rank that did not come so far. */
static void test_window(void)
{
	set_up(2);
	for (uint64_t k = 1; k <= 40; k++)
		add(0, k, k + 1);
	for (uint64_t k = 1; k <= 9; k++)
		add(1, k, k + 1);
	diagnosis.seq_low = 20;
	diagnosis.hang_seq = 30;
	build();
	CU_ASSERT_EQUAL(timeline.lanes[0].nspans, 25);
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[0].call->seq, 16);
	CU_ASSERT_EQUAL(timeline.lanes[1].nspans, 4);
	CU_ASSERT_EQUAL(timeline.lanes[1].spans[0].call->seq, 6);
	timeline_release(&timeline);
	diagnosis.hang_seq = 10; /* the lower of the two */
	build();
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[0].call->seq, 6);
	timeline_release(&timeline);
	diagnosis.seq_low = 2;
	diagnosis.hang_seq = -1;
	for (uint64_t k = 41; k <= 90; k++)
		add(0, k, k + 1);
	build(); /* 90 calls: 63 and the last */
	CU_ASSERT_EQUAL(timeline.lanes[0].nspans, TIMELINE_CALLS);
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[0].call->seq, 1);
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[62].call->seq, 63);
	CU_ASSERT_EQUAL(timeline.lanes[0].spans[63].call->seq, 90);
	CU_ASSERT_EQUAL(timeline.dropped, 26);
	CU_ASSERT_PTR_NOT_NULL(strstr(timeline.notes, "26 calls are left out"));
	tear_down();
}

static void expect_drawn(int nranks, const char *guilty, const int *ranks, size_t n)
{
	size_t k = 0;

	set_up(nranks);
	strcpy(diagnosis.ranks, guilty);
	for (int i = 0; i < nranks; i++)
		add(i, 10, 20);
	build();
	CU_ASSERT_EQUAL(timeline.ndrawn, n);
	for (size_t i = 0; i < timeline.nlanes; i++)
		if (timeline.lanes[i].drawn && k < n)
			CU_ASSERT_EQUAL(timeline.lanes[i].rank, ranks[k++]);
	CU_ASSERT_EQUAL(k, n);
	CU_ASSERT_EQUAL(strstr(timeline.notes, "ranks are drawn") != NULL, nranks > TIMELINE_DRAWN);
	CU_ASSERT_EQUAL((int)timeline.nlanes,
			nranks < TIMELINE_LANES ? nranks : TIMELINE_LANES);
	tear_down();
}

static void test_selection(void)
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

/* Host b's clock is an hour and more ahead; call 1 ended on all ranks at once. */
static void test_hosts(void)
{
	const uint64_t ahead = 4000000 * MS;

	for (int common = 1; common >= 0; common--) {
		set_up(4);
		for (int i = 0; i < 4; i++) {
			add(i, 10, 30);
			if (i != 1)
				add(i, 40, 0);
		}
		for (int i = 2; i < 4; i++) {
			struct evidence_rank *r = &evidence.ranks[i];

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
		build();
		CU_ASSERT_EQUAL(timeline.nhosts, 2);
		CU_ASSERT_EQUAL_FATAL(timeline.lanes[3].nspans, 2);
		if (common) {
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[3].spans[0].enter, 0, 1);
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[0].spans[0].enter, 0, 1);
			CU_ASSERT_DOUBLE_EQUAL(timeline.end, 97e6, 1);
			CU_ASSERT_PTR_NOT_NULL(
				strstr(timeline.notes,
				       "aligned on the end of call 1 of communicator 0"));
		} else {
			/* evidence of both hosts at one moment */
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[3].spans[0].enter, 0, 1);
			CU_ASSERT_DOUBLE_EQUAL(timeline.lanes[0].spans[0].enter, 7e6, 1);
			CU_ASSERT_PTR_NOT_NULL(strstr(timeline.notes, "share no completed call"));
		}
		tear_down();
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
	top = save_trace();
	json_decref(top);
	CU_ASSERT_EQUAL(stat(path_of("t.json"), &st), 0);
	CU_ASSERT(st.st_size < 4 << 20);
	CU_ASSERT(strlen(table()) < 1 << 19);
}

static void test_hostile_times(void)
{
	static const uint64_t nasty[] = { 0,	      1,
					  START,      START + 50 * MS,
					  START + MS, START + 200 * MS,
					  UINT64_MAX, UINT64_MAX / 2,
					  1ull << 63, START - 100000000 * MS };
	const size_t n = sizeof(nasty) / sizeof(nasty[0]);

	srand(5);
	for (int round = 0; round < 300; round++) {
		set_up(4);
		for (int i = 0; i < 4; i++) {
			struct evidence_rank *r = &evidence.ranks[i];

			r->times = calloc(200, sizeof(*r->times));
			for (int k = 0; k < 5; k++) {
				struct record *call = add(i, 10, k < 4 ? 20 : 0);

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
		build();
		check_bounds();
		tear_down();
	}
}

/* One rank's mad clock costs that rank its calls, and nobody else. */
static void test_mad_clock(void)
{
	set_up(3);
	for (int i = 0; i < 3; i++)
		add(i, 10, 30);
	evidence.ranks[1].view.seen_ns += 86400000 * MS;
	evidence.ranks[1].calls[0].enqueued_ns += 86400000 * MS;
	evidence.ranks[1].calls[0].returned_ns += 86400000 * MS;
	build();
	CU_ASSERT_EQUAL(timeline.lanes[0].nspans, 1);
	CU_ASSERT_EQUAL(timeline.lanes[1].nspans, 0);
	CU_ASSERT_EQUAL(timeline.lanes[2].nspans, 1);
	CU_ASSERT_EQUAL(timeline.end, 90e6);
	CU_ASSERT_EQUAL(timeline.dropped, 1);
	tear_down();
}

static void test_empty(void)
{
	set_up(2);
	evidence.ranks[1].present = false;
	diagnosis.seq_low = diagnosis.hang_seq = -1;
	build();
	check_bounds();
	CU_ASSERT_EQUAL(timeline.end, 0);
	CU_ASSERT_TRUE(isnan(timeline.divergence));
	CU_ASSERT_PTR_NOT_NULL(strstr(table(), "lane,1,1,1,\"nothing known\""));
	CU_ASSERT_PTR_NULL(strstr(table(), "\ncall,"));
	tear_down();
	set_up(1);
	evidence.nranks = 0;
	build();
	check_bounds();
	CU_ASSERT_EQUAL(timeline.nlanes, 0);
	evidence.nranks = 1;
	tear_down();
}

/* Hours of waiting beside microseconds of calls: the wait is named as what may be shortened. */
static void test_breaks(void)
{
	set_up(2);
	for (uint64_t k = 1; k < 20; k += 2) {
		add(0, k, k + 1);
		add(1, k, k + 1);
	}
	add(0, 30, 0);
	evidence.ranks[0].view.seen_ns = evidence.ranks[1].view.seen_ns = START + 3600000 * MS;
	diagnosis.seq_low = diagnosis.hang_seq = 11;
	build();
	CU_ASSERT_EQUAL_FATAL(timeline.nbreaks, 1);
	CU_ASSERT_EQUAL(timeline.breaks[0].low,
			17e6); /* the first call shown is number 7, at 13 ms */
	CU_ASSERT_EQUAL(timeline.breaks[0].high, timeline.end);
	CU_ASSERT_EQUAL(timeline.end, 3600e9 - 13e6);
	tear_down();
	play_two(); /* nothing stands out */
	CU_ASSERT_EQUAL(timeline.nbreaks, 0);
	tear_down();
}

static void test_no_folder(void)
{
	play_two();
	CU_ASSERT(timeline_save_csv(&timeline, "/nowhere/at/all/t.csv") < 0);
	CU_ASSERT(timeline_save_trace(&timeline, "/nowhere/at/all/t.json") < 0);
	tear_down();
}

static const struct unit_case cases[] = {
	{ "two ranks: times, waiting, verdict", test_two_ranks },
	{ "trace, event by event", test_trace },
	{ "table, cell by cell", test_table },
	{ "title of several ranks", test_title },
	{ "four ranks on a device", test_device },
	{ "which calls", test_window },
	{ "which ranks", test_selection },
	{ "clocks of two hosts", test_hosts },
	{ "one mad clock", test_mad_clock },
	{ "hostile times", test_hostile_times },
	{ "empty evidence", test_empty },
	{ "long gaps", test_breaks },
	{ "no folder to write to", test_no_folder },
};

int main(void)
{
	return unit_main("timeline", cases, sizeof(cases) / sizeof(cases[0]));
}
