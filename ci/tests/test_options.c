/* test_options.c: command lines and environments, right and wrong, and what becomes of them. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static const struct collective all_reduce = { .name = "all_reduce", .reduces = true };
static const struct collective all_gather = { .name = "all_gather" };
static const struct collective broadcast = { .name = "broadcast", .rooted = true };
static const struct collective reduce = { .name = "reduce", .reduces = true, .rooted = true };
static const struct collective alltoallv = { .name = "alltoallv", .irregular = true };

/* Parse "a b ''": words split at blanks, '' is the empty argument. `buf` must outlive the
 * options. */
static int parse(struct options *options, const struct collective *collective, const char *line,
		 char *buf, size_t len, struct error *err)
{
	char *argv[64] = { (char *)(uintptr_t) "x_perf" }, *before[64], *word, *save = NULL;
	int argc = 1, rc;

	snprintf(buf, len, "%s", line);
	for (word = strtok_r(buf, " ", &save); word && argc < 63; word = strtok_r(NULL, " ", &save))
		argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	memcpy(before, argv, sizeof(argv));
	*err = (struct error){ .rank = -1 };
	rc = options_parse(options, collective, argc, argv, err);
	CU_ASSERT_EQUAL(memcmp(before, argv, sizeof(argv)), 0);
	return rc;
}

/* Numbers without a leading zero; --low follows a --good below it, unless it is given itself. */
static void test_lenient(void)
{
	struct options o;
	struct error err;
	char buf[256];

	CU_ASSERT_EQUAL(parse(&o, &all_reduce, "--budget .05 -b .5K -e 1K --good 1", buf,
			      sizeof(buf), &err), 0);
	CU_ASSERT_EQUAL(o.budget, .05);
	CU_ASSERT_EQUAL(o.min_bytes, 512);
	CU_ASSERT_EQUAL(o.good, 1);
	CU_ASSERT_EQUAL(o.low, 1);
	CU_ASSERT_EQUAL(parse(&o, &all_reduce, "--good 60", buf, sizeof(buf), &err), 0);
	CU_ASSERT_EQUAL(o.low, 50);
	CU_ASSERT_TRUE(parse(&o, &all_reduce, "--good 1 --low 2", buf, sizeof(buf), &err) < 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--low 2: must be at most --good"));
}

/* "NAME=value;NAME=value" into the environment, or out of it again. */
static void environment(const char *list, bool set)
{
	char buf[512], *word, *save = NULL;

	snprintf(buf, sizeof(buf), "%s", list ? list : "");
	for (word = strtok_r(buf, ";", &save); word; word = strtok_r(NULL, ";", &save)) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		if (set)
			setenv(word, value, 1);
		else
			unsetenv(word);
	}
}

struct wrong_case {
	const char *line, *want;	     /* `want` stands in the error's text */
	const struct collective *collective; /* all_reduce */
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
	{ .line = "--table plain", .want = "--table plain: must be hangar or nccl-tests" },
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
	{ .line = "--expect bang", .want = "--expect bang: must be OUTCOME[:CLASS[:RANKS]]" },
	{ .line = "--expect hang:", .want = "--expect hang:: must be" },
	{ .line = "--expect hang:x:1,", .want = "--expect hang:x:1,: must be" },
	{ .line = "--completion zsh", .want = "--completion zsh: must be one of bash" },
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
	{ .line = "--mode isolated -m 2", .want = "-m 2: must be 1 with --mode isolated" },
	{ .line = "--mode isolated -z 1", .want = "-z 1: must be 0 with --mode isolated" },
	{ .line = "-K 3", .want = "-K 3: must be 0 without -I 1" },
	{ .line = "-I 1 -K 20 -n 20", .want = "-K 20: must be less than -n, which is 20" },
	{ .line = "-c 0 --check-every", .want = "-c 0: must be at least 1 with --check-every" },
	{ .line = "--good nan", .want = "--good nan: must be a number from 0 to 1000" },
	{ .line = "--low -1", .want = "--low -1: must be a number from 0 to 1000" },
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
	{ .line = "--backend mpi -G 2", .want = "-G 2: needs a GPU" },
	{ .line = "--backend mpi --mode graph", .want = "--mode graph: needs a GPU" },
	{ .line = "--backend mpi -R 1", .want = "-R 1: needs a GPU" },
	{ .line = "--backend mpi --share-gpu", .want = "--share-gpu: needs a GPU" },
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
		CU_ASSERT_EQUAL(rc, -EINVAL);
		CU_ASSERT_EQUAL(err.outcome, c->outcome ? c->outcome : OUTCOME_USAGE);
		CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, c->want));
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

/* A field and what it must be; sizes are sizeof of the field, values compared as numbers. */
#define IS(field, number)                                                                          \
	.offset = offsetof(struct options, field), .size = sizeof(((struct options *)0)->field),   \
	.value = (uint64_t)(number)

struct right_case {
	const char *line;
	size_t offset, size;
	uint64_t value; /* its low `size` bytes */
	const struct collective *collective;
	const char *env;
};

static const struct right_case right_cases[] = {
	{ .line = "", IS(min_bytes, 32 << 20) },
	{ .line = "", IS(max_bytes, 32 << 20) },
	{ .line = "", IS(step_factor, 2) },
	{ .line = "", IS(align, 16) },
	{ .line = "", IS(gpus, 0) },
	{ .line = "", IS(threads, 0) },
	{ .line = "", IS(device_first, (uint64_t)-1) },
	{ .line = "", IS(split_kind, SPLIT_NONE) },
	{ .line = "", IS(mode, MODE_STREAM) },
	{ .line = "", IS(dtype_first, DT_FLOAT) },
	{ .line = "", IS(dtype_last, DT_FLOAT) },
	{ .line = "", IS(op_first, OP_SUM) },
	{ .line = "", IS(op_last, OP_SUM) },
	{ .line = "", IS(root, 0) },
	{ .line = "", IS(iters, 0) },
	{ .line = "", IS(warmup, (uint64_t)-1) },
	{ .line = "", IS(agg_iters, 1) },
	{ .line = "", IS(cycles, 1) },
	{ .line = "", IS(check, 1) },
	{ .line = "", IS(check_every, false) },
	{ .line = "", IS(seed, 1) },
	{ .line = "", IS(average, AVERAGE_MAX) },
	{ .line = "", IS(cta_policy, (uint64_t)-1) },
	{ .line = "", IS(alloc, ALLOC_NCCL) },
	{ .line = "", IS(nvlink_centric, true) },
	{ .line = "", IS(record, RECORD_CALLS) },
	{ .line = "", IS(watch, true) },
	{ .line = "", IS(table_plain, false) },
	{ .line = "", IS(out, 0) },
	{ .line = "", IS(expect, 0) },
	{ .line = "-b 8", IS(min_bytes, 8) },
	{ .line = "-b8", IS(min_bytes, 8) },
	{ .line = "--minbytes=8", IS(min_bytes, 8) },
	{ .line = "--minbytes 8", IS(min_bytes, 8) },
	{ .line = "--minb 8", IS(min_bytes, 8) },
	{ .line = "-b 1.5M", IS(min_bytes, 3 << 19) },
	{ .line = "-b 1.50K", IS(min_bytes, 1536) },
	{ .line = "-b 2k", IS(min_bytes, 2048) },
	{ .line = "-b 2KB", IS(min_bytes, 2048) },
	{ .line = "-b 2KiB", IS(min_bytes, 2048) },
	{ .line = "-b 2kib", IS(min_bytes, 2048) },
	{ .line = "-e 1G", IS(max_bytes, 1 << 30) },
	{ .line = "-e 2T", IS(max_bytes, (uint64_t)2 << 40) },
	{ .line = "-e 16777215T", IS(max_bytes, (uint64_t)16777215 << 40) },
	{ .line = "-e 18446744073709551615", IS(max_bytes, UINT64_MAX) },
	{ .line = "-b 8 -b 16", IS(min_bytes, 16) },
	{ .line = "-i 2M", IS(step_bytes, 2 << 20) },
	{ .line = "-i 2M", IS(step_factor, 0) },
	{ .line = "-f 4", IS(step_factor, 4) },
	{ .line = "-n 20", IS(iters, 20) },
	{ .line = "-n adaptive", IS(iters, 0) },
	{ .line = "-w 0", IS(warmup, 0) },
	{ .line = "-w steady", IS(warmup, (uint64_t)-1) },
	{ .line = "-N 0", IS(cycles, 0) },
	{ .line = "-c 0", IS(check, 0) },
	{ .line = "--check-every", IS(check_every, true) },
	{ .line = "-m 4", IS(agg_iters, 4) },
	{ .line = "-o all", IS(op_first, OP_SUM) },
	{ .line = "-o all", IS(op_last, OP_MULSUM) },
	{ .line = "-o avg", IS(op_first, OP_AVG) },
	{ .line = "-o avg", IS(op_last, OP_AVG) },
	{ .line = "-d all", IS(dtype_first, DT_INT8) },
	{ .line = "-d all", IS(dtype_last, DT_F8E5M2) },
	{ .line = "-d bfloat16", IS(dtype_last, DT_BFLOAT16) },
	{ .line = "-r all", IS(root, (uint64_t)-1), .collective = &broadcast },
	{ .line = "-r -1", IS(root, (uint64_t)-1), .collective = &reduce },
	{ .line = "-r 3 -o max", IS(root, 3), .collective = &reduce },
	{ .line = "-z 3", IS(blocking, 3) },
	{ .line = "-y 1", IS(stream_null, true) },
	{ .line = "-T 60", IS(timeout, 60) },
	{ .line = "-G 10", IS(mode, MODE_GRAPH) },
	{ .line = "-G 10", IS(graph_launches, 10) },
	{ .line = "-G 0", IS(mode, MODE_STREAM) },
	{ .line = "-G 10 --mode graph -m 4", IS(mode, MODE_GRAPH) },
	{ .line = "--mode graph", IS(graph_launches, 0) },
	{ .line = "--mode=isolated", IS(mode, MODE_ISOLATED) },
	{ .line = "-C 1", IS(cputime, true) },
	{ .line = "-S 1", IS(timestamps, true) },
	{ .line = "-a 1", IS(average, AVERAGE_MEAN) },
	{ .line = "-a 0", IS(average, AVERAGE_RANK0) },
	{ .line = "-a 2", IS(average, AVERAGE_MIN) },
	{ .line = "-a 3", IS(average, AVERAGE_MAX) },
	{ .line = "-R 2", IS(local_register, 2) },
	{ .line = "-x 0", IS(cta_policy, 0) },
	{ .line = "-D 0 -V 16", IS(device_ctas, 16) },
	{ .line = "-M 1", IS(memory_report, true) },
	{ .line = "-u 3", IS(unalign, 3) },
	{ .line = "-I 1 -K 5", IS(per_iter_skip, 5) },
	{ .line = "-p 1", IS(parallel_init, 1) },
	{ .line = "-g 8 -t 1", IS(gpus, 8) },
	{ .line = "--seed 4294967295", IS(seed, UINT32_MAX) },
	{ .line = "--share-gpu", IS(share_gpu, true) },
	{ .line = "--no-watch", IS(watch, false) },
	{ .line = "--record full", IS(record, RECORD_FULL) },
	{ .line = "--record=off", IS(record, RECORD_OFF) },
	{ .line = "--alloc cuda", IS(alloc, ALLOC_CUDA) },
	{ .line = "--nvlink-centric 0", IS(nvlink_centric, false) },
	{ .line = "--table=nccl-tests", IS(table_plain, true) },
	{ .line = "--backend mpi --alloc nccl -R 0", IS(alloc, ALLOC_NCCL) },
	{ .line = "-b 8 --", IS(min_bytes, 8) },
	{ .line = "-h", IS(help, true) },
	{ .line = "--help -e 8", IS(help, true) },
	{ .line = "--version", IS(version, true) },
	{ .line = "--version", IS(version, true), .env = "NCCL_TESTS_DEVICE=x" },
	{ .line = "", IS(device_first, 2), .env = "NCCL_TESTS_DEVICE=2" },
	{ .line = "", IS(split_kind, SPLIT_MOD), .env = "NCCL_TESTS_SPLIT=MOD 2" },
	{ .line = "", IS(split_value, 2), .env = "NCCL_TESTS_SPLIT=mod\t2" },
	{ .line = "", IS(split_kind, SPLIT_DIV), .env = "NCCL_TESTS_SPLIT=/8" },
	{ .line = "", IS(split_kind, SPLIT_OR), .env = "NCCL_TESTS_SPLIT=| 0x7" },
	{ .line = "", IS(split_value, 7), .env = "NCCL_TESTS_SPLIT=OR 0b111" },
	{ .line = "", IS(split_value, 16), .env = "NCCL_TESTS_SPLIT=& 0X10" },
	{ .line = "",
	  IS(split_kind, SPLIT_AND),
	  .env = "NCCL_TESTS_SPLIT=DIV 8;NCCL_TESTS_SPLIT_MASK=0x0f" },
	{ .line = "",
	  IS(split_value, 255),
	  .env = "NCCL_TESTS_SPLIT=DIV 8;NCCL_TESTS_SPLIT_MASK=fF" },
	{ .line = "", IS(matrix_summary, true), .env = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1" },
};

static void test_right(void)
{
	struct options options;
	struct error err;
	char buf[512];
	size_t i;

	for (i = 0; i < sizeof(right_cases) / sizeof(right_cases[0]); i++) {
		const struct right_case *c = &right_cases[i];
		uint64_t value = 0, want = c->value;
		char line[128];
		int rc;

		/* Where only one end of the sweep is given, the other must not stand in the way. */
		snprintf(line, sizeof(line), "%s%s",
			 strstr(c->line, "-e ") && !strstr(c->line, "-b") ? "-b 1 " : "", c->line);
		environment(c->env, true);
		rc = parse(&options, c->collective ? c->collective : &all_reduce, line, buf,
			   sizeof(buf), &err);
		environment(c->env, false);
		memcpy(&value, (char *)&options + c->offset, c->size);
		if (c->size < sizeof(want))
			want &= ((uint64_t)1 << 8 * c->size) - 1;
		CU_ASSERT_EQUAL(rc, 0);
		CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);
		CU_ASSERT_EQUAL(value, want);
		if (rc || value != want)
			fprintf(stderr, "\n%s: %s, %llu instead of %llu\n", c->line, err.text,
				(unsigned long long)value, (unsigned long long)want);
	}
}

static void test_text_and_reals(void)
{
	struct options o;
	struct error err;
	char buf[512];

	CU_ASSERT_EQUAL(parse(&o, &all_reduce,
			      "--out d -J a.json --expect hang:missing-call:1,3 --budget 2.5 "
			      "--ci 0.5 --backend nccl",
			      buf, sizeof(buf), &err),
			0);
	CU_ASSERT_STRING_EQUAL(o.out, "d");
	CU_ASSERT_STRING_EQUAL(o.nccl_json, "a.json");
	CU_ASSERT_STRING_EQUAL(o.expect, "hang:missing-call:1,3");
	CU_ASSERT_STRING_EQUAL(o.backend, "nccl");
	CU_ASSERT_EQUAL(o.budget, 2.5);
	CU_ASSERT_EQUAL(o.ci_percent, 0.5);
	CU_ASSERT_EQUAL(o.good, 80);
	CU_ASSERT_EQUAL(o.low, 50);
	CU_ASSERT_FALSE(o.vendor);
	CU_ASSERT_EQUAL(o.spread, 1);
	CU_ASSERT_EQUAL(o.matrix_scale, 1);
	CU_ASSERT_EQUAL(o.min_bw, 0);

	environment("NCCL_TESTS_ALLTOALLV_SPREAD=0.25;NCCL_TESTS_MIN_BW=1.5e2;NCCL_TESTS_ALLTOALLV_"
		    "MATRIX_FILE=m",
		    true);
	CU_ASSERT_EQUAL(parse(&o, &alltoallv, "--csv c --json j --completion bash", buf,
			      sizeof(buf), &err),
			0);
	CU_ASSERT_STRING_EQUAL(o.completion, "bash");
	CU_ASSERT_EQUAL(parse(&o, &alltoallv,
			      "--csv c --json j --good 92.5 --low=92.5 --vendor", buf, sizeof(buf),
			      &err),
			0);
	CU_ASSERT_EQUAL(o.good, 92.5);
	CU_ASSERT_EQUAL(o.low, 92.5);
	CU_ASSERT_TRUE(o.vendor);
	environment(
		"NCCL_TESTS_ALLTOALLV_SPREAD=;NCCL_TESTS_MIN_BW=;NCCL_TESTS_ALLTOALLV_MATRIX_FILE=",
		false);
	CU_ASSERT_STRING_EQUAL(o.csv, "c");
	CU_ASSERT_STRING_EQUAL(o.json, "j");
	CU_ASSERT_STRING_EQUAL(o.backend, "auto");
	CU_ASSERT_EQUAL(o.spread, 0.25);
	CU_ASSERT_EQUAL(o.min_bw, 150);
	CU_ASSERT_STRING_EQUAL(o.matrix_file, "m");
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
	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 2, argv, &err), -EINVAL);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
	CU_ASSERT(strlen(err.text) < 200);
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
	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 2, control, &err), -EINVAL);
	CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
	CU_ASSERT_PTR_NULL(strchr(err.text, '\033'));
}

static void test_table(void)
{
	const char *wrong = options_table_check();

	CU_ASSERT_PTR_NULL(wrong);
	if (wrong)
		fprintf(stderr, "\n%s\n", wrong);
}

static void test_mode_names(void)
{
	CU_ASSERT_STRING_EQUAL(mode_name(MODE_STREAM), "stream");
	CU_ASSERT_STRING_EQUAL(mode_name(MODE_ISOLATED), "isolated");
	CU_ASSERT_STRING_EQUAL(mode_name(MODE_GRAPH), "graph");
}

/* nccl-tests' letters and long names, as its users type them. */
static const struct {
	char letter;
	const char *name, *value; /* one that is allowed */
} kept[] = {
	{ 't', "nthreads", "2" },
	{ 'g', "ngpus", "4" },
	{ 'b', "minbytes", "8" },
	{ 'e', "maxbytes", "1G" },
	{ 'i', "stepbytes", "1M" },
	{ 'f', "stepfactor", "4" },
	{ 'n', "iters", "50" },
	{ 'm', "agg_iters", "4" },
	{ 'w', "warmup_iters", "3" },
	{ 'N', "run_cycles", "2" },
	{ 'p', "parallel_init", "1" },
	{ 'c', "check", "2" },
	{ 'o', "op", "max" },
	{ 'd', "datatype", "double" },
	{ 'r', "root", "1" },
	{ 'z', "blocking", "2" },
	{ 'y', "stream_null", "1" },
	{ 'T', "timeout", "30" },
	{ 'G', "cudagraph", "3" },
	{ 'C', "report_cputime", "1" },
	{ 'S', "report_timestamps", "1" },
	{ 'J', "output_file", "x.json" },
	{ 'a', "average", "2" },
	{ 'R', "local_register", "1" },
	{ 'x', "cta_policy", "2" },
	{ 'D', "device_implementation", "0" },
	{ 'V', "device_cta_count", "16" },
	{ 'M', "memory", "1" },
	{ 'u', "unalign", "2" },
	{ 'I', "per_iter_timing", "1" },
	{ 'K', "per_iter_skip", "0" },
	{ 'h', "help", NULL },
};

static void test_kept(void)
{
	static const char *const forms[] = { "-%c %s", "-%c%s", "--%s %s", "--%s=%s" };
	char line[128], buf[512];
	struct options o;
	struct error err;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		for (size_t f = 0; f < 4 && kept[i].value; f++) {
			const char *more = kept[i].letter == 'b' ? " -e 1G" : "";
			int n = f < 2 ? snprintf(line, sizeof(line), forms[f], kept[i].letter,
						 kept[i].value)
				      : snprintf(line, sizeof(line), forms[f], kept[i].name,
						 kept[i].value);

			snprintf(line + n, sizeof(line) - (size_t)n, "%s", more);
			CU_ASSERT_EQUAL(parse(&o, &reduce, line, buf, sizeof(buf), &err), 0);
			if (err.code)
				fprintf(stderr, "\n%s: %s\n", line, err.text);
		}
}

/* nccl-tests loses its arguments above 127. */
static void test_many_arguments(void)
{
	static char *argv[1002] = { (char *)(uintptr_t) "x_perf" };
	struct error err = { .rank = -1 };
	struct options o;

	for (int i = 1; i < 1001; i += 2) {
		argv[i] = (char *)(uintptr_t) "-b";
		argv[i + 1] = (char *)(uintptr_t)(i == 999 ? "64" : "8");
	}
	CU_ASSERT_EQUAL(options_parse(&o, &all_reduce, 1001, argv, &err), 0);
	CU_ASSERT_EQUAL(o.min_bytes, 64);
}

static char *help_text(const struct collective *collective)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	options_print_help(out, collective, "./build/x_perf");
	fclose(out);
	return text;
}

static void test_help(void)
{
	static const char *const words[] = {
		"Usage: x_perf",	 "multiplied by 2",
		"slowest rank",		 "-np",
		"Exit codes:",		 "77 this machine",
		"--share-gpu",		 "--expect=",
		"(default: 32M)",	 "bfloat16",
		"NCCL_TESTS_SPLIT_MASK", "NCCL_TESTS_ALLTOALLV_SPREAD",
		"--budget=SECONDS",	 "--completion=SHELL",
	};
	char *text = help_text(NULL), option[64];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, words[i]));
	for (i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		snprintf(option, sizeof(option), "-%c, --%s", kept[i].letter, kept[i].name);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, option));
	}
	free(text);
	text = help_text(&all_gather);
	CU_ASSERT_PTR_NULL(strstr(text, "--op="));
	CU_ASSERT_PTR_NULL(strstr(text, "--root="));
	CU_ASSERT_PTR_NULL(strstr(text, "NCCL_TESTS_ALLTOALLV_SPREAD"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "--datatype="));
	free(text);
}

/* What bash offers for words before the cursor. */
static void complete(const char *script, const char *words, int at, char *answer, int len)
{
	char command[512];
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "bash -c 'source %s; COMP_WORDS=(%s); COMP_CWORD=%d; "
		 "_hangar_x_perf; echo \"${COMPREPLY[*]}\"'",
		 script, words, at);
	answer[0] = '\0';
	pipe = popen(command, "r");
	if (pipe && !fgets(answer, len, pipe))
		answer[0] = '\0';
	if (pipe)
		CU_ASSERT_EQUAL(pclose(pipe), 0);
	answer[strcspn(answer, "\n")] = '\0';
}

static void test_completion(void)
{
	char path[UNIT_TEMP], answer[4096];
	int fd = unit_file(path);
	FILE *out = fdopen(fd, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	CU_ASSERT_EQUAL(options_print_completion(out, "zsh", "x_perf"), -EINVAL);
	CU_ASSERT_EQUAL(ftell(out), 0);
	CU_ASSERT_EQUAL(options_print_completion(out, "bash", "/opt/x_perf"), 0);
	fclose(out);
	complete(path, "x_perf --mode gr", 2, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "graph");
	complete(path, "x_perf --mode = is", 3, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "isolated");
	complete(path, "x_perf --alloc =", 2, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "nccl cuda");
	complete(path, "x_perf -d f8", 2, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "f8e4m3 f8e5m2");
	complete(path, "x_perf --run", 1, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "--run_cycles");
	complete(path, "x_perf --out di", 2, answer, sizeof(answer));
	CU_ASSERT_STRING_EQUAL(answer, "");
	unlink(path);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "numbers and --low as they are meant", test_lenient },
		{ "values that are not allowed", test_wrong_values },
		{ "words that are no option", test_wrong_words },
		{ "options that exclude each other", test_wrong_pairs },
		{ "environment variables that are not allowed", test_wrong_environments },
		{ "defaults and values", test_right },
		{ "texts and numbers", test_text_and_reals },
		{ "odd arguments", test_odd_arguments },
		{ "the table itself", test_table },
		{ "names of modes", test_mode_names },
		{ "nccl-tests' options, in every form", test_kept },
		{ "very many arguments", test_many_arguments },
		{ "help", test_help },
		{ "completion", test_completion },
	};

	/* Whoever runs the tests may have these. */
	environment(
		"NCCL_TESTS_DEVICE=;NCCL_TESTS_SPLIT=;NCCL_TESTS_SPLIT_MASK=;NCCL_TESTS_MIN_BW=;"
		"NCCL_TESTS_ALLTOALLV_SPREAD=;NCCL_TESTS_ALLTOALLV_MATRIX_FILE=;"
		"NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=;NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=",
		false);
	return unit_main("options", cases, sizeof(cases) / sizeof(cases[0]));
}
