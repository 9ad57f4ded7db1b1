/* test_evidence_join.c: folders of one run joined, folders of two runs refused, a file of another run or moment set aside. */
#include "find/find.h"
#include "rig/evidence_saved.h"

#include <jansson.h>

static char other[UNIT_TEMP]; /* a second folder */

/* Both folders hold the same run; from each `drop` takes ranks away. */
static void set_up_two(void)
{
	saved_set_up();
	strcpy(saved.run, "20261122-all_reduce_perf-a1");
	CU_ASSERT_EQUAL_FATAL(unit_folder(other), 0);
	CU_ASSERT_EQUAL_FATAL(evidence_save(&saved, saved_dir, &saved_err), 0);
	CU_ASSERT_EQUAL_FATAL(evidence_save(&saved, other, &saved_err), 0);
}

static void tear_down_two(void)
{
	CU_ASSERT_EQUAL(unit_remove(other), 0);
	saved_tear_down();
}

static void drop(const char *from, const char *name)
{
	char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", from, name);
	CU_ASSERT_EQUAL(unlink(path), 0);
}

static int load_two(void)
{
	const char *const dirs[] = { saved_dir, other };

	evidence_release(&loaded);
	memset(&saved_err, 0, sizeof(saved_err));
	return evidence_load_all(&loaded, dirs, 2, &saved_err);
}

/* Refused as another run's, for what `why` says. */
static void refused(const char *why)
{
	UNIT_ALL(load_two() == -EINVAL, saved_err.outcome == OUTCOME_USAGE,
		 strstr(saved_err.text, saved_dir) != NULL, strstr(saved_err.text, other) != NULL,
		 strstr(saved_err.text, " are of different runs: ") != NULL,
		 strstr(saved_err.text, why) != NULL);
}

UNIT_TEST(test_ranks_of_all, "ranks of all folders")
{
	struct answer d;

	set_up_two();
	drop(saved_dir, "rank-2.fr");
	drop(other, "rank-0.fr");
	drop(other, "rank-1.fr");
	CU_ASSERT_EQUAL(unit_put(other, "rank-2.stack.txt", "here\n", 5), 0);
	CU_ASSERT_EQUAL(unit_put(other, "ras.txt", "{}\n", 3), 0);
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	UNIT_ALL(!strcmp(loaded.remarks, ""), !strcmp(loaded.run, "20261122-all_reduce_perf-a1"),
		 loaded.nranks == RANKS, loaded.ranks[0].ncalls == 10, loaded.ranks[2].ncalls == 9,
		 !strcmp(loaded.ranks[2].stack, "here\n"), !strcmp(loaded.ras, "{}\n"));
	find_answer(&loaded, NULL, &d);
	UNIT_ALL(d.class == CLASS_MISSING, !strcmp(d.ranks, "2"));
	tear_down_two();
}

/* A rank in no folder is named, like any rank that is missing. */
UNIT_TEST(test_missing_of_all, "ranks that no folder has")
{
	struct answer d;

	set_up_two();
	drop(saved_dir, "rank-2.fr");
	drop(other, "rank-2.fr");
	drop(other, "rank-0.fr");
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	CU_ASSERT_STRING_EQUAL(loaded.remarks,
			       "Of rank 2 no folder has a file: nothing is known of it.");
	find_answer(&loaded, NULL, &d);
	CU_ASSERT_STRING_NOT_EQUAL(confidence_name(d.confidence), "proved");
	CU_ASSERT_EQUAL_FATAL(unit_remove(other), 0);
	CU_ASSERT_EQUAL_FATAL(unit_folder(other), 0);
	UNIT_ALL(load_two() == -ENOENT, strstr(saved_err.text, "holds no evidence") != NULL);
	tear_down_two();
}

/* Ranks 0 and 2 to 5 and 7 of 9. */
UNIT_TEST(test_missing_list, "a list of such ranks")
{
	set_up_two();
	for (int k = 0; k < 2; k++) {
		const char *to = k ? other : saved_dir;

		drop(to, "rank-0.fr");
		drop(to, "rank-2.fr");
		drop(to, "run.json");
		for (int i = 6; i < 9; i += 2) {
			size_t bytes = saved_bytes(&saved.ranks[1], SIZE_MAX);
			void *image = saved_alloc(bytes);
			char name[32];

			saved_pack(&saved.ranks[1], i, SIZE_MAX, image);
			snprintf(name, sizeof(name), "rank-%d.fr", i);
			CU_ASSERT_EQUAL(unit_put(to, name, image, bytes), 0);
			free(image);
		}
	}
	drop(other, "rank-8.fr");
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	UNIT_ALL(loaded.nranks == 9, loaded.uncounted,
		 strstr(loaded.remarks, "Of ranks 0,2-5,7 no folder has a file: "
					"nothing is known of them.") != NULL);
	tear_down_two();
}

/* Facts that one folder has and the other has not. */
UNIT_TEST(test_facts_of_all, "facts of all folders")
{
	set_up_two();
	saved.when[0] = saved.command[0] = '\0';
	saved.detect_ms = 0;
	CU_ASSERT_EQUAL(evidence_save(&saved, saved_dir, &saved_err), 0);
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	UNIT_ALL(!strcmp(loaded.command, "./all_reduce_perf -b 8?"),
		 !strcmp(loaded.when, "2026-11-21T03:00:00+0000"), loaded.detect_ms == 640.5);
	drop(other, "run.json");
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	UNIT_ALL(!loaded.uncounted, strstr(loaded.remarks, "run.json is missing") != NULL);
	tear_down_two();
}

/* The same rank twice: rank 0's host has the newest calls of others alone. */
UNIT_TEST(test_rank_twice, "a rank in two folders")
{
	size_t bytes;
	void *tail;

	set_up_two();
	bytes = saved_bytes(&saved.ranks[1], 4);
	tail = saved_alloc(bytes);
	saved_pack(&saved.ranks[1], 1, 4, tail);
	saved_put("rank-1.fr", tail, bytes);
	free(tail);
	CU_ASSERT_EQUAL(unit_put(saved_dir, "rank-1.stack.txt", "first\n", 6), 0);
	CU_ASSERT_EQUAL_FATAL(load_two(), 0);
	UNIT_ALL(loaded.ranks[1].ncalls == 10, !loaded.ranks[1].wrapped,
		 !strcmp(loaded.ranks[1].stack, "first\n"), !strcmp(loaded.remarks, ""));

	saved.ranks[1].calls[7].enqueued_ns++;
	CU_ASSERT_EQUAL(evidence_save_rank(&saved.ranks[1], 1, other), 0);
	refused("call 8 of rank 1 is not the same");
	saved.ranks[1].calls[7].enqueued_ns--;
	saved.ranks[1].view.pid = 4712;
	CU_ASSERT_EQUAL(evidence_save_rank(&saved.ranks[1], 1, other), 0);
	refused("rank 1 is process 4711 on ");
	tear_down_two();
}

/* As evidence was before runs had names. */
static void forget_name(const char *of)
{
	char path[UNIT_PATH];
	json_t *run;

	snprintf(path, sizeof(path), "%s/run.json", of);
	run = json_load_file(path, 0, NULL);
	UNIT_ALL(json_object_del(run, "run") == 0, json_dump_file(run, path, 0) == 0);
	json_decref(run);
}

UNIT_TEST(test_other_runs, "folders of other runs")
{
	static const struct {
		size_t at;
		const char *why;
	} table[] = {
		{ offsetof(struct evidence, program), "program is \"all_reduce_perf\" and \"x\"" },
		{ offsetof(struct evidence, backend), "backend is \"mpi\" and \"x\"" },
		{ offsetof(struct evidence, library), "library is \"Open MPI v4.1.4\" and \"x\"" },
		{ offsetof(struct evidence, command),
		  "command is \"./all_reduce_perf -b 8?\" and \"x\"" },
	};

	UNIT_ROWS(row, table) {
		set_up_two();
		strcpy((char *)&saved + row->at, "x");
		CU_ASSERT_EQUAL(evidence_save(&saved, other, &saved_err), 0);
		CU_ASSERT_EQUAL(load_two(), 0); /* one run by its name */
		forget_name(other);
		refused(row->why);
		tear_down_two();
	}
	set_up_two();
	strcpy(saved.run, "another");
	CU_ASSERT_EQUAL(evidence_save(&saved, other, &saved_err), 0);
	refused("run is \"20261122-all_reduce_perf-a1\" and \"another\"");
	saved.nranks = 2;
	CU_ASSERT_EQUAL(evidence_save(&saved, other, &saved_err), 0);
	drop(other, "rank-2.fr");
	refused("nranks is 3 and 2");
	saved.nranks = RANKS;
	tear_down_two();
}

/* Rank `i` has made communicator 0 with the others and that many calls of which it waits in the last, if it waits. */
static void play_made(int i, int calls, uint64_t run)
{
	struct evidence_rank *r = &saved.ranks[i];
	struct record_memory *m = saved_memory(i, calls);
	bool waits = r->view.overdue;

	m->header.inits[0] = (struct record_init){
		.state = RECORD_COMM_READY, .rank = i, .nranks = RANKS, .id = 7
	};
	m->header.run = run;
	view_read(&r->view, m, 1000);
	r->view.completed = (uint64_t)(calls - waits);
	evidence_take_calls(r, m);
	free(m);
}

UNIT_TEST(test_set_aside, "a file of another run or moment")
{
#define OF_ANOTHER "'s file is of another run, by its number, and not read."
	static const struct {
		const char *said; /* "": it is read */
		int rank, calls;  /* those of the others are 10, 10 and, of rank 2, 9 */
		uint64_t run, others_run;
		const char *token, *host; /* in run.json; of the rank, NULL: that of the others */
		uint64_t count;		  /* of its last call */
		const char *verdict;
	} table[] = {
		{ "", 2, 9, 7, 7, "", NULL, 0, "missing-call 2 proved" },
		{ "Rank 2's file ends at call 7 of communicator 0, but rank 0 completed call 9 "
		  "with it: it is older, and not read.",
		  2, 7, 7, 7, "", NULL, 0, "unexplained - inconclusive" },
		{ "Rank 1's file ends at call 4 of communicator 0, but rank 0 completed call 9 "
		  "with it: it is older, and not read.",
		  1, 4, 0, 0, "", NULL, 0, "missing-call 2 majority" },
		{ "", 2, 7, 7, 7, "", NULL, 99, "mismatch 2 majority" }, /* its calls tell */
		{ "Rank 0's file says that call 29 was completed, which most others have not "
		  "made: it is of another moment, and not read.",
		  0, 30, 6, 6, "", NULL, 0, "missing-call 2 majority" },
		{ "Rank 1" OF_ANOTHER, 1, 10, 9, 7, "7", NULL, 0, "missing-call 2 majority" },
		{ "Rank 1" OF_ANOTHER, 1, 10, 9, 7, "5", NULL, 0, "missing-call 2 majority" },
		{ "Rank 1" OF_ANOTHER, 1, 3, 9, 7, "7", "b", 0, "missing-call 2 majority" },
		{ "Rank 1" OF_ANOTHER, 1, 3, 8, 6, "6", NULL, 0, "missing-call 2 majority" },
		{ "", 1, 10, 8, 6, "6", "b", 0, "missing-call 2 proved" }, /* a host's own number */
		{ "Rank 1" OF_ANOTHER, 1, 10, 0, 7, "7", NULL, 0, "missing-call 2 majority" },
		{ "Rank 1" OF_ANOTHER, 1, 10, 7, 0, "5", NULL, 0, "missing-call 2 majority" },
		{ "Rank 0" OF_ANOTHER, 0, 10, 9, 7, "7", NULL, 0, "missing-call 2 majority" },
	};

	UNIT_ROWS(row, table) {
		struct answer d;
		char verdict[96];

		saved_set_up();
		for (int i = 0; i < RANKS; i++)
			play_made(i, i == row->rank ? row->calls : 10 - (i == 2),
				  i == row->rank ? row->run : row->others_run);
		snprintf(saved.token, sizeof(saved.token), "%s", row->token);
		if (row->host)
			snprintf(saved.ranks[row->rank].view.host, 64, "%s", row->host);
		if (row->count > 0) {
			saved.ranks[row->rank].calls[row->calls - 1].count = row->count;
			evidence_index(&saved.ranks[row->rank]);
		}
		CU_ASSERT_EQUAL(evidence_save(&saved, saved_dir, &saved_err), 0);
		CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
		find_answer(&loaded, NULL, &d);
		snprintf(verdict, sizeof(verdict), "%s %.20s %s", class_name(d.class, d.outcome),
			 d.ranks, confidence_name(d.confidence));
		CU_ASSERT_STRING_EQUAL(loaded.remarks, row->said);
		CU_ASSERT_STRING_EQUAL(verdict, row->verdict);
		saved_tear_down();
	}
}
