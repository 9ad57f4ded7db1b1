/* test_stacks_text.c: which line a process is stuck on, hostile texts, and stacks in the report. */
#include "rig/unit.h"

#include "answer/postmortem.h"
#include "evidence/evidence.h"
#include "evidence/stacks_text.h"
#include "probe/probe.h"

#define LIBC "  #0 __read+0x4d (libc.so.6)\n"
#define OWN  "  #1 block_read [inlined] faults/inject/process.c:47 (all_reduce_perf)\n"
#define MAIN "main thread all_reduce_perf (tid 812, S)\n"

UNIT_TEST(test_stuck_on, "the line it is stuck on")
{
	static const struct {
		const char *text, *line; /* NULL: none */
	} cases[] = {
		{ MAIN LIBC OWN "  #2 fire+0x6a faults/inject/process.c:57 (all_reduce_perf)\n",
		  "block_read [inlined] faults/inject/process.c:47 (all_reduce_perf)" },
		{ MAIN "  #0 loop+0x1 /home/me/train.c:3 (train)\n",
		  "loop+0x1 /home/me/train.c:3 (train)" },
		/* lines of a library that carries its own are not the application's */
		{ MAIN "  #0 wait+0x1 ../sysdeps/unix/wait.c:30 (libc.so.6)\n"
		       "  #1 spin+0x1 ./nptl/spin.c:3 (libc.so.6)\n"
		       "  #2 push+0x1 /usr/src/cuda/push.c:3 (libcuda.so.1)\n" OWN,
		  "block_read [inlined] faults/inject/process.c:47 (all_reduce_perf)" },
		{ MAIN "  #0 0x7fff1234\n  #1 0x7fff1235 (libcuda.so.1)\n"
		       "  #2 cuCtxSynchronize+0x10 (libcuda.so.1)\n  #3 _start+0x1 (app)\n",
		  "cuCtxSynchronize+0x10 (libcuda.so.1)" },
		{ MAIN LIBC, "__read+0x4d (libc.so.6)" },
		{ MAIN "  #0 read+0x4d (name with:12 (in) it)\n",
		  "read+0x4d (name with:12 (in) it)" },
		{ MAIN "  #0 f+0x1 a b.c:9 (x)", "f+0x1 a b.c:9 (x)" },
		/* a line of Python says more; without one its native frames do */
		{ "Python's main thread (tid 8) at train.py:8 (load)\n  a/train.py:8 "
		  "(load)\n\n" MAIN LIBC,
		  "train.py:8 (load)" },
		{ "Python's main thread, running: its newest frames are not read\n\n" MAIN LIBC,
		  "__read+0x4d (libc.so.6)" },
		{ "Python's thread at train.py:8 (load)\n\n" MAIN LIBC, "__read+0x4d (libc.so.6)" },
		{ "no stacks of Python 3.14 in process 8: it is not known\n at\n\n" MAIN LIBC,
		  "__read+0x4d (libc.so.6)" },
		/* another thread's frames say nothing about the main thread */
		{ MAIN "\nthread pump (tid 813, S)\n" OWN, NULL },
		{ MAIN "  not taken: Operation not permitted\n" OWN, NULL },
		{ MAIN "  #0 0x7fff1234\n", NULL },
		{ "thread pump (tid 813, S)\n" OWN, NULL },
		{ "no stacks of process 1: it is dead\n", NULL },
		{ "x" MAIN OWN, NULL },
		{ "", NULL },
		{ "main thread ", NULL },
		{ MAIN "  #", NULL },
		{ MAIN "  #1", NULL },
		{ MAIN "  # 1 f (x)\n", NULL },
		{ MAIN "  #1 :\n", ":" },
		{ MAIN "  #1 :5\n", ":5" },
		{ MAIN "  #1 (\n", "(" },
		{ NULL, NULL },
	};

	UNIT_ROWS(c, cases) {
		char line[200] = "left over";
		bool found = stacks_stuck_on(c->text, line, sizeof(line));

		CU_ASSERT_EQUAL(found, c->line != NULL);
		CU_ASSERT_STRING_EQUAL(line, c->line ? c->line : "");
	}
}

UNIT_TEST(test_short_room, "little room")
{
	char line[6];

	UNIT_ALL(stacks_stuck_on(MAIN LIBC, line, sizeof(line)), !strcmp(line, "__rea"));
}

/* Random texts made of the pieces that matter: nothing is read outside them. */
UNIT_TEST(test_random, "random texts")
{
	static const char *const pieces[] = {
		MAIN, LIBC, OWN, "main thread ", "  #",	 "7",  " ",
		":",  "(",  ")", "\n",		 "\x80", "0x", "/usr/"
	};
	unsigned int found = 0;

	srand(7);
	for (int round = 0; round < unit_times(20000); round++) {
		char *text = calloc(1, 1), line[40];

		for (int n = rand() % 12; n > 0; n--) {
			const char *piece = pieces[(size_t)rand() % LENGTH(pieces)];

			text = realloc(text, strlen(text) + strlen(piece) + 1);
			strcat(text, piece);
		}
		evidence_clean(text);
		found += stacks_stuck_on(text, line, sizeof(line));
		CU_ASSERT_PTR_NULL(strchr(line, '\n'));
		free(text);
	}
	CU_ASSERT(found > (unsigned)unit_times(100) && found < (unsigned)unit_times(20000));
}

UNIT_TEST(test_clean, "control characters")
{
	char text[] = "a\tb\x1b[31m\r\nc\x7f\xc3\xa9\n";

	evidence_clean(text);
	CU_ASSERT_STRING_EQUAL(text, "a b?[31m?\nc???\n");
}

static char culprit_text[] = MAIN LIBC OWN;
static char waiting_text[] = MAIN "  #0 PMPI_Allreduce+0xfa (libmpi.so.40)\n";
static char fenced_text[] = MAIN "```\n# Cause: none\n";

static char *page(struct evidence *e, const char *culprits)
{
	return UNIT_PRINTED(f, report_stacks(f, e, culprits));
}

UNIT_TEST(test_report, "a section of the report")
{
	struct evidence_rank ranks[4] = { { .stack = waiting_text },
					  { .stack = NULL },
					  { .stack = waiting_text, .view.waiting = 1 },
					  { .stack = culprit_text } };
	struct evidence e = { .nranks = 4, .ranks = ranks };
	char *text = page(&e, "3");

	CU_ASSERT_STRING_EQUAL(text, "\n### Stacks\n\n"
				     "- rank 3 is stuck on block_read [inlined] "
				     "faults/inject/process.c:47 (all_reduce_perf)\n"
				     "- rank 0 is stuck on PMPI_Allreduce+0xfa (libmpi.so.40)\n"
				     "- rank 2 is stuck on PMPI_Allreduce+0xfa (libmpi.so.40)\n"
				     "\n#### Rank 3, culprit\n\n"
				     "    " MAIN "    " LIBC "    " OWN "\n#### Rank 2, waiting\n\n"
				     "    " MAIN "      #0 PMPI_Allreduce+0xfa (libmpi.so.40)\n");
	free(text);
	text = page(&e, "-"); /* no rank is named: one stack all the same */
	UNIT_ALL(strstr(text, "culprit") == NULL, strstr(text, "#### Rank 2, waiting\n") != NULL);
	free(text);
	ranks[0].stack = ranks[2].stack = ranks[3].stack = NULL;
	text = page(&e, "3");
	CU_ASSERT_STRING_EQUAL(text, "\n### Stacks\n\nNone were taken.\n");
	free(text);
	ranks[3].stack = fenced_text; /* cannot leave its block */
	text = page(&e, "3");
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n    ```\n    # Cause: none\n"));
	free(text);
}
