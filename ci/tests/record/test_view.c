/* test_view.c: a recorder's memory, observed: waits, last call, torn and hostile contents. */
#include "rig/unit.h"

#include <pthread.h>

#include "backend/call.h"
#include "base/clock.h"
#include "record/recorder.h"
#include "answer/describe.h"

#define SECOND 1000000000ull

static struct record_memory *memory;
static int memory_fd;
static struct recorder recorder;
static struct watch watch;
static struct rank_view view;

static void set_up(void)
{
	struct error err = { .rank = -1 };

	CU_ASSERT_EQUAL_FATAL(recorder_create("test", &memory, &memory_fd, &err), 0);
	recorder_init(&recorder, memory, true, 0);
	watch = recorder_watch(&recorder);
	memset(&view, 0, sizeof(view));
}

static void tear_down(void)
{
	munmap(memory, sizeof(*memory));
	close(memory_fd);
}

static const struct call call = {
	.kind = CALL_ALL_REDUCE, .count = 5, .dtype = DT_FLOAT, .op = OP_SUM, .peer = -1
};

UNIT_TEST(test_fresh, "a fresh memory")
{
	set_up();
	view.process = PROCESS_STOPPED;
	view.pid = 99;
	view_read(&view, memory, clock_ns());
	UNIT_ALL(view.rank == -1, view.outcome == -1, view.last.ticket == 0, view.waiting == 0);
	CU_ASSERT_EQUAL(view.process, PROCESS_STOPPED); /* the caller's */
	UNIT_ALL(view.pid == 99, strlen(view.host) > 0);
	tear_down();
}

UNIT_TEST(test_wait, "waits and deadlines")
{
	uint64_t since;

	set_up();
	watch_enter(&watch, "timed calls", 0.5);
	since = memory->header.wait.since_ns;
	view_read(&view, memory, since + SECOND / 4);
	UNIT_ALL(view.waiting == 1, view.since_ns == since, view.deadline_ns == since + SECOND / 2,
		 fabs(view.waited - 0.25) <= 1e-9, !strcmp(view.what, "timed calls"));
	view_read(&view, memory, since - 5); /* an observer that read its clock just before */
	UNIT_ALL(view.waiting == 1, view.waited == 0);
	watch_leave(&watch);
	view_read(&view, memory, since + 10 * SECOND);
	UNIT_ALL(view.waiting == 0, view.since_ns == 0, view.deadline_ns == 0);
	watch_enter(&watch, "for ever", 0);
	view_read(&view, memory, UINT64_MAX);
	UNIT_ALL(view.waiting == 1, view.deadline_ns == 0);
	tear_down();
}

UNIT_TEST(test_last_call, "the last call")
{
	set_up();
	for (int i = 0; i < RECORD_RING + 3; i++)
		watch.returned(watch.ctx, watch.call(watch.ctx, &call), 0);
	watch_completed(&watch);
	watch.call(watch.ctx, &call);
	view_read(&view, memory, clock_ns());
	UNIT_ALL(view.issued == RECORD_RING + 4, view.completed == RECORD_RING + 3,
		 view.last.ticket == RECORD_RING + 4, view.last.count == 5,
		 view.last.state == RECORD_ISSUING, view.seq == RECORD_RING + 4);
	/* a slot that is being rewritten, or was since, is not taken */
	memory->ring[4].ticket = 0;
	view_read(&view, memory, clock_ns());
	UNIT_ALL(view.last.ticket == 0, view.seq == 0);
	memory->ring[4].ticket = 2 * RECORD_RING + 4;
	view_read(&view, memory, clock_ns());
	CU_ASSERT_EQUAL(view.last.ticket, 0);
	tear_down();
}

static _Atomic int writing;

/* Look for 0.3 s, and longer where writer and reader must share a core. */
static bool more(double begin, int taken)
{
	double spent = clock_seconds() - begin;

	return spent < 0.3 || (taken <= 100 && spent < 4);
}

/* Each record is the same number in every field, so that a mixture shows. */
static void *write_calls(void *unused)
{
	struct call numbered = call;

	for (uint64_t i = 1; writing; i++) {
		numbered.count = i;
		numbered.offset = i;
		numbered.peer = (int)(i & 0xffff);
		numbered.stream = (uint32_t)i;
		watch.returned(watch.ctx, watch.call(watch.ctx, &numbered), 0);
	}
	return NULL;
}

UNIT_TEST(test_torn_records, "no torn records")
{
	double begin = clock_seconds();
	int taken = 0, torn = 0, passed = 0;
	pthread_t thread;

	set_up();
	writing = 1;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_calls, NULL), 0);
	while (more(begin, taken)) {
		uint64_t n;

		view_read(&view, memory, clock_ns());
		n = view.last.ticket;
		if (n == 0) {
			passed++;
			continue;
		}
		taken++;
		torn += n != view.issued || view.last.count != n || view.last.offset != n ||
			view.last.seq != n || view.last.peer != (int)(n & 0xffff) ||
			view.last.stream != (uint8_t)n || view.seq != n;
	}
	writing = 0;
	pthread_join(thread, NULL);
	UNIT_ALL(taken > 100, torn == 0);
	printf(" (%d taken, %d passed over)", taken, passed);
	tear_down();
}

static void *write_waits(void *unused)
{
	while (writing) {
		watch_enter(&watch, "short", 100);
		watch_leave(&watch);
		watch_enter(&watch, "for ever", 0);
		watch_leave(&watch);
	}
	return NULL;
}

/* Neither the deadline of one wait with the start of another, nor a name that is half another. */
UNIT_TEST(test_torn_waits, "no torn waits")
{
	double begin = clock_seconds();
	int taken = 0, wrong = 0;
	pthread_t thread;

	set_up();
	writing = 1;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_waits, NULL), 0);
	while (more(begin, taken)) {
		view_read(&view, memory, clock_ns());
		wrong += view.waited > 5;
		if (!view.waiting)
			continue;
		taken++;
		wrong += view.deadline_ns != 0 && view.deadline_ns != view.since_ns + 100 * SECOND;
		wrong += strcmp(view.what, "short") != 0 && strcmp(view.what, "for ever") != 0;
	}
	writing = 0;
	pthread_join(thread, NULL);
	UNIT_ALL(taken > 100, wrong == 0);
	tear_down();
}

/* A rank that has gone mad over its own memory: the observer copies, prints and survives. */
UNIT_TEST(test_hostile, "hostile memory")
{
	static struct answer answer = { .ranks = "0" };
	unsigned int seed = 1;

	set_up();
	for (int fill = 0; fill < 300; fill++) {
		unsigned char *bytes = (unsigned char *)memory;

		for (size_t i = 0; i < sizeof(*memory); i += fill < 256 ? sizeof(*memory) : 1)
			bytes[i] = (unsigned char)rand_r(&seed);
		if (fill < 256)
			memset(memory, fill, sizeof(*memory));
		if (fill % 2) {
			memory->header.issued_ticket = (uint64_t)fill;
			memory->ring[fill % RECORD_RING].ticket = (uint64_t)fill;
		}
		view_read(&view, memory, clock_ns());
		view.process = fill;
		view.status = fill * 7919;
		answer_describe(&answer, &view, 1);
		CU_ASSERT(answer.nlines > 0);
		fill += fill >= 256 ? 7 : 0;
	}
	tear_down();
}

UNIT_TEST(test_process_words, "words for processes")
{
	static const struct {
		int process, status;
		const char *word;
	} cases[] = {
		{ PROCESS_ALIVE, 0, "alive" },
		{ PROCESS_STOPPED, 0, "stopped" },
		{ PROCESS_EXITED, 3, "exited with 3" },
		{ PROCESS_KILLED, SIGKILL, "killed by SIGKILL" },
		{ PROCESS_KILLED, SIGSEGV, "killed by SIGSEGV" },
		{ PROCESS_KILLED, 200, "killed by signal 200" },
	};
	char text[48];

	UNIT_ROWS(c, cases) {
		view = (struct rank_view){ .process = c->process, .status = c->status };
		CU_ASSERT_STRING_EQUAL(view_process(&view, text, sizeof(text)), c->word);
	}
}
