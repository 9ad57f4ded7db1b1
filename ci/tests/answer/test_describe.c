/* test_describe.c: what people read below the verdict line, of 1 to 8,000 ranks and of all outcomes. */
#include "rig/unit.h"

#include "backend/call.h"
#include "base/clock.h"
#include "process/watch.h"
#include "answer/describe.h"

static struct rank_view *views;
static struct answer v;
static int nranks;

static const struct record call = { .ticket = 8,
				    .seq = 8,
				    .count = 58368,
				    .kind = CALL_ALL_GATHER,
				    .dtype = DT_FLOAT,
				    .op = OP_NONE,
				    .state = RECORD_RETURNED };

/* All wait in call 8 but for the last rank, which left call 7. */
static void set_up(int n, enum outcome outcome, enum answer_class class)
{
	free(views);
	nranks = n;
	views = calloc((size_t)n + 1, sizeof(*views));
	CU_ASSERT_PTR_NOT_NULL_FATAL(views);
	v = (struct answer){ .outcome = outcome, .class = class, .seq_low = 8, .seq_high = 8 };
	snprintf(v.ranks, sizeof(v.ranks), "%d", n - 1);
	for (int i = 0; i < n; i++) {
		views[i] = (struct rank_view){ .rank = i,
					       .pid = 100 + i,
					       .outcome = -1,
					       .host = "node1",
					       .waiting = 1,
					       .waited = 0.64,
					       .what = "a scheduled call",
					       .overdue = 1,
					       .phase = PHASE_TIMED,
					       .issued = 8,
					       .completed = 7,
					       .seen_ns = 2000000000 };
		memcpy(&views[i].last, &call, sizeof(call));
	}
	views[n - 1].issued = 7;
	views[n - 1].last.seq = 7;
	views[n - 1].last.ticket = 7;
	views[n - 1].last.returned_ns = 1340000000;
}

static void differ(const char *field, const char *theirs, const char *majority)
{
	snprintf(v.field, sizeof(v.field), "%s", field);
	snprintf(v.theirs, sizeof(v.theirs), "%s", theirs);
	snprintf(v.majority, sizeof(v.majority), "%s", majority);
}

static void all_end(enum outcome outcome)
{
	for (int i = 0; i < nranks; i++) {
		views[i].process = PROCESS_EXITED;
		views[i].outcome = views[i].status = (int32_t)outcome;
	}
}

/* Each of these leaves a verdict of one kind. */
static void hang(int n)
{
	set_up(n, OUTCOME_HANG, CLASS_MISSING);
	differ("call", "no call", "AllGather count 58368 float");
	strcpy(v.doing, "in system call 219");
}

/* A later communicator's init, which the last rank makes with an old id. */
static void old_id(int n)
{
	set_up(n, OUTCOME_HANG, CLASS_INIT_MISMATCH);
	for (int i = 0; i < n; i++)
		strcpy(views[i].what, "communicator init");
	differ("id", "id 1, that of communicator 0 again", "id 2");
	v.seq_low = v.seq_high = 0;
}

static void swapped(int n)
{
	set_up(n, OUTCOME_HANG, CLASS_CYCLE);
	views[n - 1].last.comm = 1;
	views[n - 1].last.seq = 3;
	views[n - 1].completed = 6;
	differ("order", "call 3 of communicator 1 first", "call 8 of communicator 0 first");
}

static void apart_in_pair(int n)
{
	hang(n);
	differ("count", "Send count 4 float to 2", "Recv count 8 float from 1");
	strcpy(v.pair, "1>2");
}

static void unordered(int n)
{
	hang(n);
	differ("order", "", "");
}

static void died(int n)
{
	set_up(n, OUTCOME_DIED, CLASS_KILLED);
	v.detect_ms = 62;
	views[n - 1].process = PROCESS_KILLED;
	views[n - 1].status = SIGKILL;
}

static void failed(int n)
{
	set_up(n, OUTCOME_ERROR, CLASS_ERROR);
	views[n - 1].process = PROCESS_EXITED;
	views[n - 1].outcome = views[n - 1].status = OUTCOME_ERROR;
	memset(views[n - 1].error, 'x', sizeof(views[n - 1].error));
	strcpy(views[0].error, "MPI_Wait failed");
}

static void wrong(int n)
{
	set_up(n, OUTCOME_WRONG_DATA, CLASS_OUTCOME);
	strcpy(v.ranks, "-");
	all_end(OUTCOME_WRONG_DATA);
}

static void hosts_lost(int n)
{
	set_up(n, OUTCOME_HANG, CLASS_HOST_SILENT);
	strcpy(v.ranks, "-");
	strcpy(v.hosts, "node2");
	for (int i = n / 2; i < n; i++)
		views[i].lost = LOST_LAUNCHER;
}

static void unexplained(int n)
{
	set_up(n, OUTCOME_HANG, CLASS_UNEXPLAINED);
	strcpy(v.ranks, "-");
	memset(v.notes[0], 'n', sizeof(v.notes[0]) - 1);
	v.nnotes = 1;
}

static void diverged(int n)
{
	set_up(n, OUTCOME_DIVERGED, CLASS_MISMATCH);
	differ("dtype", "AllGather count 58368 int32", "AllGather count 58368 float");
	all_end(OUTCOME_OK);
}

static void each_differs(int n)
{
	hang(n);
	for (int i = 0; i < n; i++)
		views[i].last.count = (uint64_t)i;
}

static void grouped(int n)
{
	hang(n);
	for (int i = 0; i < n - 1; i++)
		views[i].completed = 6;
}

static void every_second(int n)
{
	hang(n);
	for (int i = 1; i < n - 1; i += 2)
		views[i].last.seq = 9;
}

static const char *text(void)
{
	static char all[ANSWER_LINES * (ANSWER_WIDTH + 2)];

	all[0] = '\0';
	for (size_t i = 0; i < v.nlines; i++)
		strcat(strcat(all, v.lines[i]), "\n");
	return all;
}

/* The lines of four ranks; NULL: any of the right form. */
static const struct {
	void (*make)(int n);
	const char *four;
} kinds[] = {
	{ hang,
	  "culprit: rank 3 (node1 pid 103) is in no call since call 7, 0.66 s, in system call 219\n"
	  "  lacks call 8: AllGather 58368 float\n"
	  "ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ old_id,
	  "culprit: rank 3 (node1 pid 103) waits in communicator init, 0.64 s\n"
	  "  id of communicator init: id 1, that of communicator 0 again, the others': id 2\n"
	  "ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ swapped,
	  "culprit: rank 3 (node1 pid 103) waits in call 3 of comm 1, AllGather 58368 float, 0.64 "
	  "s\n"
	  "  made call 3 of communicator 1 first, the others call 8 of communicator 0 first\n"
	  "ranks 0-2 wait in call 8 of comm 0, AllGather 58368 float, 0.64 s\n" },
	{ unordered,
	  "culprit: rank 3 (node1 pid 103) is in no call since call 7, 0.66 s, in system call 219\n"
	  "  order of call 8 differs\n"
	  "ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ died, "culprit: rank 3 (node1 pid 103) was killed by SIGKILL, 0.06 s ago\n"
		"ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ failed, "culprit: rank 3 (node1 pid 103) left with an error\n"
		  "rank 3 and 1 more reported: "
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\n"
		  "ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ wrong, "no culprit is named: wrong-data\n" },
	{ hosts_lost, "culprit: host node2: its launcher is gone\n"
		      "ranks 0,1 wait in call 8, AllGather 58368 float, 0.64 s\n"
		      "ranks 2,3 cannot be seen\n" },
	{ unexplained, NULL },
	{ diverged,
	  "culprit: rank 3 (node1 pid 103) ended\n"
	  "  dtype of call 8: AllGather 58368 int32, the others': AllGather 58368 float\n" },
	{ apart_in_pair,
	  "culprit: rank 3 (node1 pid 103) is in no call since call 7, 0.66 s, in system call 219\n"
	  "  count of call 8: Send 4 float to 2, its partner's: Recv 8 float from 1\n"
	  "ranks 0-2 wait in call 8, AllGather 58368 float, 0.64 s\n" },
	{ grouped,
	  "culprit: rank 3 (node1 pid 103) is in no call since call 7, 0.66 s, in system call 219\n"
	  "  lacks call 8: AllGather 58368 float\n"
	  "ranks 0-2 wait in calls 7-8, AllGather 58368 float, 0.64 s\n" },
	{ each_differs, NULL },
	{ every_second, NULL },
};

UNIT_TEST(test_kinds, "every kind of verdict, of four ranks")
{
	UNIT_ROWS(kind, kinds) {
		kind->make(4);
		answer_describe(&v, views, 4);
		if (kind->four)
			CU_ASSERT_STRING_EQUAL(text(), kind->four);
	}
}

UNIT_TEST(test_sizes, "few short lines, the culprit first, of any number of ranks")
{
	static const int sizes[] = { 1, 4, 64, 8000 };

	UNIT_ROWS(n, sizes)
		UNIT_ROWS(kind, kinds) {
			double begin = clock_seconds();

			kind->make(*n);
			answer_describe(&v, views, (size_t)*n);
			UNIT_ALL(v.nlines >= 1, v.nlines <= ANSWER_LINES,
				 clock_seconds() - begin < 2,
				 strncmp(v.lines[0], "culprit: ", 9) == 0 ||
					 strncmp(v.lines[0], "no culprit is named: ", 21) == 0);
			for (size_t i = 0; i < v.nlines; i++) {
				UNIT_ALL(strlen(v.lines[i]) <= ANSWER_WIDTH,
					 i == 0 || strncmp(v.lines[i], "no culprit", 10) != 0,
					 strstr(v.lines[i], "(overdue)") == NULL);
			}
		}
	hang(8000);
	answer_describe(&v, views, 8000);
	CU_ASSERT_STRING_EQUAL(v.lines[2],
			       "ranks 0-7998 wait in call 8, AllGather 58368 float, 0.64 s");
	every_second(8000);
	answer_describe(&v, views, 8000);
	UNIT_ALL(strncmp(v.lines[2], "4000 ranks (0,2,4,6,", 20) == 0,
		 strstr(v.lines[2], ",...) wait in call 8, AllGather 58368 float, 0.64 s") != NULL);
	each_differs(8000);
	answer_describe(&v, views, 8000);
	CU_ASSERT_STRING_EQUAL(v.lines[2], "ranks 0-7998 wait in call 8, AllGather, 0.64 s");
}

/* A culprit whose newest call has returned is not said to wait in it: it may be anywhere. */
UNIT_TEST(test_returned, "a culprit behind its last call")
{
	each_differs(4);
	strcpy(v.ranks, "2");
	strcpy(v.theirs, "no call");
	answer_describe(&v, views, 4);
	CU_ASSERT_PTR_NOT_NULL(strstr(text(), "made its last call, 8"));
	free(views);
	views = NULL;
}

UNIT_TEST(test_one, "a process without rank, and several culprits")
{
	died(4);
	views[3].rank = -1;
	strcpy(v.ranks, "-");
	answer_describe(&v, views, 4);
	CU_ASSERT_PTR_NOT_NULL(strstr(text(), "1 process without rank was killed by SIGKILL\n"));
	hang(4);
	strcpy(v.ranks, "1,3");
	memcpy(&views[1], &views[3], sizeof(views[1]));
	views[1].rank = 1;
	answer_describe(&v, views, 4);
	CU_ASSERT_EQUAL(strncmp(text(), "culprit: ranks 1,3 are in no call since call 7, 0.66 s",
				54),
			0);
	each_differs(64); /* more culprits than groups */
	v.theirs[0] = '\0';
	for (int i = 0; i < 32; i++) {
		char number[16];

		snprintf(number, sizeof(number), ",%d", i);
		strcat(v.ranks, number);
	}
	answer_describe(&v, views, 64);
	UNIT_ALL(strstr(text(), "culprit: 32 more ranks: in the report\n") != NULL,
		 strstr(text(), "ranks 32-62 wait in call 8, AllGather, 0.64 s\n") != NULL);
	free(views);
	views = NULL;
}
