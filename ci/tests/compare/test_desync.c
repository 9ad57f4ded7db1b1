/* test_desync.c: ranks that make the same calls, or not, as their flight recorders tell of it: after the
 * fact, and while they are at it. */
#include <pthread.h>

#include "backend/call.h"
#include "record/recorder.h"
#include "rig/unit.h"
#include "compare/desync.h"

/* Rows leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { RANKS = 5, COMM = 1 };

static struct record_memory *memories[RANKS];
static struct recorder recorders[RANKS];
static struct watch watches[RANKS];
static struct desync_state states[RANKS];
static struct rank_view views[RANKS];
static struct progress_rank ranks[RANKS];

/* Rank 10 + i of the run is rank i of the communicator. */
static void set_up(size_t n)
{
	const struct comm_request request = { .comm = COMM, .nranks = (int)n, .id = { 7 } };
	struct error err = { .rank = -1 };

	for (size_t i = 0; i < n; i++) {
		struct comm_request own = request;
		int fd;

		CU_ASSERT_EQUAL_FATAL(recorder_create("test", &memories[i], &fd, &err), 0);
		close(fd);
		recorder_init(&recorders[i], memories[i], true, 0);
		watches[i] = recorder_watch(&recorders[i]);
		memories[i]->header.rank = 10 + (int)i;
		own.rank = (int)i;
		watches[i].comm(watches[i].ctx, COMM, COMM_INIT, &own);
		states[i] = (struct desync_state){ 0 };
		ranks[i] = (struct progress_rank){ .view = &views[i], .memory = memories[i] };
	}
}

static void tear_down(size_t n)
{
	for (size_t i = 0; i < n; i++)
		munmap(memories[i], sizeof(*memories[i]));
}

/* a letter: an all-reduce of as many elements, a capital one: of max; a digit: a broadcast from there; >: a
 * send; !: a call on another communicator. */
static void make_call(size_t rank, char letter)
{
	struct call call = { .comm = letter == '!' ? COMM + 1 : COMM,
			     .kind = letter == '>'     ? CALL_SEND
				     : isdigit(letter) ? CALL_BROADCAST
						       : CALL_ALL_REDUCE,
			     .count = (size_t)tolower(letter),
			     .dtype = DT_FLOAT,
			     .op = isdigit(letter)   ? OP_NONE
				   : isupper(letter) ? OP_MAX
						     : OP_SUM,
			     .peer = isdigit(letter) ? letter - '0' : -1 };

	watches[rank].call(watches[rank].ctx, &call);
}

static enum progress_answer answer;

static bool look(size_t n, struct desync *found)
{
	struct progress p = { .ranks = ranks, .nranks = (int)n };

	for (size_t i = 0; i < n; i++)
		view_read(&views[i], memories[i], 0);
	answer = progress_desync(&p, states, found);
	return answer == PROGRESS_YES;
}

static const struct {
	int before, after; /* so many calls alike */
	const char *calls; /* between these, of each rank */
	const char *text;  /* ends so; NULL: nothing is said */
	const char *ranks;
	bool unknown; /* what differs is not told */
	bool glance;  /* the last one is seen later than the others, and after a first look */
} tunes[] = {
	{ 0, 0, "abcdef, abcdef, abcdef, abcdef" },
	{ 0, 0, "abc, abc, aBc, abc",
	  "at call 2 of communicator 1: rank 12: AllReduce 98 float max, the others: AllReduce 98 "
	  "float sum",
	  "12" },
	{ 0, 0, "b, x, b, B, b",
	  "call 1 of communicator 1: rank 11: AllReduce 120 float sum, rank 13: AllReduce 98 float "
	  "max, the others: AllReduce 98 float sum",
	  "11,13" },
	{ 0, 0, "b, x, x, b, b",
	  "ranks 11,12: AllReduce 120 float sum, the others: AllReduce 98 float sum", "11,12" },
	{ 0, 0, "a1, a2, a2",
	  "call 2 of communicator 1: rank 10: Broadcast 49 float root 11, the others: Broadcast 50 "
	  "float root 12",
	  "10" },
	{ 0, 0, "abcd, abcd, abcd, abd", "at call 3 of communicator 1: rank 13: AllReduce 100 ",
	  "13" },
	/* sends differ by right */
	{ 0, 0, ">a>b, ab, a!>>b, a>!bx" },
	{ 0, 0, ">a>b, ab, a!>>b, a>!B", "rank 13: AllReduce 98 float max", "13" },
	/* ties, and who has not come there */
	{ 0, 0, "b, b, x, x", .unknown = true },
	{ 0, 0, "b, b, x, y", .unknown = true },
	{ 0, 0, "b, x" },
	{ 0, 0, "a, ab, aB, ab" },
	/* long ago, from mark to mark, and out of all rings */
	{ 10000, 0, "abc, abc, aBc", "at call 10002 of communicator 1: rank 12: ", "12" },
	{ 10000, 3000, "abc, abc, aBc", "at call 10002 of communicator 1: rank 12: ", "12" },
	{ 10000, 6000, "abc, abc, aBc",
	  "from collective 9985 to 10240 of communicator 1: rank 12 others than the rest", "12" },
	{ 10000, 6000, "abc, abc, aBc, aBc", .unknown = true },
	{ 10000, 6000, "abc, abc, abc" },
	{ 10, 0, "abc, abc, abc, abc", .glance = true },
	{ 5000, 0, "abc, abc, abc, abC", "at call 5003 of communicator 1: rank 13: ", "13",
	  .glance = true },
};

static void play(size_t row)
{
	struct desync found = { .text = "" };
	const char *calls = tunes[row].calls;
	size_t n = 1;
	bool any;

	for (const char *c = calls; *c; c++)
		n += *c == ',';
	set_up(n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < tunes[row].before; k++)
			make_call(i, 'z');
	CU_ASSERT_FALSE(tunes[row].glance && look(n - 1, &found));
	for (size_t i = 0; i < n; i++) {
		for (calls += strspn(calls, ", "); *calls && *calls != ','; calls++)
			make_call(i, *calls);
		for (int k = 0; k < tunes[row].after; k++)
			make_call(i, 'z');
	}
	any = look(n, &found);
	CU_ASSERT_EQUAL(answer == PROGRESS_UNKNOWN, tunes[row].unknown);
	UNIT_ALL(any == (tunes[row].text != NULL), !look(n, &found));
	if (any && tunes[row].text) {
		CU_ASSERT_PTR_NOT_NULL(strstr(found.text, tunes[row].text));
		CU_ASSERT_STRING_EQUAL(found.ranks, tunes[row].ranks);
	}
	if (any != (tunes[row].text != NULL) || (any && !strstr(found.text, tunes[row].text)))
		fprintf(stderr, "\nrow %zu: '%s'\n", row, found.text);
	tear_down(n);
}

UNIT_TEST(test_tunes, "the same calls, and others")
{
	for (size_t i = 0; i < LENGTH(tunes); i++)
		play(i);
}

#define CALLS 300000

static void *sing(void *arg)
{
	size_t rank = (size_t)arg;

	for (int i = 1; i <= CALLS; i++)
		make_call(rank, rank == 2 && i == CALLS - 5 ? 'X' : (char)('a' + i % 26));
	return NULL;
}

/* No rank is blamed for what is read while it is written; the one that differs at last is. */
UNIT_TEST(test_meanwhile, "while they are made")
{
	struct desync found = { .text = "" };
	pthread_t threads[3];
	bool any = false;

	set_up(3);
	for (size_t i = 0; i < 3; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, sing, (void *)i), 0);
	while (!any && memories[0]->header.issued_ticket < CALLS)
		any = look(3, &found);
	for (size_t i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	any = any || look(3, &found);
	UNIT_ALL(any, !strcmp(found.ranks, "12"), found.low == CALLS - 5, found.high == CALLS - 5);
	tear_down(3);
}
