/* test_options_wrong.c: refused command lines and environments, each with its message. */
#include "options_line.h"

struct wrong_case {
	const char *line, *want;		/* `want` is part of the error's text */
	const struct option_target *collective; /* all_reduce */
	const char *env;
	enum outcome outcome; /* OUTCOME_USAGE */
};

/* Refused command lines and variables, with their messages. */
static const struct {
	const char *want, *lines[16];
} wrong_alike[] = {
	{ "must be a size of at least 1 byte (suffixes K, M, G, T", { "-b 0" } },
	{ "must be a size",
	  { "-b 8Mx", "-b 8x", "-b 8MBs", "-b 8iB", "-b -8", "-b +8", "-b 0x10", "-b 1e3",
	    "-b 1.3K", "-b .K", "-b .5", "-b 1.K", "-b 0.5", "-b nan", "-b ''" } },
	{ "must be a size", { "-b 16777216T", "-e 0", "-e 8Q", "-i 0", "-i -1" } },
	{ "must be a whole number from 2", { "-f 1.5", "-f 1" } },
	{ "must be",
	  { "-f 0", "-f -2", "-f 2x", "-n -1", "-n ''", "-n 010", "-n 2147483648", "-m 0", "-w -1",
	    "-N -1", "-c -1", "-T -1", "-T 1.5", "-G -1", "-u -1" } },
	{ "must be",
	  { "-g 0", "-g 2,3", "-t 0", "-V 129", "--seed 4294967296", "--ci nan", "--ci 1%",
	    "--budget .", "--budget -.5", "--budget ..5", "--budget inf", "--budget 0x1",
	    "--budget 1e999", "--expect hang:", "--expect hang:x:1," } },
	{ "must be a whole number from 1 to 2147483647, or adaptive", { "-n 0" } },
	{ "must be a whole number from 0 to 2147483647, or steady", { "-w -2" } },
	{ "must be one of sum prod max min avg mulsum all", { "-o bar" } },
	{ "must be one of", { "-o SUM", "-o ''", "-d none" } },
	{ "must be one of int8 uint8 int32 uint32 int64 uint64 half float double",
	  { "-d float16" } },
	{ "must be a whole number from 0 to 3", { "-z 4", "-a 4" } },
	{ "must be 0 or 1",
	  { "-y 2", "-y yes", "-C 2", "-S on", "-p 2", "-M 2", "-I 2", "--nvlink-centric 2" } },
	{ "must be a whole number from 0 to 2", { "-R 3", "-x -1" } },
	{ "must be a whole number from 0 to 4", { "-D 5" } },
	{ "must be a whole number from 1 to 128", { "-V 0" } },
	{ "must be a file name that ends in .json", { "-J x.csv" } },
	{ "must be a file name", { "-J .json", "-J ''" } },
	{ "must be a name that is not empty", { "--csv ''" } },
	{ "must be one of stream isolated graph", { "--mode fast" } },
	{ "must be one of auto nccl mpi", { "--backend gloo" } },
	{ "must be one of hangar nccl-tests", { "--table plain" } },
	{ "must be one of off calls full", { "--record all" } },
	{ "must be one of nccl cuda", { "--alloc host" } },
	{ "must be a size of at least 1 byte and at most 1073741824", { "--align 0" } },
	{ "must be a power of two", { "--align 24" } },
	{ "must be a whole number from 0 to 4294967295", { "--seed -1" } },
	{ "must be a number from 0.01 to 100", { "--ci 0" } },
	{ "must be ok, or OUTCOME[:CLASS][:RANKS]", { "--expect bang" } },
	{ "must be ok, or", { "--expect ok:missing-call" } },
	{ "unknown option", { "-q", "-?", "--frobnicate", "--frobnicate=3", "--usage" } },
	{ "must be followed by a value", { "--minb", "-b", "--maxbytes" } },
	{ "takes no value", { "--share-gpu=1", "--no-watch=0" } },
	{ "must be an option", { "''" } },
	{ "must be at least -b, which is 32M", { "-e 8" } },
	{ "must be 0 without -I 1", { "-K 3" } },
	{ "must be a number from 0 to 100", { "--good 101", "--low -1" } },
	{ "must be at most --good, which is 80", { "--low 81" } },
	{ "must be left out: all_reduce has no root", { "-r 0" } },
	{ "must be a whole number from 0 to 1023", { "NCCL_TESTS_DEVICE=x" } },
	{ "must be",
	  { "NCCL_TESTS_DEVICE=-1", "NCCL_TESTS_DEVICE=", "NCCL_TESTS_SPLIT=/0",
	    "NCCL_TESTS_SPLIT=XOR 1", "NCCL_TESTS_SPLIT=MOD", "NCCL_TESTS_SPLIT=MOD 2x",
	    "NCCL_TESTS_SPLIT=MOD -2", "NCCL_TESTS_SPLIT=OR 0b12", "NCCL_TESTS_SPLIT=OR 0x0x1",
	    "NCCL_TESTS_SPLIT=OR 2147483648",
	    "NCCL_TESTS_SPLIT=", "NCCL_TESTS_SPLIT_MASK=100000000", "NCCL_TESTS_MIN_BW=-1" } },
	{ "must be AND, OR, MOD or DIV", { "NCCL_TESTS_SPLIT=MOD 0" } },
	{ "must be a hexadecimal number", { "NCCL_TESTS_SPLIT_MASK=0xg" } },
	{ "must be a number from 0 to 1e+09", { "NCCL_TESTS_MIN_BW=fast" } },
	{ "must",
	  { "NCCL_TESTS_ALLTOALLV_SPREAD=-0.1", "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=0",
	    "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=" } },
	{ "must be 0 or 1", { "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=2" } },
};

static const struct wrong_case wrong_cases[] = {
	{ "--minbytes=", "-b '': must be a size" },
	{ "-b 18446744073709551616", "less than 2^64" },
	{ "-e 99999999999999999999999999999999999999999999999999999999999999999999",
	  "...: must be" },
	{ "-n 99999999999999999999", "must be a whole number" },
	{ "-r -2", "-r -2: must be a whole number from -1", .collective = &broadcast },
	{ "-r any", "-r any: must be a whole number from -1 to 2147483647, or all",
	  .collective = &broadcast },
	{ "--out=", "--out '': must be" },
	{ "-q 1", "-q: unknown option" },
	{ "-b 8 -e 8 -q", "-q: unknown option" },
	{ "-qb 8", "-q: unknown option" },
	{ "-hq", "-q: unknown option" },
	{ "-r -1 -q", "-q: unknown option", .collective = &broadcast },
	{ "--NCCL_TESTS_DEVICE 0", "--NCCL_TESTS_DEVICE: unknown option" },
	{ "--c 1", "--c: begins several options" },
	{ "-e 8 -b", "-b: must be followed by a value" },
	{ "8", "'8': must be an option" },
	{ "-b 8 -e 8 16", "'16': must be an option" },
	{ "-b 8 -- -e", "'-e': must be an option" },
	{ "-", "'-': must be an option" },
	{ "-b 16 -e 8", "-e 8: must be at least -b, which is 16" },
	{ "-b 64M", "-e 32M: must be at least -b, which is 64M" },
	{ "-i 1M -f 2", "-i 1M: can't be combined with -f 2" },
	{ "-m 4 -z 1", "-z 1: must be 0 with -m 4" },
	{ "-m 2 -z 2", "-z 2: must be 0 with -m 2" },
	{ "-z 3 -m 2", "-z 3: must be 0 with -m 2" },
	{ "-G 1 -z 1", "-z 1: must be 0 with a graph" },
	{ "-G 1 -z 3", "-z 3: must be 0 with a graph" },
	{ "--mode graph -z 2", "-z 2: must be 0 with a graph" },
	{ "-G 1 -I 1", "-I 1: must be 0 with a graph" },
	{ "-G 4 -C 1", "-C 1: must be 0 with a graph" },
	{ "--mode=graph -C 1", "-C 1: must be 0 with a graph" },
	{ "-G 1 -y 1", "-y 1: must be 0 with a graph" },
	{ "-G 3 --mode isolated", "-G 3: can't be combined with --mode isolated" },
	{ "-G 3 --mode stream", "-G 3: can't be combined with --mode stream" },
	{ "-G 0 --mode graph", "-G 0: must be at least 1 with --mode graph" },
	{ "--like-nccl-tests --backend mpi", "--like-nccl-tests: needs a GPU" },
	{ "--mode isolated -m 2", "-m 2: has no meaning with --mode isolated" },
	{ "--mode isolated -z 1", "-z 1: has no meaning with --mode isolated" },
	{ "-I 1 -K 20 -n 20", "-K 20: must be less than -n, which is 20" },
	{ "-c 0 --check-every", "-c 0: must be at least 1 with --check-every" },
	{ "--topo none --min-percent 10", "--min-percent 10: can't be combined with --topo none" },
	{ "--good 49 --low 50", "must be at most --good, which is 49" },
	{ "-n 20 --ci 2", "--ci 2: has no effect with -n 20" },
	{ "-n 20 --budget 2", "--budget 2: has no effect with -n 20" },
	{ "-r all", "-r all: must be left out", .collective = &all_gather },
	{ "-o sum", "-o sum: must be left out: all_gather reduces nothing",
	  .collective = &all_gather },
	{ "-o max", "-o max: must be left out", .collective = &broadcast },
	{ "-g 4096 -t 2", "-g 4096: must be at most 2048 with -t 2" },
	{ "-R 2 --alloc cuda", "-R 2: can't be combined with --alloc cuda" },
	{ "-T 5 --no-watch", "-T 5: must be 0 with --no-watch" },
	{ "--out d --csv f", "--csv f: can't be combined with --out" },
	{ "--json f --out d", "--json f: can't be combined with --out" },
	{ "--csv f --json f", "--json f: must be another file than --csv" },
	{ "-J f.json --json f.json", "-J f.json: must be another file" },
	{ "-J f.json -N 0", "-J f.json: can't be combined with -N 0" },
	{ "--metrics f", "must be a file name that ends in .prom" },
	{ "--backend mpi -G 2", "-G 2: needs a GPU" },
	{ "--backend mpi --mode graph", "--mode graph: needs a GPU" },
	{ "--backend mpi -R 1", "-R 1: needs a GPU" },
	{ "--backend mpi --share-gpu", "--share-gpu: needs a GPU" },
	{ "--backend mpi --alloc cuda", "--alloc cuda: needs a GPU" },
	{ "-c 0", "-c 0: has no meaning for p2p_matrix_perf", .collective = &p2p_matrix },
	{ "--fault none", "--fault none: has no meaning for", .collective = &p2p_matrix },
	{ "", "NCCL_TESTS_SPLIT=MOD 2: has no meaning for", .collective = &p2p_matrix,
	  .env = "NCCL_TESTS_SPLIT=MOD 2" },
	{ "--spec f", "--spec f: goes with p2p_matrix_perf" },
	{ "-e 1M", "-e 1M: has no meaning for step_perf", .collective = &step },
	{ "--spec f", "--spec f: goes with p2p_matrix_perf", .collective = &step },
	{ "--recipe ddp", "--recipe ddp: goes with step_perf" },
	{ "--recipe ddp", "--recipe ddp: goes with step_perf", .collective = &p2p_matrix },
	{ "--json -", "--json -: must be a file", .collective = &step },
	{ "-D 1", "-D 1: device-side kernels are not part of hangar; run without -D",
	  .outcome = OUTCOME_UNSUPPORTED },
	{ "-V 32", "-V 32: device-side kernels are not part of hangar",
	  .outcome = OUTCOME_UNSUPPORTED },
	{ "-D 1 -R 2 -V 32", "-D 1: device-side", .outcome = OUTCOME_UNSUPPORTED },
	{ "-D 1 -b 0", "-b 0: must be" },
	{ "-D 1 -b 2 -e 1", "-e 1: must be" },
	{ "", "NCCL_TESTS_ALLTOALLV_SPREAD=1.5: must be a number from 0 to 1",
	  .collective = &alltoallv, .env = "NCCL_TESTS_ALLTOALLV_SPREAD=1.5" },
	/* The command line is reported first. */
	{ "-b 0", "-b 0: must be", .env = "NCCL_TESTS_DEVICE=x" },
};

static void refuse(const struct wrong_case *c)
{
	struct options options;
	struct error err;
	char buf[512];
	int rc;

	line_environment(c->env, true);
	rc = line_parse(&options, c->collective ? c->collective : &all_reduce, c->line, buf,
			sizeof(buf), &err);
	line_environment(c->env, false);
	UNIT_ALL(rc == -EINVAL, err.outcome == (c->outcome ? c->outcome : OUTCOME_USAGE),
		 strchr(err.text, '\n') == NULL, strstr(err.text, c->want) != NULL);
	if (!strstr(err.text, c->want))
		fprintf(stderr, "\n%s %s\n  is  '%s'\n  not '%s'\n", c->env ? c->env : "", c->line,
			err.text, c->want);
}

UNIT_TEST(test_wrong, "words and pairs that are not allowed")
{
	for (size_t i = 0; i < LENGTH(wrong_cases); i++)
		refuse(&wrong_cases[i]);
}

UNIT_TEST(test_wrong_alike, "what is wrong with a value")
{
	char want[200];

	UNIT_ROWS(row, wrong_alike)
		for (const char *const *line = row->lines; *line; line++) {
			bool env = strncmp(*line, "NCCL_", 5) == 0;
			const struct wrong_case c = { .line = env ? "" : *line,
						      .want = want,
						      .env = env ? *line : NULL };

			snprintf(want, sizeof(want), "%s%s: %s", *line,
				 (*line)[strlen(*line) - 1] == '=' ? "''" : "", row->want);
			refuse(&c);
		}
}

/* No argument at all, not even a program name; and very long or unprintable ones. */
UNIT_TEST(test_odd_arguments, "odd arguments")
{
	static char huge[100000];
	char *none[] = { NULL }, *argv[] = { huge, huge, NULL }, *control[] = { huge, huge, NULL };
	char text[] = "-b\n\033[31m8";
	struct options o;
	struct error err = { .rank = -1 };

	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 0, none, &err), 0);
	memset(huge, 'x', sizeof(huge) - 1);
	UNIT_ALL(options_parse(&o, &all_reduce, 2, argv, &err) == -EINVAL,
		 err.outcome == OUTCOME_USAGE, strlen(err.text) < 200);
	memcpy(huge, "--", 2);
	err = (struct error){ .rank = -1 };
	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 2, argv, &err), -EINVAL);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
	memcpy(huge, "-b", 2);
	err = (struct error){ .rank = -1 };
	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 2, argv, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "...: must be a size"));
	control[1] = text;
	err = (struct error){ .rank = -1 };
	UNIT_ALL(options_parse(&o, &all_reduce, 2, control, &err) == -EINVAL,
		 strchr(err.text, '\n') == NULL, strchr(err.text, '\033') == NULL);
}

UNIT_MAIN(options_main())
