/* test_ras_json.c: ranks that answers of NCCL RAS name: JSON as of 2.28, broken JSON, text, hostile ones;
 * and lists of ranks. */
#include "rig/unit.h"

#include "probe/probe.h"
#include "base/rank_list.h"

#define HEAD                                                                                       \
	"{\n  \"nccl_version\": \"2.28.9\",\n  \"cuda_runtime_version\": 13000,\n"                 \
	"  \"communicators_count\": 1,\n  \"communicators\": [\n"
#define TAIL                                                                                       \
	"\n  ],\n  \"ras\": {\n    \"collection_time_sec\": 0.003,\n    \"timeouts_count\": 0\n  " \
	"}\n}\n"
#define COMM(ranks, missing)                                                                       \
	"    {\n      \"hash\": \"0x27a079b828ff1a75\",\n      \"size\": 4,\n      \"ranks\": "    \
	"[\n" ranks "\n      ],\n      \"missing_ranks\": [" missing "]\n    }"
#define JSON(comms)   HEAD comms TAIL
#define ONE(ranks)    JSON(COMM(ranks, ""))
#define LOST(missing) JSON(COMM(SAME("0", "100"), missing))
#define STATUS(async, abort)                                                                       \
	"\"status\": { \"init_state\": 0, \"async_error\": " async                                 \
	", \"finalize_called\": false, \"destroy_flag\": false, \"abort_flag\": " abort " }"
#define ENTRY(rank, pid, status, counts)                                                           \
	"        {\n          \"rank\": " rank ",\n          \"host\": \"10.0.0.1\",\n"            \
	"          \"pid\": " pid ",\n          \"cuda_dev\": 0,\n          " status ",\n"         \
	"          \"collective_counts\": { " counts " }\n        }"
#define ALL(n)		   "\"AllReduce\": " n
#define RANK(rank, pid, n) ENTRY(rank, pid, STATUS("0", "false"), ALL(n))
#define SAME(rank, pid)	   RANK(rank, pid, "6")
#define GONE(comma, rank, pid, dead)                                                               \
	"\n        {\n          \"rank\": " rank ",\n          \"pid\": " pid                      \
	",\n          \"nvml_dev\": 2" comma "\n          \"status\": {\n"                         \
	"            \"unresponsive\": true,\n            \"considered_dead\": " dead              \
	"\n          }\n        }"
#define SKIPPED                                                                                    \
	ONE(SAME("0", "100") "," SAME("1", "101") "," RANK("2", "102", "5") "," SAME("3", "103"))
#define BEHIND(rank, n) "rank " rank " has launched up to AllReduce " n ", others up to 6"
#define UNREAD		"NCCL RAS did not answer in JSON: ras.txt is left unread"

static struct evidence_rank ranks[4] = {
	{ .present = true, .view.pid = 100 },
	{ .present = true, .view.pid = 101 },
	{ .present = true, .view.pid = 102 },
	{ .present = true, .view.pid = 103 },
};
static const struct evidence evidence = { .nranks = 4, .ranks = ranks };

struct sample {
	const char *text, *culprits;
	const char *line;
};

static void check(const struct sample *a, const struct evidence *e)
{
	char line[256] = "left over";

	CU_ASSERT_EQUAL(ras_compare(a->text, e, a->culprits, line, sizeof(line)), a->text != NULL);
	CU_ASSERT_STRING_EQUAL(line, a->line);
}

static const struct sample samples[] = {
	{ NULL, "2", "" },
	{ SKIPPED, "2", "NCCL RAS agrees: " BEHIND("2", "5") },
	{ SKIPPED, "1", "NCCL RAS disagrees, it names 2: " BEHIND("2", "5") },
	/* there is no culprit for us */
	{ SKIPPED, "-", "NCCL RAS disagrees, it names 2: " BEHIND("2", "5") },
	/* never called at all */
	{ ONE(SAME("0", "100") "," SAME("1", "101") "," SAME("2", "102") "," ENTRY(
		  "3", "103", STATUS("0", "false"), "")),
	  "3", "NCCL RAS agrees: " BEHIND("3", "0") },
	/* one call too many: who is ahead alone is named */
	{ ONE(SAME("0", "100") "," RANK("1", "101", "7") "," SAME("2", "102")), "1",
	  "NCCL RAS agrees: " BEHIND("1", "7") },
	/* another collective: told twice, named once */
	{ ONE(SAME("0", "100") "," SAME("1", "101") "," ENTRY(
		  "2", "102", STATUS("0", "false"), ALL("5") ", \"AllGather\": 1") "," SAME("3",
											    "103")),
	  "2", "NCCL RAS agrees: " BEHIND("2", "5") },
	/* what a peer can make a key of goes to terminals and reports as one line */
	{ ONE(ENTRY("0", "100", STATUS("0", "false"), "\"a\\n\\u001b[2J\": 6") "," ENTRY(
		  "1", "101", STATUS("0", "false"),
		  "\"a\\n\\u001b[2J\": 6") "," ENTRY("2", "102", STATUS("0", "false"),
						     "\"a\\n\\u001b[2J\": 5")),
	  "2", "NCCL RAS agrees: rank 2 has launched up to a??[2J 5, others up to 6" },
	/* two ranks, and two against two: the one that is behind */
	{ ONE(RANK("1", "101", "5") "," SAME("0", "100")), "1",
	  "NCCL RAS agrees: " BEHIND("1", "5") },
	{ ONE(SAME("0", "100") "," RANK("1", "101", "5") "," SAME("2", "102") "," RANK("3", "103",
										       "5")),
	  "1,3", "NCCL RAS agrees: " BEHIND("1", "5") },
	{ ONE(SAME("0", "100") "," RANK("1", "101", "5") "," SAME("2", "102") "," RANK("3", "103",
										       "5")),
	  "1", "NCCL RAS disagrees, it names 1,3: " BEHIND("1", "5") },
	/* missing and dead ones are named outright; NCCL 2.28.7 and 2.28.9 forget a comma */
	{ LOST(GONE("", "2", "102", "false")), "2", "NCCL RAS agrees: rank 2 does not answer" },
	{ LOST(GONE(",", "2", "102", "false")), "2", "NCCL RAS agrees: rank 2 does not answer" },
	{ LOST(GONE("", "2", "102", "true") "," GONE("", "3", "103", "true")), "2,3",
	  "NCCL RAS agrees: rank 2 is considered dead" },
	{ LOST("{ \"rank\": 1 }"), "1", "NCCL RAS agrees: rank 1 is missing" },
	/* a status of its own; of two neither is the right one */
	{ ONE(SAME("0", "100") "," ENTRY("1", "101", STATUS("0", "true"),
					 ALL("6")) "," SAME("2", "102")),
	  "1", "NCCL RAS agrees: rank 1 has abort_flag 1, others 0" },
	{ ONE(SAME("0", "100") "," ENTRY("1", "101", STATUS("6", "false"),
					 ALL("6")) "," SAME("2", "102")),
	  "1", "NCCL RAS agrees: rank 1 has async_error 6, others 0" },
	{ ONE(SAME("0", "100") "," ENTRY("1", "101", STATUS("0", "true"), ALL("6"))), "1",
	  "NCCL RAS names nobody" },
	/* rank 1 of a smaller communicator is rank 3 of the job */
	{ ONE(SAME("0", "100") "," RANK("1", "103", "5") "," SAME("2", "101")), "3",
	  "NCCL RAS agrees: " BEHIND("3", "5") },
	/* another job answered */
	{ ONE(SAME("0", "900") "," SAME("1", "901") "," RANK("2", "902", "5")), "2",
	  "NCCL RAS names nobody" },
	/* no mismatch, no communicator, no answer, half an answer, with and without a word on it */
	{ ONE(SAME("0", "100") "," SAME("1", "101")), "2", "NCCL RAS names nobody" },
	{ JSON(""), "2", "NCCL RAS names nobody" },
	{ "[no answer from localhost:28028: Connection refused]\n", "2",
	  "NCCL RAS names nobody: no answer from localhost:28028: Connection refused" },
	{ HEAD "\n[cut: Connection timed out after 0.9 s]\n", "2",
	  "NCCL RAS names nobody: cut: Connection timed out after 0.9 s" },
	{ HEAD, "2", UNREAD },
	/* text, as before 2.28.7, and JSON of another kind */
	{ "NCCL version 2.27.3 compiled with CUDA 12.9\n\nWarnings\n========\n\n"
	  "#0-0 (27a079b828ff1a75) MISMATCH\n"
	  "  Communicator ranks have different AllReduce operation counts\n"
	  "  3 ranks have launched up to operation 6\n"
	  "  Rank 2 has launched up to operation 5 -- GPU 2 managed by process 102\n",
	  "2", UNREAD },
	{ "", "2", UNREAD },
	{ "[]", "2", UNREAD },
	{ "{}", "2", UNREAD },
	{ "{\"communicators\": {\"0\": 1}}", "2", UNREAD },
	{ "{\"communicators\": 99999999999999999999999}", "2", UNREAD },
	/* an unsound member names no rank */
	{ "{\"communicators\": [1, null, [], {\"ranks\": 7, \"missing_ranks\": {}}]}", "2",
	  "NCCL RAS names nobody" },
	{ "{\"communicators\": [{\"ranks\": [1, {}, {\"rank\": -1}, {\"rank\": 4}, {\"rank\": "
	  "\"2\"}, {\"pid\": \"102\"}], \"missing_ranks\": [{\"rank\": 999999999999}]}]}",
	  "2", "NCCL RAS names nobody" },
};

UNIT_TEST(test_answers, "answers")
{
	for (size_t i = 0; i < LENGTH(samples); i++)
		check(&samples[i], &evidence);
}

/* Without processes the ranks of the communicator are taken for those of the job. */
UNIT_TEST(test_unknown_processes, "processes that are not known")
{
	static const struct sample sample = {
		ONE(SAME("0", "900") "," SAME("1", "901") "," RANK("2", "902", "5")), "2",
		"NCCL RAS agrees: " BEHIND("2", "5")
	};
	struct evidence_rank two[4] = { ranks[0], ranks[1] };
	struct evidence partly = { .nranks = 4, .ranks = two }, none = { .nranks = 0 };
	char line[256];

	check(&sample, &partly);
	UNIT_ALL(ras_compare(sample.text, &none, "2", line, sizeof(line)),
		 !strcmp(line, "NCCL RAS names nobody"));
}

/* An answer of NCCL 2.28.9 on two GPUs: ranks 0 and 1 were these processes, 1 is the culprit. */
UNIT_TEST(test_recorded, "answers of NCCL 2.28.9")
{
	static const struct {
		const char *file;
		int pids[2];
		const char *line;
	} table[] = {
		{ "ci/tests/data/ras_dropped_h200x2.json",
		  { 817, 819 },
		  "NCCL RAS agrees: rank 1 has launched up to AllReduce 7, others up to 8" },
		{ "ci/tests/data/ras_killed_h200x2.json", /* lacks a comma */
		  { 909, 910 },
		  "NCCL RAS agrees: rank 1 does not answer" },
	};

	UNIT_ROWS(row, table) {
		struct evidence_rank two[2] = {
			{ .present = true, .view.pid = row->pids[0] },
			{ .present = true, .view.pid = row->pids[1] },
		};
		struct evidence e = { .nranks = 2, .ranks = two };

		check(&(struct sample){ unit_text(row->file), "1", row->line }, &e);
	}
}

#define PIECES                                                                                     \
	"{", "}", "[", "]", ",", ":", "\"", "\\", "\n", "-1", "99999999999999999999", "true",      \
		"\xff", "[cut: ", "\"communicators\": [", "\"ranks\": [", "\"rank\": 2",           \
		"\"pid\": 102", "\"missing_ranks\": [", "\"collective_counts\": {",                \
		SAME("1", "101"), RANK("2", "102", "5"), GONE("", "3", "103", "true")

UNIT_TEST(test_hostile, "hostile answers")
{
	static const char *const pieces[] = { PIECES };
	enum { N = LENGTH(pieces) };
	char line[60];

	srand(11);
	for (int round = 0; round < 20000; round++) {
		char *text = strdup(round % 2 ? "{\"communicators\": [{\"ranks\": [" : "");

		for (int n = rand() % 20; n > 0; n--) {
			const char *piece = pieces[rand() % N];

			text = realloc(text, strlen(text) + strlen(piece) + 1);
			strcat(text, piece);
		}
		CU_ASSERT(ras_compare(text, &evidence, "2", line, sizeof(line)) && line[0]);
		free(text);
	}
}

/* A true answer, cut off or with a byte changed, at every place. */
UNIT_TEST(test_corrupted, "an answer with a byte changed")
{
	static const char whole[] = LOST(GONE("", "2", "102", "true"));
	char line[256], text[sizeof(whole)];
	size_t named = 0;

	for (size_t at = 0; at < sizeof(whole) - 1; at++)
		for (int how = 0; how < 2; how++) {
			strcpy(text, whole);
			text[at] = how ? '"' : '\0';
			ras_compare(text, &evidence, "2", line, sizeof(line));
			named += !strncmp(line, "NCCL RAS agrees", 15);
		}
	CU_ASSERT(named > 0 && named < sizeof(whole));
}

/* Everybody is somewhere else: all but the furthest are named, and the list is cut. */
UNIT_TEST(test_many, "many ranks")
{
	enum { MANY = 300 };
	struct evidence_rank *many = calloc(MANY, sizeof(*many));
	struct evidence e = { .nranks = MANY, .ranks = many };
	char line[256], *text = UNIT_PRINTED(f, {
		fputs("{\"communicators\": [{\"ranks\": [", f);
		for (int i = 0; i < MANY; i++)
			fprintf(f, "%s{\"rank\": %d, \"collective_counts\": {\"Reduce\": %d}}",
				i ? "," : "", i, 10 + i);
		fputs("]}]}", f);
	});

	UNIT_ALL(ras_compare(text, &e, "1", line, sizeof(line)),
		 strstr(line, "NCCL RAS disagrees") == line,
		 strstr(line, ", it names 0,1,2,3,") != NULL,
		 strstr(line, ": rank 0 has launched up to Reduce 10, others up to 309") != NULL);
	free(text);
	free(many);
}

UNIT_TEST(test_rank_list, "lists of ranks")
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

	UNIT_ROWS(c, cases) {
		CU_ASSERT_EQUAL(rank_list_has(c->list, c->rank), c->has);
		CU_ASSERT_EQUAL(rank_list_count(c->list), c->count);
	}
}
