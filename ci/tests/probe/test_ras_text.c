/* test_ras_text.c: whom answers of NCCL RAS name; texts in the shape of 2.28's, hostile ones, and
 * lists of ranks. */
#include "rig/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"
#include "probe/ras.h"

#define HEAD                                                                                       \
	"NCCL version 2.28.9 compiled with CUDA 13.0\n"                                            \
	"CUDA runtime version 13000, driver version 13000\n\nJob summary\n===========\n\n"         \
	"  Nodes  Processes         GPUs  Processes     GPUs\n"                                    \
	"(total)   per node  per process    (total)  (total)\n"                                    \
	"      1          4            1          4        4\n\n"                                  \
	"Communicators... (0.00s)\n=============\n\n"                                              \
	"Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n"              \
	"    #  in group  per comm  per node  per comm  in group\n"                                \
	"    0         1         1         4         4         4   RUNNING  MISMATCH\n\n"          \
	"Errors\n======\n\n"
#define WARNINGS	"Warnings\n========\n\n#0-0 (27a079b828ff1a75) MISMATCH\n"
#define COUNTS		"  Communicator ranks have different AllReduce operation counts\n"
#define ON(gpu, pid)	" -- GPU " gpu " managed by process " pid " on node 10.0.0.1\n"
#define AGREES(rank, n) "NCCL RAS agrees: \"Rank " rank " has launched up to operation " n "\""

static struct evidence_rank ranks[4] = {
	{ .present = true, .view.pid = 100 },
	{ .present = true, .view.pid = 101 },
	{ .present = true, .view.pid = 102 },
	{ .present = true, .view.pid = 103 },
};
static const struct evidence evidence = { .nranks = 4, .ranks = ranks };

struct answer {
	const char *text, *guilty;
	enum ras_word word;
	const char *line;
};

static void check(const struct answer *a, const struct evidence *e)
{
	struct diagnosis d = { 0 };
	char line[256] = "left over";

	snprintf(d.ranks, sizeof(d.ranks), "%s", a->guilty);
	CU_ASSERT_EQUAL(ras_agrees(a->text, e, &d, line, sizeof(line)), a->word);
	CU_ASSERT_STRING_EQUAL(line, a->line);
}

static const struct answer answers[] = {
	{ NULL, "2", RAS_NOT_ASKED, "" },
	{ HEAD WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
			       "  Rank 2 has launched up to operation 5" ON("2", "102") "\n",
	  "2", RAS_AGREES, AGREES("2", "5") },
	{ HEAD WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
			       "  Rank 2 has launched up to operation 5" ON("2", "102") "\n",
	  "1", RAS_DISAGREES,
	  "NCCL RAS disagrees, it names 2: \"Rank 2 has launched up to operation 5\"" },
	/* nobody is guilty for us */
	{ HEAD WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
			       "  Rank 2 has launched up to operation 5" ON("2", "102") "\n",
	  "-", RAS_DISAGREES,
	  "NCCL RAS disagrees, it names 2: \"Rank 2 has launched up to operation 5\"" },
	/* never called at all */
	{ WARNINGS COUNTS "  3 ranks have launched up to operation 1\n"
			  "  Rank 3 has not launched any operations" ON("3", "103") "\n",
	  "3", RAS_AGREES, "NCCL RAS agrees: \"Rank 3 has not launched any operations\"" },
	/* one call too many: who is ahead alone is named */
	{ WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
			  "  Rank 1 has launched up to operation 7" ON("1", "101") "\n",
	  "1", RAS_AGREES, AGREES("1", "7") },
	/* another collective: told twice, named once */
	{ WARNINGS
	  "  Communicator ranks have different AllGather operation counts\n"
	  "  3 ranks have not launched any operations\n"
	  "  Rank 2 has launched up to operation 1" ON(
		  "2", "102") "\n" COUNTS "  3 ranks have launched up to operation 6\n"
			      "  Rank 2 has launched up to operation 5" ON("2", "102") "\n",
	  "2", RAS_AGREES, AGREES("2", "1") },
	/* two ranks: whoever is behind */
	{ WARNINGS COUNTS "  Rank 1 has launched up to operation 5" ON(
		  "1", "101") "  Rank 0 has launched up to operation 6" ON("0", "100") "\n",
	  "1", RAS_AGREES, AGREES("1", "5") },
	/* a group of outliers, listed below its line */
	{ WARNINGS COUNTS "  6 ranks have launched up to operation 6\n"
			  "  2 ranks have launched up to operation 5\n"
			  "  Rank 3" ON("3", "103") "  Rank 1" ON("1", "101") "\n",
	  "1,3", RAS_AGREES, "NCCL RAS agrees: \"Rank 3\"" },
	{ WARNINGS COUNTS "  6 ranks have launched up to operation 6\n"
			  "  2 ranks have launched up to operation 5\n"
			  "  Rank 3" ON("3", "103") "  Rank 1" ON("1", "101") "\n",
	  "1", RAS_DISAGREES, "NCCL RAS disagrees, it names 1,3: \"Rank 3\"" },
	/* two against two: it lists no ranks */
	{ WARNINGS COUNTS "  2 ranks have launched up to operation 6\n"
			  "  2 ranks have launched up to operation 5\n\n",
	  "1,3", RAS_NAMES_NOBODY, "NCCL RAS names nobody" },
	/* missing and dead ones are named outright */
	{ "INCOMPLETE\n  Missing communicator data from 1 job process\n"
	  "  Process 102 on node 10.0.0.1 managing GPU 2\n\n"
	  "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 1 rank\n"
	  "  Rank 2" ON("2", "102") "\nWarnings\n========\n\n",
	  "2", RAS_AGREES, "NCCL RAS agrees: \"Process 102 on node 10.0.0.1 managing GPU 2\"" },
	{ "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
	  "  Process 100 on node 10.0.0.1 managing GPU 0\n\n",
	  "0", RAS_AGREES, "NCCL RAS agrees: \"Process 100 on node 10.0.0.1 managing GPU 0\"" },
	{ "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 1 rank\n"
	  "  Rank 1 -- [process information not found]\n\n",
	  "1", RAS_AGREES, "NCCL RAS agrees: \"Rank 1\"" },
	/* a status of its own */
	{ WARNINGS "  Communicator ranks have different status\n  3 ranks have status RUNNING\n"
		   "  Rank 1 has status ABORT" ON("1", "101") "\n",
	  "1", RAS_AGREES, "NCCL RAS agrees: \"Rank 1 has status ABORT\"" },
	/* of two statuses neither is the right one */
	{ WARNINGS
	  "  Communicator ranks have different status\n"
	  "  Rank 0 has status RUNNING" ON("0", "100") "  Rank 1 has status ABORT" ON("1",
										      "101") "\n",
	  "1", RAS_NAMES_NOBODY, "NCCL RAS names nobody" },
	/* rank 1 of a smaller communicator is rank 3 of the job */
	{ WARNINGS COUNTS "  2 ranks have launched up to operation 6\n"
			  "  Rank 1 has launched up to operation 5" ON("3", "103") "\n",
	  "3", RAS_AGREES, AGREES("1", "5") },
	/* another job answered */
	{ HEAD WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
			       "  Rank 2 has launched up to operation 5" ON("2", "902") "\n",
	  "2", RAS_NAMES_NOBODY, "NCCL RAS names nobody" },
	/* no mismatch, no answer, half an answer */
	{ HEAD "Warnings\n========\n\n", "2", RAS_NAMES_NOBODY, "NCCL RAS names nobody" },
	{ "[no answer from localhost:28028: Connection refused]\n", "2", RAS_NAMES_NOBODY,
	  "NCCL RAS names nobody: no answer from localhost:28028: Connection refused" },
	{ HEAD "\n[cut: Connection timed out after 0.9 s]\n", "2", RAS_NAMES_NOBODY,
	  "NCCL RAS names nobody: cut: Connection timed out after 0.9 s" },
	{ "", "2", RAS_NAMES_NOBODY, "NCCL RAS names nobody" },
};

static void test_answers(void)
{
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		check(&answers[i], &evidence);
}

/* Without processes the ranks of the communicator are taken for those of the job. */
static void test_unknown_processes(void)
{
	static const struct answer answer = {
		WARNINGS COUNTS "  3 ranks have launched up to operation 6\n"
				"  Rank 2 has launched up to operation 5" ON("2", "902") "\n",
		"2", RAS_AGREES, AGREES("2", "5")
	};
	struct evidence_rank two[4] = { ranks[0], ranks[1] };
	struct evidence partly = { .nranks = 4, .ranks = two };

	check(&answer, NULL);
	check(&answer, &partly);
}

static void test_hostile(void)
{
	static const char *const pieces[] = { WARNINGS,
					      COUNTS,
					      "  3 ranks have launched up to operation 6\n",
					      "  Rank 2",
					      "Rank ",
					      " has launched up to operation 5",
					      ON("2", "102"),
					      "-1",
					      "99999999999999999999",
					      "\n",
					      "INCOMPLETE\n",
					      "DEAD\n",
					      "Process ",
					      "\xff",
					      "[cut: ",
					      "  2 ranks have status X\n" };
	enum { N = sizeof(pieces) / sizeof(pieces[0]) };
	struct diagnosis d = { .ranks = "2" };
	unsigned int words[4] = { 0 };
	char line[60];

	srand(11);
	for (int round = 0; round < 3000; round++) {
		char *text = calloc(1, 1);

		for (int n = rand() % 40; n > 0; n--) {
			const char *piece = pieces[rand() % N];

			text = realloc(text, strlen(text) + strlen(piece) + 1);
			strcat(text, piece);
		}
		words[ras_agrees(text, &evidence, &d, line, sizeof(line))]++;
		free(text);
	}
	CU_ASSERT_EQUAL(words[RAS_NOT_ASKED], 0);
	CU_ASSERT(words[RAS_NAMES_NOBODY] > 0 && words[RAS_AGREES] > 0 && words[RAS_DISAGREES] > 0);
}

/* More groups, members and named ranks than there is room for. */
static void test_too_many(void)
{
	struct diagnosis d = { .ranks = "1" };
	char *text, line[256];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	fputs(WARNINGS COUNTS "  900 ranks have launched up to operation 6\n", f);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "  Rank %d has launched up to operation %d -- GPU 1\n", i, 10 + i);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "  Rank %d -- GPU 1\n", i);
	fputs("DEAD\n", f);
	for (int i = 0; i < 1000; i++)
		fprintf(f, "  Rank %d -- GPU 1\n", i);
	fclose(f);
	CU_ASSERT_EQUAL(ras_agrees(text, &evidence, &d, line, sizeof(line)), RAS_DISAGREES);
	free(text);
}

static void test_rank_list(void)
{
	static const struct {
		const char *list;
		int rank;
		bool has;
		size_t count;
	} cases[] = {
		{ "1,3", 1, true, 2 },
		{ "1,3", 3, true, 2 },
		{ "1,3", 2, false, 2 },
		{ "13", 1, false, 1 },
		{ "13", 3, false, 1 },
		{ "-", 0, false, 0 },
		{ "", 0, false, 0 },
		{ "0", 0, true, 1 },
		{ ",,", 0, false, 0 },
		{ "x,5", 5, true, 1 },
		{ "-1", -1, false, 0 },
		{ "2,", 2, true, 1 },
		{ "99999999999999999999", -1, false, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CU_ASSERT_EQUAL(rank_list_has(cases[i].list, cases[i].rank), cases[i].has);
		CU_ASSERT_EQUAL(rank_list_count(cases[i].list), cases[i].count);
	}
}

static const struct unit_case cases[] = {
	{ "answers", test_answers },
	{ "processes that are not known", test_unknown_processes },
	{ "hostile answers", test_hostile },
	{ "more than there is room for", test_too_many },
	{ "lists of ranks", test_rank_list },
};

int main(void)
{
	return unit_main("ras_text", cases, sizeof(cases) / sizeof(cases[0]));
}
