/* test_options_wrong.c: command lines and environments that are refused, each with the words that
 * say why. */
#include "options_line.h"

struct wrong_case {
	const char *line, *want;		/* `want` stands in the error's text */
	const struct option_target *collective; /* all_reduce */
	const char *env;
	enum outcome outcome; /* OUTCOME_USAGE */
};

static const struct wrong_case wrong_values[] = {
	{ .line = "-b 0", .want = "-b 0: must be a size of at least 1 byte (suffixes K, M, G, T" },
	{ .line = "-b 8Mx", .want = "-b 8Mx: must be a size" },
	{ .line = "-b 8x", .want = "-b 8x: must be a size" },
	{ .line = "-b 8MBs", .want = "-b 8MBs: must be a size" },
	{ .line = "-b 8iB", .want = "-b 8iB: must be a size" },
	{ .line = "-b -8", .want = "-b -8: must be a size" },
	{ .line = "-b +8", .want = "-b +8: must be a size" },
	{ .line = "-b 0x10", .want = "-b 0x10: must be a size" },
	{ .line = "-b 1e3", .want = "-b 1e3: must be a size" },
	{ .line = "-b 1.3K", .want = "-b 1.3K: must be a size" },
	{ .line = "-b .K", .want = "-b .K: must be a size" },
	{ .line = "-b .5", .want = "-b .5: must be a size" },
	{ .line = "-b 1.K", .want = "-b 1.K: must be a size" },
	{ .line = "-b 0.5", .want = "-b 0.5: must be a size" },
	{ .line = "-b nan", .want = "-b nan: must be a size" },
	{ .line = "-b ''", .want = "-b '': must be a size" },
	{ .line = "--minbytes=", .want = "-b '': must be a size" },
	{ .line = "-b 18446744073709551616", .want = "less than 2^64" },
	{ .line = "-b 16777216T", .want = "-b 16777216T: must be a size" },
	{ .line = "-e 99999999999999999999999999999999999999999999999999999999999999999999",
	  .want = "...: must be" },
	{ .line = "-e 0", .want = "-e 0: must be a size" },
	{ .line = "-e 8Q", .want = "-e 8Q: must be a size" },
	{ .line = "-i 0", .want = "-i 0: must be a size" },
	{ .line = "-i -1", .want = "-i -1: must be a size" },
	{ .line = "-f 1.5", .want = "-f 1.5: must be a whole number from 2" },
	{ .line = "-f 1", .want = "-f 1: must be a whole number from 2" },
	{ .line = "-f 0", .want = "-f 0: must be" },
	{ .line = "-f -2", .want = "-f -2: must be" },
	{ .line = "-f 2x", .want = "-f 2x: must be" },
	{ .line = "-n 0",
	  .want = "-n 0: must be a whole number from 1 to 2147483647, or adaptive" },
	{ .line = "-n -1", .want = "-n -1: must be" },
	{ .line = "-n ''", .want = "-n '': must be" },
	{ .line = "-n 010", .want = "-n 010: must be" },
	{ .line = "-n 2147483648", .want = "-n 2147483648: must be" },
	{ .line = "-n 99999999999999999999", .want = "must be a whole number" },
	{ .line = "-m 0", .want = "-m 0: must be" },
	{ .line = "-w -2",
	  .want = "-w -2: must be a whole number from 0 to 2147483647, or steady" },
	{ .line = "-w -1", .want = "-w -1: must be" },
	{ .line = "-N -1", .want = "-N -1: must be" },
	{ .line = "-c -1", .want = "-c -1: must be" },
	{ .line = "-o bar", .want = "-o bar: must be one of sum prod max min avg mulsum all" },
	{ .line = "-o SUM", .want = "-o SUM: must be one of" },
	{ .line = "-o ''", .want = "-o '': must be one of" },
	{ .line = "-d float16",
	  .want = "-d float16: must be one of int8 uint8 int32 uint32 int64 uint64 half float "
		  "double" },
	{ .line = "-d none", .want = "-d none: must be one of" },
	{ .line = "-r -2",
	  .want = "-r -2: must be a whole number from -1",
	  .collective = &broadcast },
	{ .line = "-r any",
	  .want = "-r any: must be a whole number from -1 to 2147483647, or all",
	  .collective = &broadcast },
	{ .line = "-z 4", .want = "-z 4: must be a whole number from 0 to 3" },
	{ .line = "-y 2", .want = "-y 2: must be 0 or 1" },
	{ .line = "-y yes", .want = "-y yes: must be 0 or 1" },
	{ .line = "-T -1", .want = "-T -1: must be" },
	{ .line = "-T 1.5", .want = "-T 1.5: must be" },
	{ .line = "-G -1", .want = "-G -1: must be" },
	{ .line = "-C 2", .want = "-C 2: must be 0 or 1" },
	{ .line = "-S on", .want = "-S on: must be 0 or 1" },
	{ .line = "-a 4", .want = "-a 4: must be a whole number from 0 to 3" },
	{ .line = "-R 3", .want = "-R 3: must be a whole number from 0 to 2" },
	{ .line = "-x -1", .want = "-x -1: must be a whole number from 0 to 2" },
	{ .line = "-p 2", .want = "-p 2: must be 0 or 1" },
	{ .line = "-M 2", .want = "-M 2: must be 0 or 1" },
	{ .line = "-I 2", .want = "-I 2: must be 0 or 1" },
	{ .line = "-u -1", .want = "-u -1: must be" },
	{ .line = "-g 0", .want = "-g 0: must be" },
	{ .line = "-g 2,3", .want = "-g 2,3: must be" },
	{ .line = "-t 0", .want = "-t 0: must be" },
	{ .line = "-D 5", .want = "-D 5: must be a whole number from 0 to 4" },
	{ .line = "-V 0", .want = "-V 0: must be a whole number from 1 to 128" },
	{ .line = "-V 129", .want = "-V 129: must be" },
	{ .line = "-J x.csv", .want = "-J x.csv: must be a file name that ends in .json" },
	{ .line = "-J .json", .want = "-J .json: must be a file name" },
	{ .line = "-J ''", .want = "-J '': must be a file name" },
	{ .line = "--csv ''", .want = "--csv '': must be a name that is not empty" },
	{ .line = "--out=", .want = "--out '': must be" },
	{ .line = "--mode fast", .want = "--mode fast: must be one of stream isolated graph" },
	{ .line = "--backend gloo", .want = "--backend gloo: must be one of auto nccl mpi" },
	{ .line = "--table plain", .want = "--table plain: must be one of hangar nccl-tests wide" },
	{ .line = "--record all", .want = "--record all: must be one of off calls full" },
	{ .line = "--alloc host", .want = "--alloc host: must be one of nccl cuda" },
	{ .line = "--nvlink-centric 2", .want = "--nvlink-centric 2: must be 0 or 1" },
	{ .line = "--align 0",
	  .want = "--align 0: must be a size of at least 1 byte and at most 1073741824" },
	{ .line = "--align 24", .want = "--align 24: must be a power of two" },
	{ .line = "--seed -1", .want = "--seed -1: must be a whole number from 0 to 4294967295" },
	{ .line = "--seed 4294967296", .want = "--seed 4294967296: must be" },
	{ .line = "--ci 0", .want = "--ci 0: must be a number from 0.01 to 100" },
	{ .line = "--ci nan", .want = "--ci nan: must be" },
	{ .line = "--ci 1%", .want = "--ci 1%: must be" },
	{ .line = "--budget .", .want = "--budget .: must be" },
	{ .line = "--budget -.5", .want = "--budget -.5: must be" },
	{ .line = "--budget ..5", .want = "--budget ..5: must be" },
	{ .line = "--budget inf", .want = "--budget inf: must be" },
	{ .line = "--budget 0x1", .want = "--budget 0x1: must be" },
	{ .line = "--budget 1e999", .want = "--budget 1e999: must be" },
	{ .line = "--expect bang",
	  .want = "--expect bang: must be ok, or OUTCOME[:CLASS[:RANKS]]" },
	{ .line = "--expect ok:missing-call", .want = "--expect ok:missing-call: must be ok, or" },
	{ .line = "--expect hang:", .want = "--expect hang:: must be" },
	{ .line = "--expect hang:x:1,", .want = "--expect hang:x:1,: must be" },
};

static const struct wrong_case wrong_words[] = {
	{ .line = "-q", .want = "-q: unknown option" },
	{ .line = "-q 1", .want = "-q: unknown option" },
	{ .line = "-b 8 -e 8 -q", .want = "-q: unknown option" },
	{ .line = "-qb 8", .want = "-q: unknown option" },
	{ .line = "-hq", .want = "-q: unknown option" },
	{ .line = "-r -1 -q", .want = "-q: unknown option", .collective = &broadcast },
	{ .line = "-?", .want = "-?: unknown option" },
	{ .line = "--frobnicate", .want = "--frobnicate: unknown option" },
	{ .line = "--frobnicate=3", .want = "--frobnicate=3: unknown option" },
	{ .line = "--NCCL_TESTS_DEVICE 0", .want = "--NCCL_TESTS_DEVICE: unknown option" },
	{ .line = "--usage", .want = "--usage: unknown option" },
	{ .line = "--minb", .want = "--minb: must be followed by a value" },
	{ .line = "--c 1", .want = "--c: begins several options" },
	{ .line = "-b", .want = "-b: must be followed by a value" },
	{ .line = "-e 8 -b", .want = "-b: must be followed by a value" },
	{ .line = "--maxbytes", .want = "--maxbytes: must be followed by a value" },
	{ .line = "--share-gpu=1", .want = "--share-gpu=1: takes no value" },
	{ .line = "--no-watch=0", .want = "--no-watch=0: takes no value" },
	{ .line = "8", .want = "'8': must be an option" },
	{ .line = "-b 8 -e 8 16", .want = "'16': must be an option" },
	{ .line = "-b 8 -- -e", .want = "'-e': must be an option" },
	{ .line = "-", .want = "'-': must be an option" },
	{ .line = "''", .want = "'': must be an option" },
};

static const struct wrong_case wrong_pairs[] = {
	{ .line = "-b 16 -e 8", .want = "-e 8: must be at least -b, which is 16" },
	{ .line = "-b 64M", .want = "-e 32M: must be at least -b, which is 64M" },
	{ .line = "-e 8", .want = "-e 8: must be at least -b, which is 32M" },
	{ .line = "-i 1M -f 2", .want = "-i 1M: can't be combined with -f 2" },
	{ .line = "-m 4 -z 1", .want = "-z 1: must be 0 with -m 4" },
	{ .line = "-m 2 -z 2", .want = "-z 2: must be 0 with -m 2" },
	{ .line = "-z 3 -m 2", .want = "-z 3: must be 0 with -m 2" },
	{ .line = "-G 1 -z 1", .want = "-z 1: must be 0 with a graph" },
	{ .line = "-G 1 -z 3", .want = "-z 3: must be 0 with a graph" },
	{ .line = "--mode graph -z 2", .want = "-z 2: must be 0 with a graph" },
	{ .line = "-G 1 -I 1", .want = "-I 1: must be 0 with a graph" },
	{ .line = "-G 4 -C 1", .want = "-C 1: must be 0 with a graph" },
	{ .line = "--mode=graph -C 1", .want = "-C 1: must be 0 with a graph" },
	{ .line = "-G 1 -y 1", .want = "-y 1: must be 0 with a graph" },
	{ .line = "-G 3 --mode isolated", .want = "-G 3: can't be combined with --mode isolated" },
	{ .line = "-G 3 --mode stream", .want = "-G 3: can't be combined with --mode stream" },
	{ .line = "-G 0 --mode graph", .want = "-G 0: must be at least 1 with --mode graph" },
	{ .line = "--like-nccl-tests --backend mpi", .want = "--like-nccl-tests: needs a GPU" },
	{ .line = "--mode isolated -m 2", .want = "-m 2: must be 1 with --mode isolated" },
	{ .line = "--mode isolated -z 1", .want = "-z 1: must be 0 with --mode isolated" },
	{ .line = "-K 3", .want = "-K 3: must be 0 without -I 1" },
	{ .line = "-I 1 -K 20 -n 20", .want = "-K 20: must be less than -n, which is 20" },
	{ .line = "-c 0 --check-every", .want = "-c 0: must be at least 1 with --check-every" },
	{ .line = "--good 101", .want = "--good 101: must be a number from 0 to 100" },
	{ .line = "--low -1", .want = "--low -1: must be a number from 0 to 100" },
	{ .line = "--low 81", .want = "--low 81: must be at most --good, which is 80" },
	{ .line = "--topo none --min-percent 10",
	  .want = "--min-percent 10: can't be combined with --topo none" },
	{ .line = "--good 49 --low 50", .want = "must be at most --good, which is 49" },
	{ .line = "--vendor --fault none", .want = "--vendor: can't be combined with --fault" },
	{ .line = "-n 20 --ci 2", .want = "--ci 2: has no effect with -n 20" },
	{ .line = "-n 20 --budget 2", .want = "--budget 2: has no effect with -n 20" },
	{ .line = "-r 0", .want = "-r 0: must be left out: all_reduce has no root" },
	{ .line = "-r all", .want = "-r all: must be left out", .collective = &all_gather },
	{ .line = "-o sum",
	  .want = "-o sum: must be left out: all_gather reduces nothing",
	  .collective = &all_gather },
	{ .line = "-o max", .want = "-o max: must be left out", .collective = &broadcast },
	{ .line = "-g 4096 -t 2", .want = "-g 4096: must be at most 2048 with -t 2" },
	{ .line = "-R 2 --alloc cuda", .want = "-R 2: can't be combined with --alloc cuda" },
	{ .line = "-T 5 --no-watch", .want = "-T 5: must be 0 with --no-watch" },
	{ .line = "--out d --csv f", .want = "--csv f: can't be combined with --out" },
	{ .line = "--json f --out d", .want = "--json f: can't be combined with --out" },
	{ .line = "--csv f --json f", .want = "--json f: must be another file than --csv" },
	{ .line = "-J f.json --json f.json", .want = "-J f.json: must be another file" },
	{ .line = "-J f.json -N 0", .want = "-J f.json: can't be combined with -N 0" },
	{ .line = "--metrics f", .want = "must be a file name that ends in .prom" },
	{ .line = "--trace f --record off", .want = "--trace f: can't be combined with --record" },
	{ .line = "--trace f -N 0", .want = "--trace f: can't be combined with -N 0" },
	{ .line = "--backend mpi -G 2", .want = "-G 2: needs a GPU" },
	{ .line = "--backend mpi --mode graph", .want = "--mode graph: needs a GPU" },
	{ .line = "--backend mpi -R 1", .want = "-R 1: needs a GPU" },
	{ .line = "--backend mpi --share-gpu", .want = "--share-gpu: needs a GPU" },
	{ .line = "--backend null -R 1",
	  .want = "-R 1: needs a GPU and can't be combined with --backend null" },
	{ .line = "--backend null -c 2", .want = "-c 2: must be 0 with --backend null" },
	{ .line = "--backend null --check-every", .want = "must be 0 with --backend null" },
	{ .line = "--backend null --fault none",
	  .want = "--fault none: can't be combined with --backend null" },
	{ .line = "--backend mpi --alloc cuda", .want = "--alloc cuda: needs a GPU" },
	{ .line = "-D 1",
	  .want = "-D 1: device-side kernels are not part of hangar; run without -D",
	  .outcome = OUTCOME_UNSUPPORTED },
	{ .line = "-V 32",
	  .want = "-V 32: device-side kernels are not part of hangar",
	  .outcome = OUTCOME_UNSUPPORTED },
	{ .line = "-D 1 -R 2 -V 32", .want = "-D 1: device-side", .outcome = OUTCOME_UNSUPPORTED },
	{ .line = "-D 1 -b 0", .want = "-b 0: must be" },
	{ .line = "-D 1 -b 2 -e 1", .want = "-e 1: must be" },
};

static const struct wrong_case wrong_environments[] = {
	{ .line = "",
	  .want = "NCCL_TESTS_DEVICE=x: must be a whole number from 0 to 1023",
	  .env = "NCCL_TESTS_DEVICE=x" },
	{ .line = "", .want = "NCCL_TESTS_DEVICE=-1: must be", .env = "NCCL_TESTS_DEVICE=-1" },
	{ .line = "", .want = "NCCL_TESTS_DEVICE='': must be", .env = "NCCL_TESTS_DEVICE=" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=MOD 0: must be AND, OR, MOD or DIV",
	  .env = "NCCL_TESTS_SPLIT=MOD 0" },
	{ .line = "", .want = "NCCL_TESTS_SPLIT=/0: must be", .env = "NCCL_TESTS_SPLIT=/0" },
	{ .line = "", .want = "NCCL_TESTS_SPLIT=XOR 1: must be", .env = "NCCL_TESTS_SPLIT=XOR 1" },
	{ .line = "", .want = "NCCL_TESTS_SPLIT=MOD: must be", .env = "NCCL_TESTS_SPLIT=MOD" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=MOD 2x: must be",
	  .env = "NCCL_TESTS_SPLIT=MOD 2x" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=MOD -2: must be",
	  .env = "NCCL_TESTS_SPLIT=MOD -2" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=OR 0b12: must be",
	  .env = "NCCL_TESTS_SPLIT=OR 0b12" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=OR 0x0x1: must be",
	  .env = "NCCL_TESTS_SPLIT=OR 0x0x1" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT=OR 2147483648: must be",
	  .env = "NCCL_TESTS_SPLIT=OR 2147483648" },
	{ .line = "", .want = "NCCL_TESTS_SPLIT='': must be", .env = "NCCL_TESTS_SPLIT=" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT_MASK=0xg: must be a hexadecimal number",
	  .env = "NCCL_TESTS_SPLIT_MASK=0xg" },
	{ .line = "",
	  .want = "NCCL_TESTS_SPLIT_MASK=100000000: must be",
	  .env = "NCCL_TESTS_SPLIT_MASK=100000000" },
	{ .line = "",
	  .want = "NCCL_TESTS_MIN_BW=fast: must be a number from 0 to 1e+09",
	  .env = "NCCL_TESTS_MIN_BW=fast" },
	{ .line = "", .want = "NCCL_TESTS_MIN_BW=-1: must be", .env = "NCCL_TESTS_MIN_BW=-1" },
	{ .line = "",
	  .want = "NCCL_TESTS_ALLTOALLV_SPREAD=1.5: must be a number from 0 to 1",
	  .collective = &alltoallv,
	  .env = "NCCL_TESTS_ALLTOALLV_SPREAD=1.5" },
	{ .line = "",
	  .want = "NCCL_TESTS_ALLTOALLV_SPREAD=-0.1: must",
	  .env = "NCCL_TESTS_ALLTOALLV_SPREAD=-0.1" },
	{ .line = "",
	  .want = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=0: must",
	  .env = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=0" },
	{ .line = "",
	  .want = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE='': must",
	  .env = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=" },
	{ .line = "",
	  .want = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=2: must be 0 or 1",
	  .env = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=2" },
	/* The command line is told first. */
	{ .line = "-b 0", .want = "-b 0: must be", .env = "NCCL_TESTS_DEVICE=x" },
};

static void run_wrong(const struct wrong_case *cases, size_t n)
{
	struct options options;
	struct error err;
	char buf[512];
	size_t i;

	for (i = 0; i < n; i++) {
		const struct wrong_case *c = &cases[i];
		int rc;

		environment(c->env, true);
		rc = parse(&options, c->collective ? c->collective : &all_reduce, c->line, buf,
			   sizeof(buf), &err);
		environment(c->env, false);
		UNIT_ALL(rc == -EINVAL, err.outcome == (c->outcome ? c->outcome : OUTCOME_USAGE),
			 strchr(err.text, '\n') == NULL, strstr(err.text, c->want) != NULL);
		if (!strstr(err.text, c->want))
			fprintf(stderr, "\n%s %s\n  is  '%s'\n  not '%s'\n", c->env ? c->env : "",
				c->line, err.text, c->want);
	}
}

#define RUN_WRONG(cases) run_wrong(cases, sizeof(cases) / sizeof((cases)[0]))

static void test_wrong_values(void)
{
	RUN_WRONG(wrong_values);
}

static void test_wrong_words(void)
{
	RUN_WRONG(wrong_words);
}

static void test_wrong_pairs(void)
{
	RUN_WRONG(wrong_pairs);
}

static void test_wrong_environments(void)
{
	RUN_WRONG(wrong_environments);
}

/* No argument at all, not even a program name; and far too long or unprintable ones. */
static void test_odd_arguments(void)
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

UNIT_MAIN_BY(options_main, "options: wrong", { "values that are not allowed", test_wrong_values },
	     { "words that are no option", test_wrong_words },
	     { "options that exclude each other", test_wrong_pairs },
	     { "environment variables that are not allowed", test_wrong_environments },
	     { "odd arguments", test_odd_arguments })
