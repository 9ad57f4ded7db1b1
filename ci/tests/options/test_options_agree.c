/* test_options_agree.c: options that differ between ranks are found, and told with the ranks that
 * have them; every row of the table has decided whether it may differ. */
#include "options_line.h"

#include "options/options_agree.h"
#include "options/options_table.h"

enum { RANKS = 6 };

/* What one rank with this command line has. */
static void fill(struct options_agree *agree, const struct option_target *target, const char *line,
		 const char *env)
{
	bool irregular = target->irregular;
	struct options options;
	struct error err;
	char buf[512];
	int rc;

	environment(env, true);
	rc = parse(&options, target, line, buf, sizeof(buf), &err);
	environment(env, false);
	CU_ASSERT_EQUAL(rc, 0);
	if (rc < 0)
		printf(" %s: %s", line, err.text);
	options_agree_fill(agree, &options, "1.0", "x_perf", "mpi", irregular);
}

static const struct {
	const char *row; /* its name in the table */
	const char *line, *env, *other_line, *other_env;
	const struct option_target *target; /* NULL: all_reduce's */
	const char *said;		    /* rank 1 has the other line */
} same[] = {
	{ "minbytes", "-b 1K", .other_line = "-b 1M",
	  .said = "rank 0 has -b 1K, rank 1 has -b 1M" },
	{ "maxbytes", "", .other_line = "-e 64M", .said = "rank 0 has -e 32M, rank 1 has -e 64M" },
	{ "stepbytes", "-i 1K", .other_line = "-i 1000",
	  .said = "rank 0 has -i 1K, rank 1 has -i 1000" },
	{ "stepfactor", "-f 3", .other_line = "-f 4", .said = "rank 0 has -f 3, rank 1 has -f 4" },
	{ "align", "", .other_line = "--align 8",
	  .said = "rank 0 has --align 16, rank 1 has --align 8" },
	{ "unalign", "", .other_line = "-u 1", .said = "rank 0 has -u 0, rank 1 has -u 1" },
	{ "op", "", .other_line = "-o all", .said = "rank 0 has -o sum, rank 1 has -o all" },
	{ "datatype", "", .other_line = "-d half",
	  .said = "rank 0 has -d float, rank 1 has -d half" },
	{ "root", "", .other_line = "-r all", .target = &broadcast,
	  .said = "rank 0 has -r 0, rank 1 has -r all" },
	{ "seed", "", .other_line = "--seed 7",
	  .said = "rank 0 has --seed 1, rank 1 has --seed 7" },
	{ "mode", "", .other_line = "--mode isolated",
	  .said = "rank 0 has --mode stream, rank 1 has --mode isolated" },
	{ "cudagraph", "-G 2", .other_line = "-G 3", .said = "rank 0 has -G 2, rank 1 has -G 3" },
	{ "blocking", "", .other_line = "-z 1", .said = "rank 0 has -z 0, rank 1 has -z 1" },
	{ "iters", "", .other_line = "-n 5", .said = "rank 0 has -n adaptive, rank 1 has -n 5" },
	{ "ci", "", .other_line = "--ci 2.5", .said = "rank 0 has --ci 1, rank 1 has --ci 2.5" },
	{ "budget", "", .other_line = "--budget 2",
	  .said = "rank 0 has --budget 0.5, rank 1 has --budget 2" },
	{ "warmup_iters", "", .other_line = "-w 3",
	  .said = "rank 0 has -w steady, rank 1 has -w 3" },
	{ "agg_iters", "", .other_line = "-m 2", .said = "rank 0 has -m 1, rank 1 has -m 2" },
	{ "run_cycles", "", .other_line = "-N 0", .said = "rank 0 has -N 1, rank 1 has -N 0" },
	{ "check", "", .other_line = "-c 0", .said = "rank 0 has -c 1, rank 1 has -c 0" },
	{ "check-every", "", .other_line = "--check-every",
	  .said = "rank 0 has no --check-every, rank 1 has --check-every" },
	{ "share-gpu", "", .other_line = "--share-gpu",
	  .said = "rank 0 has no --share-gpu, rank 1 has --share-gpu" },
	{ "alloc", "", .other_line = "--alloc cuda",
	  .said = "rank 0 has --alloc nccl, rank 1 has --alloc cuda" },
	{ "local_register", "", .other_line = "-R 1", .said = "rank 0 has -R 0, rank 1 has -R 1" },
	{ "cta_policy", "", .other_line = "-x 1", .said = "rank 0 has -x unset, rank 1 has -x 1" },
	{ "nvlink-centric", "", .other_line = "--nvlink-centric 0",
	  .said = "rank 0 has --nvlink-centric 1, rank 1 has --nvlink-centric 0" },
	{ "stream_null", "", .other_line = "-y 1", .said = "rank 0 has -y 0, rank 1 has -y 1" },
	{ "average", "", .other_line = "-a 1", .said = "rank 0 has -a 3, rank 1 has -a 1" },
	{ "report_cputime", "", .other_line = "-C 1", .said = "rank 0 has -C 0, rank 1 has -C 1" },
	{ "per_iter_timing", "", .other_line = "-I 1", .said = "rank 0 has -I 0, rank 1 has -I 1" },
	{ "per_iter_skip", "-I 1", .other_line = "-I 1 -K 2",
	  .said = "rank 0 has -K 0, rank 1 has -K 2" },
	{ "topo", "", .other_line = "--topo none",
	  .said = "rank 0 has --topo live, rank 1 has --topo none" },
	{ "min-busbw", "", .other_line = "--min-busbw 3",
	  .said = "rank 0 has --min-busbw 0, rank 1 has --min-busbw 3" },
	{ "min-percent", "", .other_line = "--min-percent 9",
	  .said = "rank 0 has --min-percent 0, rank 1 has --min-percent 9" },
	{ "good", "", .other_line = "--good 90",
	  .said = "rank 0 has --good 80, rank 1 has --good 90" },
	{ "low", "", .other_line = "--low 9", .said = "rank 0 has --low 50, rank 1 has --low 9" },
	{ "reconcile", "", .other_line = "--reconcile",
	  .said = "rank 0 has no --reconcile, rank 1 has --reconcile" },
	{ "fault", "--fault none", .other_line = "--fault drop-rank:1",
	  .said = "rank 0 has --fault none, rank 1 has --fault drop-rank:1" },
	{ "record", "", .other_line = "--record off",
	  .said = "rank 0 has --record calls, rank 1 has --record off" },
	{ "schedule", "--fault none", .other_line = "--fault none --schedule pairs",
	  .said = "rank 0 has no --schedule, rank 1 has --schedule pairs" },
	{ "expect", "", .other_line = "--expect hang",
	  .said = "rank 0 has no --expect, rank 1 has --expect hang" },
	{ "NCCL_TESTS_SPLIT", "", NULL, "", "NCCL_TESTS_SPLIT=MOD 2", NULL,
	  "rank 0 has no NCCL_TESTS_SPLIT, rank 1 has NCCL_TESTS_SPLIT=MOD 2" },
	{ "NCCL_TESTS_SPLIT_MASK", "", "NCCL_TESTS_SPLIT_MASK=1", "", "NCCL_TESTS_SPLIT_MASK=3",
	  NULL, "rank 0 has NCCL_TESTS_SPLIT=AND 1, rank 1 has NCCL_TESTS_SPLIT=AND 3" },
	{ "NCCL_TESTS_ALLTOALLV_SPREAD", "", NULL, "", "NCCL_TESTS_ALLTOALLV_SPREAD=0.5",
	  &alltoallv,
	  "rank 0 has NCCL_TESTS_ALLTOALLV_SPREAD=1, rank 1 has NCCL_TESTS_ALLTOALLV_SPREAD=0.5" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_FILE", "", NULL, "", "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=m",
	  &alltoallv,
	  "rank 0 has no NCCL_TESTS_ALLTOALLV_MATRIX_FILE, rank 1 has "
	  "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=m" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", "", NULL, "",
	  "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1.0000000596046448", &alltoallv,
	  "rank 0 has NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1, rank 1 has "
	  "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1.00000005..." },
};
#define SAME_COUNT (sizeof(same) / sizeof(same[0]))

static void test_same(void)
{
	struct options_agree both[2];
	char text[400];

	for (size_t i = 0; i < SAME_COUNT; i++) {
		const struct option_target *target = same[i].target ? same[i].target : &all_reduce;

		fill(&both[0], target, same[i].line, same[i].env);
		fill(&both[1], target, same[i].other_line, same[i].other_env);
		CU_ASSERT_NOT_EQUAL(options_agree_hash(&both[0]), options_agree_hash(&both[1]));
		CU_ASSERT_FALSE(options_agree_same(both, 2, text, sizeof(text)));
		CU_ASSERT_STRING_EQUAL(text, same[i].said);
		if (strcmp(text, same[i].said) != 0)
			printf(" %s", text);
	}
}

/* What this build refuses everywhere differs nowhere. */
static bool refused(const char *name)
{
	return strncmp(name, "device_", 7) == 0;
}

static void test_decided(void)
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

/* Files, what is shown, how long is waited, and other spellings of the same. */
static void test_free(void)
{
	static const struct {
		const char *line, *other, *other_env;
	} cases[] = {
		{ "", "--out a --table nccl-tests", NULL },
		{ "", "--csv b --json c -J d.json", NULL },
		{ "", "-T 9 -S 1 -M 1 --vendor -p 1 -g 1 -t 1", NULL },
		{ "", "--no-watch", "NCCL_TESTS_DEVICE=3" },
		{ "", "--backend mpi", NULL }, /* which one it comes to is compared */
		/* rank 0 alone reads it; mpirun hands no variable on to other hosts */
		{ "", "", "NCCL_TESTS_MIN_BW=3" },
		{ "", "", "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=m" }, /* not all_reduce's */
		{ "", "", "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1" },
		{ "-b 1K -e 2M", "-b 1024 -e 2048K", NULL },
		{ "-e 32M -d float", "", NULL },
		{ "-o sum -n adaptive --good 80", "", NULL },
	};
	struct options_agree both[2];
	char text[400];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fill(&both[0], &all_reduce, cases[i].line, NULL);
		fill(&both[1], &all_reduce, cases[i].other, cases[i].other_env);
		CU_ASSERT_EQUAL(options_agree_hash(&both[0]), options_agree_hash(&both[1]));
		CU_ASSERT_TRUE(options_agree_same(both, 2, text, sizeof(text)));
	}
}

/* Those of whom there are most come last; nobody is more among equally many. */
static void test_many(void)
{
	static const struct {
		const char *lines[RANKS];
		const char *said;
	} cases[] = {
		{ { "", "", "", "-d half", NULL }, "rank 3 has -d half, ranks 0-2 have -d float" },
		{ { "-d half", "", "", NULL }, "rank 0 has -d half, ranks 1,2 have -d float" },
		{ { "", "-d half", "", "-d half", NULL },
		  "ranks 0,2 have -d float, ranks 1,3 have -d half" },
		{ { "-d int8", "", "-d half", "", NULL },
		  "rank 0 has -d int8, rank 2 has -d half, ranks 1,3 have -d float" },
		{ { "", "-d int8", "-d half", NULL },
		  "rank 0 has -d float, rank 1 has -d int8, rank 2 has -d half" },
		{ { "-b 1", "-b 2", "-b 3", "-b 4", "-b 5", "-b 6" },
		  "rank 0 has -b 1, rank 1 has -b 2, rank 2 has -b 3, others differ again" },
		{ { "-b 1", "-b 2", "-b 3", "-b 4", "-b 5", "-b 5" },
		  "rank 0 has -b 1, rank 1 has -b 2, rank 2 has -b 3, others differ again, "
		  "ranks 4,5 have -b 5" },
	};
	struct options_agree all[RANKS];
	char text[400];
	int n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (n = 0; n < RANKS && cases[i].lines[n]; n++)
			fill(&all[n], &all_reduce, cases[i].lines[n], NULL);
		CU_ASSERT_FALSE(options_agree_same(all, n, text, sizeof(text)));
		CU_ASSERT_STRING_EQUAL(text, cases[i].said);
	}
}

/* Version, program and backend come before options: they say why those differ. */
static void test_program(void)
{
	static const struct {
		const char *version, *program, *backend, *said;
	} cases[] = {
		{ "2", "y_perf", "nccl", "rank 0 has hangar 1.0, rank 1 has hangar 2" },
		{ "1.0", "y_perf", "nccl", "rank 0 runs x_perf, rank 1 runs y_perf" },
		{ "1.0", "x_perf", "nccl", "rank 0 has backend mpi, rank 1 has backend nccl" },
	};
	struct options_agree both[2];
	struct options options;
	struct error err;
	char text[400], buf[64];

	fill(&both[0], &all_reduce, "", NULL);
	CU_ASSERT_EQUAL(parse(&options, &all_reduce, "-d half", buf, sizeof(buf), &err), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options_agree_fill(&both[1], &options, cases[i].version, cases[i].program,
				   cases[i].backend, false);
		CU_ASSERT_FALSE(options_agree_same(both, 2, text, sizeof(text)));
		CU_ASSERT_STRING_EQUAL(text, cases[i].said);
	}
}

/* Values that are too long to be shown are compared in full. */
static void test_long(void)
{
	char line[2][300];
	struct options_agree both[2];
	char text[400];

	for (int i = 0; i < 2; i++)
		snprintf(line[i], sizeof(line[i]), "--topo %0200d", i);
	fill(&both[0], &all_reduce, line[0], NULL);
	fill(&both[1], &all_reduce, line[1], NULL);
	CU_ASSERT_FALSE(options_agree_same(both, 2, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "00..., rank 1 has --topo 000"));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "each option that must be the same", test_same },
		{ "every row has decided", test_decided },
		{ "what may differ", test_free },
		{ "who has what", test_many },
		{ "version, program and backend first", test_program },
		{ "long values", test_long },
	};

	return unit_main("options_agree", cases, sizeof(cases) / sizeof(cases[0]));
}
