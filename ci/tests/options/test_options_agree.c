/* test_options_agree.c: differing options are found and reported with their ranks; every row of the
 * table states whether it may differ. */
#include "options_line.h"

#include "options/options_agree.h"
#include "options/options_table.h"

enum { RANKS = 6 };

/* The values of one rank with this command line. */
static void fill(struct settings *agree, const struct option_target *target, const char *line,
		 const char *env)
{
	bool irregular = target->irregular;
	struct options options;
	struct error err;
	char buf[512];
	int rc;

	line_environment(env, true);
	rc = line_parse(&options, target, line, buf, sizeof(buf), &err);
	line_environment(env, false);
	CU_ASSERT_EQUAL(rc, 0);
	if (rc < 0)
		printf(" %s: %s", line, err.text);
	memset(agree, 0, sizeof(*agree));
	options_agree_fill(agree, &options, "1.0", "x_perf", "mpi", irregular);
}

/* The report of the first difference, "": none. */
static const char *compare(const struct settings *all, int n)
{
	static struct setting_difference found[SETTINGS_DIFFERENCES];
	const char *texts[RANKS];

	for (int i = 0; i < n; i++)
		texts[i] = all[i].text;
	return settings_compare(texts, n, SETTING_FREE, found) ? found[0].words : "";
}

static const struct {
	const char *row; /* its name in the table */
	const char *line, *env, *other, *other_env;
	const struct option_target *target; /* NULL: all_reduce's */
	const char *said, *other_said;	    /* reported values of rank 0 and rank 1; NULL: as
					     * typed */
} same[] = {
	{ "minbytes", "-b 1K", .other = "-b 1M", .said = "-b 1K" },
	{ "maxbytes", "", .other = "-e 64M", .said = "-e 32M" },
	{ "stepbytes", "-i 1K", .other = "-i 1000", .said = "-i 1K" },
	{ "stepfactor", "-f 3", .other = "-f 4", .said = "-f 3" },
	{ "align", "", .other = "--align 8", .said = "--align 16" },
	{ "unalign", "", .other = "-u 1", .said = "-u 0" },
	{ "op", "", .other = "-o all", .said = "-o sum" },
	{ "datatype", "", .other = "-d half", .said = "-d float" },
	{ "root", "", .other = "-r all", .target = &broadcast, .said = "-r 0" },
	{ "seed", "", .other = "--seed 7", .said = "--seed 1" },
	{ "mode", "", .other = "--mode isolated", .said = "--mode stream" },
	{ "cudagraph", "-G 2", .other = "-G 3", .said = "-G 2" },
	{ "blocking", "", .other = "-z 1", .said = "-z 0" },
	{ "recipe", "", .other = "--recipe all", .target = &step, .said = "--recipe ddp" },
	{ "compute-ms", "", .other = "--compute-ms 3.5", .target = &step,
	  .said = "--compute-ms 10" },
	{ "params", "", .other = "--params 1M", .target = &step, .said = "--params 2M" },
	{ "iters", "", .other = "-n 5", .said = "-n adaptive" },
	{ "sizes", "--sizes 8,1M", .other = "--sizes 8,4K,1M", .said = "--sizes 8,1M",
	  .other_said = "--sizes 8,4K,1M" },
	{ "ci", "", .other = "--ci 2.5", .said = "--ci 1" },
	{ "budget", "", .other = "--budget 2", .said = "--budget 0.5" },
	{ "warmup_iters", "", .other = "-w 3", .said = "-w steady" },
	{ "agg_iters", "", .other = "-m 2", .said = "-m 1" },
	{ "run_cycles", "", .other = "-N 0", .said = "-N 1" },
	{ "check", "", .other = "-c 0", .said = "-c 1" },
	{ "check-every", "", .other = "--check-every", .said = "no --check-every" },
	{ "like-nccl-tests", "-n 20 -w 1 -a 1", .other = "-n 20 -w 1 -a 1 --like-nccl-tests",
	  .said = "no --like-nccl-tests", .other_said = "--like-nccl-tests" },
	{ "share-gpu", "", .other = "--share-gpu", .said = "no --share-gpu" },
	{ "alloc", "", .other = "--alloc cuda", .said = "--alloc nccl" },
	{ "local_register", "", .other = "-R 1", .said = "-R 0" },
	{ "cta_policy", "", .other = "-x 1", .said = "-x unset" },
	{ "nvlink-centric", "", .other = "--nvlink-centric 0", .said = "--nvlink-centric 1" },
	{ "stream_null", "", .other = "-y 1", .said = "-y 0" },
	{ "average", "", .other = "-a 1", .said = "-a 3" },
	{ "report_cputime", "", .other = "-C 1", .said = "-C 0" },
	{ "per_iter_timing", "", .other = "-I 1", .said = "-I 0" },
	{ "per_iter_skip", "-I 1", .other = "-I 1 -K 2", .said = "-K 0", .other_said = "-K 2" },
	{ "topo", "", .other = "--topo none", .said = "--topo live" },
	{ "calibrate", "--calibrate a.csv", .other = "--calibrate b.csv",
	  .said = "--calibrate a.csv" },
	{ "min-busbw", "", .other = "--min-busbw 3", .said = "--min-busbw 0" },
	{ "min-percent", "", .other = "--min-percent 9", .said = "--min-percent 0" },
	{ "good", "", .other = "--good 90", .said = "--good 80" },
	{ "low", "", .other = "--low 9", .said = "--low 50" },
	{ "reconcile", "", .other = "--reconcile", .said = "no --reconcile" },
	{ "fault", "--fault none", .other = "--fault drop-rank:1", .said = "--fault none" },
	{ "record", "", .other = "--record off", .said = "--record calls" },
	{ "schedule", "--fault none", .other = "--fault none --schedule pairs",
	  .said = "no --schedule", .other_said = "--schedule pairs" },
	{ "expect", "", .other = "--expect hang", .said = "no --expect" },
	{ "NCCL_TESTS_SPLIT", "", .other_env = "NCCL_TESTS_SPLIT=MOD 2",
	  .said = "no NCCL_TESTS_SPLIT" },
	{ "slow-percent", "--slow-percent 2", .said = "--slow-percent 2",
	  .other_said = "--slow-percent 5" },
	{ "fail-slow", "--fail-slow", .said = "--fail-slow", .other_said = "no --fail-slow" },
	{ "NCCL_TESTS_SPLIT_MASK", "", .env = "NCCL_TESTS_SPLIT_MASK=1",
	  .other_env = "NCCL_TESTS_SPLIT_MASK=3", .said = "NCCL_TESTS_SPLIT=AND 1",
	  .other_said = "NCCL_TESTS_SPLIT=AND 3" },
	{ "NCCL_TESTS_ALLTOALLV_SPREAD", "", .other_env = "NCCL_TESTS_ALLTOALLV_SPREAD=0.5",
	  .target = &alltoallv, .said = "NCCL_TESTS_ALLTOALLV_SPREAD=1" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_FILE", "", .other_env = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=m",
	  .target = &alltoallv, .said = "no NCCL_TESTS_ALLTOALLV_MATRIX_FILE" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", "",
	  .other_env = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1.0000000596046448", .target = &alltoallv,
	  .said = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1",
	  .other_said = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1.0000000596046448" },
};
#define SAME_COUNT LENGTH(same)

UNIT_TEST(test_same, "each option that must be the same")
{
	struct settings both[2];
	char said[400];

	for (size_t i = 0; i < SAME_COUNT; i++) {
		const struct option_target *target = same[i].target ? same[i].target : &all_reduce;

		fill(&both[0], target, same[i].line, same[i].env);
		fill(&both[1], target, same[i].other ? same[i].other : "", same[i].other_env);
		snprintf(said, sizeof(said), "rank 0: %s; rank 1: %s", same[i].said,
			 same[i].other_said  ? same[i].other_said
			 : same[i].other_env ? same[i].other_env
					     : same[i].other);
		CU_ASSERT_STRING_EQUAL(compare(both, 2), said);
		if (strcmp(compare(both, 2), said) != 0)
			printf(" %s", compare(both, 2));
	}
}

/* An option that every build refuses cannot differ. */
static bool refused(const char *name)
{
	return strncmp(name, "device_", 7) == 0;
}

UNIT_TEST(test_decided, "every row has decided")
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		bool tested = refused(row->name);

		CU_ASSERT_NOT_EQUAL(row->agree, AGREE_UNDECIDED);
		for (size_t j = 0; j < SAME_COUNT; j++)
			tested |= strcmp(same[j].row, row->name) == 0;
		CU_ASSERT_EQUAL(tested, row->agree == AGREE_SAME);
		if (tested != (row->agree == AGREE_SAME))
			printf(" %s", row->name);
	}
}

/* Files, display, timeouts, and other spellings of one value. */
UNIT_TEST(test_free, "what may differ")
{
	static const struct {
		const char *line, *other, *other_env;
	} cases[] = {
		{ "", "--out a --table nccl-tests", NULL },
		{ "", "--csv b --json c -J d.json", NULL },
		{ "", "-T 9 -S 1 -M 1 -p 1 -g 1 -t 1", NULL },
		{ "", "--no-watch", "NCCL_TESTS_DEVICE=3" },
		{ "", "--backend mpi", NULL }, /* the resolved backend is compared */
		/* only rank 0 reads it; mpirun does not forward variables to other hosts */
		{ "", "", "NCCL_TESTS_MIN_BW=3" },
		{ "", "", "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=m" }, /* not all_reduce's */
		{ "", "", "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1" },
		{ "-b 1K -e 2M", "-b 1024 -e 2048K", NULL },
		{ "-e 32M -d float", "", NULL },
		{ "-o sum -n adaptive --good 80", "", NULL },
	};
	struct settings both[2];

	UNIT_ROWS(c, cases) {
		fill(&both[0], &all_reduce, c->line, NULL);
		fill(&both[1], &all_reduce, c->other, c->other_env);
		CU_ASSERT_EQUAL(memcmp(&both[0], &both[1], sizeof(both[0])), 0);
		CU_ASSERT_STRING_EQUAL(compare(both, 2), "");
	}
}

/* The majority comes last; a tie has none. */
UNIT_TEST(test_many, "who has what")
{
	static const struct {
		const char *lines[RANKS], *said;
	} cases[] = {
		{ { "", "", "", "-d half", NULL }, "rank 3: -d half; ranks 0-2: -d float" },
		{ { "-d half", "", "", NULL }, "rank 0: -d half; ranks 1,2: -d float" },
		{ { "", "-d half", "", "-d half", NULL },
		  "ranks 0,2: -d float; ranks 1,3: -d half" },
		{ { "-d int8", "", "-d half", "", NULL },
		  "rank 0: -d int8; rank 2: -d half; ranks 1,3: -d float" },
		{ { "", "-d int8", "-d half", NULL },
		  "rank 0: -d float; rank 1: -d int8; rank 2: -d half" },
		{ { "-b 1", "-b 2", "-b 3", "-b 4", "-b 5", "-b 6" },
		  "rank 0: -b 1; rank 1: -b 2; rank 2: -b 3; others differ again" },
		{ { "-b 1", "-b 2", "-b 3", "-b 4", "-b 5", "-b 5" },
		  "rank 0: -b 1; rank 1: -b 2; rank 2: -b 3; others differ again; "
		  "ranks 4,5: -b 5" },
	};
	struct settings all[RANKS];
	int n;

	UNIT_ROWS(c, cases) {
		for (n = 0; n < RANKS && c->lines[n]; n++)
			fill(&all[n], &all_reduce, c->lines[n], NULL);
		CU_ASSERT_STRING_EQUAL(compare(all, n), c->said);
	}
}

/* Version, program and backend come before options: they explain their differences. */
UNIT_TEST(test_program, "version, program and backend first")
{
	static const struct {
		const char *version, *program, *backend, *said;
	} cases[] = {
		{ "2", "y_perf", "nccl", "rank 0: hangar 1.0; rank 1: hangar 2" },
		{ "1.0", "y_perf", "nccl", "rank 0: x_perf; rank 1: y_perf" },
		{ "1.0", "x_perf", "nccl", "rank 0: backend mpi; rank 1: backend nccl" },
	};
	struct settings both[2];
	struct options options;
	struct error err;
	char buf[64];

	fill(&both[0], &all_reduce, "", NULL);
	CU_ASSERT_EQUAL(line_parse(&options, &all_reduce, "-d half", buf, sizeof(buf), &err), 0);
	UNIT_ROWS(c, cases) {
		memset(&both[1], 0, sizeof(both[1]));
		options_agree_fill(&both[1], &options, c->version, c->program, c->backend, false);
		CU_ASSERT_STRING_EQUAL(compare(both, 2), c->said);
	}
}

UNIT_TEST(test_long, "long values")
{
	struct settings both[2];
	char line[2][300];

	for (int i = 0; i < 2; i++)
		snprintf(line[i], sizeof(line[i]), "--topo %0200d", i);
	fill(&both[0], &all_reduce, line[0], NULL);
	fill(&both[1], &all_reduce, line[1], NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(compare(both, 2), "; rank 1: --topo 000"));
}
