/* test_options.c: valid command lines and environments and their effects; help. */
#include "options_line.h"

#include "options/options_table.h"

/* Numbers without a leading zero; --low follows a --good below it, unless it is set. */
UNIT_TEST(test_lenient, "numbers and --low as they are meant")
{
	struct options o;
	struct error err;
	char buf[256];

	UNIT_ALL(line_parse(&o, &all_reduce, "--budget .05 -b .5K -e 1K --good 1", buf, sizeof(buf),
			    &err) == 0,
		 o.budget == .05, o.min_bytes == 512, o.good == 1, o.low == 1,
		 line_parse(&o, &all_reduce, "--good 60", buf, sizeof(buf), &err) == 0, o.low == 50,
		 line_parse(&o, &all_reduce, "--good 1 --low 2", buf, sizeof(buf), &err) < 0,
		 strstr(err.text, "--low 2: must be at most --good") != NULL);
}

/* A field and its expected value; sizes are sizeof of the field, values compared as numbers. */
#define IS(field, number)                                                                          \
	{                                                                                          \
		offsetof(struct options, field), sizeof(((struct options *)0)->field),             \
			(uint64_t)(number)                                                         \
	}

struct right_case {
	const char *line;
	struct {
		size_t offset, size;
		uint64_t value; /* its low `size` bytes */
	} is[32];
	const struct option_target *collective;
	const char *env;
};

static const struct right_case right_cases[] = {
	{ "",
	  { IS(min_bytes, 32 << 20), IS(max_bytes, 32 << 20), IS(step_factor, 2), IS(align, 16) } },
	{ "",
	  { IS(gpus, 0), IS(threads, 0), IS(device_first, (uint64_t)-1),
	    IS(split_kind, SPLIT_NONE) } },
	{ "",
	  { IS(mode, MODE_STREAM), IS(dtype_first, DT_FLOAT), IS(dtype_last, DT_FLOAT),
	    IS(op_first, OP_SUM) } },
	{ "", { IS(op_last, OP_SUM), IS(root, 0), IS(iters, 0), IS(warmup, (uint64_t)-1) } },
	{ "", { IS(agg_iters, 1), IS(cycles, 1), IS(check, 1), IS(check_every, false) } },
	{ "",
	  { IS(seed, 1), IS(average, AVERAGE_MAX), IS(cta_policy, (uint64_t)-1),
	    IS(alloc, ALLOC_NCCL) } },
	{ "",
	  { IS(nvlink_centric, true), IS(record, RECORD_CALLS), IS(watch, true),
	    IS(table, TABLE_HANGAR) } },
	{ "", { IS(out, 0), IS(expect, 0) } },
	{ "-b 8", { IS(min_bytes, 8) } },
	{ "-b8", { IS(min_bytes, 8) } },
	{ "--minbytes=8", { IS(min_bytes, 8) } },
	{ "--minbytes 8", { IS(min_bytes, 8) } },
	{ "--minb 8", { IS(min_bytes, 8) } },
	{ "-b 1.5M", { IS(min_bytes, 3 << 19) } },
	{ "-b 1.50K", { IS(min_bytes, 1536) } },
	{ "-b 2k", { IS(min_bytes, 2048) } },
	{ "-b 2KB", { IS(min_bytes, 2048) } },
	{ "-b 2KiB", { IS(min_bytes, 2048) } },
	{ "-b 2kib", { IS(min_bytes, 2048) } },
	{ "-e 1G", { IS(max_bytes, 1 << 30) } },
	{ "-e 2T", { IS(max_bytes, (uint64_t)2 << 40) } },
	{ "-e 16777215T", { IS(max_bytes, (uint64_t)16777215 << 40) } },
	{ "-e 18446744073709551615", { IS(max_bytes, UINT64_MAX) } },
	{ "-b 8 -b 16", { IS(min_bytes, 16) } },
	{ "-i 2M", { IS(step_bytes, 2 << 20), IS(step_factor, 0) } },
	{ "-f 4", { IS(step_factor, 4) } },
	{ "-n 20", { IS(iters, 20) } },
	{ "-n adaptive", { IS(iters, 0) } },
	{ "-w 0", { IS(warmup, 0) } },
	{ "-w steady", { IS(warmup, (uint64_t)-1) } },
	{ "-N 0", { IS(cycles, 0) } },
	{ "-c 0", { IS(check, 0) } },
	{ "--check-every", { IS(check_every, true) } },
	{ "--like-nccl-tests",
	  { IS(like_nccl_tests, true), IS(iters, 20), IS(warmup, 1), IS(average, AVERAGE_MEAN) } },
	{ "-n 9 --like-nccl-tests", { IS(iters, 9) } },
	{ "-w 5 --like-nccl-tests", { IS(warmup, 5) } },
	{ "--like-nccl-tests -a 3", { IS(average, AVERAGE_MAX) } },
	{ "-m 4", { IS(agg_iters, 4) } },
	{ "-o all", { IS(op_first, OP_SUM), IS(op_last, OP_MULSUM) } },
	{ "-o avg", { IS(op_first, OP_AVG), IS(op_last, OP_AVG) } },
	{ "-d all", { IS(dtype_first, DT_INT8), IS(dtype_last, DT_F8E5M2) } },
	{ "-d bfloat16", { IS(dtype_last, DT_BFLOAT16) } },
	{ "-r all", { IS(root, (uint64_t)-1) }, .collective = &broadcast },
	{ "-r -1", { IS(root, (uint64_t)-1) }, .collective = &reduce },
	{ "-r 3 -o max", { IS(root, 3) }, .collective = &reduce },
	{ "-z 3", { IS(blocking, 3) } },
	{ "-y 1", { IS(stream_null, true) } },
	{ "-T 60", { IS(timeout, 60) } },
	{ "-G 10", { IS(mode, MODE_GRAPH), IS(graph_launches, 10) } },
	{ "-G 0", { IS(mode, MODE_STREAM) } },
	{ "-G 10 --mode graph -m 4", { IS(mode, MODE_GRAPH) } },
	{ "--mode graph", { IS(graph_launches, 0) } },
	{ "--mode=isolated", { IS(mode, MODE_ISOLATED) } },
	{ "-C 1", { IS(cputime, true) } },
	{ "-S 1", { IS(timestamps, true) } },
	{ "-a 1", { IS(average, AVERAGE_MEAN) } },
	{ "-a 0", { IS(average, AVERAGE_RANK0) } },
	{ "-a 2", { IS(average, AVERAGE_MIN) } },
	{ "-a 3", { IS(average, AVERAGE_MAX) } },
	{ "-R 2", { IS(local_register, 2) } },
	{ "-x 0", { IS(cta_policy, 0) } },
	{ "-D 0 -V 16", { IS(device_ctas, 16) } },
	{ "-M 1", { IS(memory_report, true) } },
	{ "-u 3", { IS(unalign, 3) } },
	{ "-I 1 -K 5", { IS(per_iter_skip, 5) } },
	{ "-p 1", { IS(parallel_init, 1) } },
	{ "-g 8 -t 1", { IS(gpus, 8) } },
	{ "--seed 4294967295", { IS(seed, UINT32_MAX) } },
	{ "--share-gpu", { IS(share_gpu, true) } },
	{ "--no-watch", { IS(watch, false) } },
	{ "--record full", { IS(record, RECORD_FULL) } },
	{ "--record=off", { IS(record, RECORD_OFF) } },
	{ "--alloc cuda", { IS(alloc, ALLOC_CUDA) } },
	{ "--nvlink-centric 0", { IS(nvlink_centric, false) } },
	{ "--table=nccl-tests", { IS(table, TABLE_NCCL_TESTS) } },
	{ "--table nccl-tests", { IS(table, TABLE_NCCL_TESTS) } },
	{ "--backend mpi --alloc nccl -R 0", { IS(alloc, ALLOC_NCCL) } },
	{ "-b 8 --", { IS(min_bytes, 8) } },
	{ "-h", { IS(help, true) } },
	{ "--list-faults -b 8", { IS(min_bytes, 8) } },
	{ "--help -e 8", { IS(help, true) } },
	{ "--version", { IS(version, true) } },
	{ "--version", { IS(version, true) }, .env = "NCCL_TESTS_DEVICE=x" },
	{ "", { IS(device_first, 2) }, .env = "NCCL_TESTS_DEVICE=2" },
	{ "", { IS(split_kind, SPLIT_MOD) }, .env = "NCCL_TESTS_SPLIT=MOD 2" },
	{ "", { IS(split_value, 2) }, .env = "NCCL_TESTS_SPLIT=mod\t2" },
	{ "", { IS(split_kind, SPLIT_DIV) }, .env = "NCCL_TESTS_SPLIT=/8" },
	{ "", { IS(split_kind, SPLIT_OR) }, .env = "NCCL_TESTS_SPLIT=| 0x7" },
	{ "", { IS(split_value, 7) }, .env = "NCCL_TESTS_SPLIT=OR 0b111" },
	{ "", { IS(split_value, 16) }, .env = "NCCL_TESTS_SPLIT=& 0X10" },
	{ "",
	  { IS(split_kind, SPLIT_AND) },
	  .env = "NCCL_TESTS_SPLIT=DIV 8;NCCL_TESTS_SPLIT_MASK=0x0f" },
	{ "", { IS(split_value, 255) }, .env = "NCCL_TESTS_SPLIT=DIV 8;NCCL_TESTS_SPLIT_MASK=fF" },
	{ "", { IS(matrix_summary, true) }, .env = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1" },
};

UNIT_TEST(test_right, "defaults and values")
{
	struct options options;
	struct error err;
	char buf[512];
	size_t i;

	for (i = 0; i < LENGTH(right_cases); i++) {
		const struct right_case *c = &right_cases[i];
		char line[128];
		int rc;

		/* With only one end of the sweep set, the other must not be in the way. */
		snprintf(line, sizeof(line), "%s%s",
			 strstr(c->line, "-e ") && !strstr(c->line, "-b") ? "-b 1 " : "", c->line);
		line_environment(c->env, true);
		rc = line_parse(&options, c->collective ? c->collective : &all_reduce, line, buf,
				sizeof(buf), &err);
		line_environment(c->env, false);
		UNIT_ALL(rc == 0, err.outcome == OUTCOME_OK);
		for (int k = 0; c->is[k].size > 0; k++) {
			size_t size = c->is[k].size;
			uint64_t value = 0, want = c->is[k].value & UINT64_MAX >> (64 - 8 * size);

			memcpy(&value, (char *)&options + c->is[k].offset, size);
			CU_ASSERT_EQUAL(value, want);
			if (rc || value != want)
				fprintf(stderr, "\n%s: %s, %llu instead of %llu\n", c->line,
					err.text, (unsigned long long)value,
					(unsigned long long)want);
		}
	}
}

UNIT_TEST(test_text_and_reals, "texts and numbers")
{
	struct options o;
	struct error err;
	char buf[512];

	UNIT_ALL(line_parse(&o, &all_reduce,
			    "--out d -J a.json --expect hang:missing-call:1,3 --budget 2.5 "
			    "--ci 0.5 --backend nccl",
			    buf, sizeof(buf), &err) == 0,
		 !strcmp(o.out, "d"), !strcmp(o.nccl_json, "a.json"),
		 !strcmp(o.expect, "hang:missing-call:1,3"), !strcmp(o.backend, "nccl"),
		 o.budget == 2.5, o.ci_percent == 0.5, o.good == 80, o.low == 50, o.spread == 1,
		 o.matrix_scale == 1, o.min_bw == 0);

	line_environment(
		"NCCL_TESTS_ALLTOALLV_SPREAD=0.25;NCCL_TESTS_MIN_BW=1.5e2;NCCL_TESTS_ALLTOALLV_"
		"MATRIX_FILE=m",
		true);
	UNIT_ALL(line_parse(&o, &alltoallv, "--csv c --json j --good 92.5 --low=92.5", buf,
			    sizeof(buf), &err) == 0,
		 o.good == 92.5, o.low == 92.5);
	line_environment(
		"NCCL_TESTS_ALLTOALLV_SPREAD=;NCCL_TESTS_MIN_BW=;NCCL_TESTS_ALLTOALLV_MATRIX_FILE=",
		false);
	UNIT_ALL(!strcmp(o.csv, "c"), !strcmp(o.json, "j"), !strcmp(o.backend, "auto"),
		 o.spread == 0.25, o.min_bw == 150, !strcmp(o.matrix_file, "m"));
}

/* A row accepts its own words, default and flag. */
static bool values_allowed(const struct option_row *row)
{
	struct options scratch = { 0 };

	for (int i = 0; row->words && row->words[i]; i++)
		if (option_parse(row, row->words[i], &scratch) < 0)
			return false;
	return (!row->initial || option_parse(row, row->initial, &scratch) == 0) &&
	       (!row->flag || option_parse(row, row->flag, &scratch) == 0);
}

UNIT_TEST(test_table, "the table itself")
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char text[OPTION_TEXT_MAX];

		UNIT_ALL(*option_help(row, text, sizeof(text)) != '\0',
			 row->min <= row->max && row->agree != AGREE_UNDECIDED,
			 option_group_titles[row->group] != NULL,
			 row->env == (row->group == GROUP_ENVIRONMENT),
			 row->env ? !row->letter && !row->arg && !row->flag : row->arg || row->flag,
			 values_allowed(row));
		for (size_t j = 0; j < i; j++)
			CU_ASSERT_TRUE(strcmp(row->name, option_rows[j].name) != 0 &&
				       (!row->letter || row->letter != option_rows[j].letter));
	}
}

/* The words of ranges are the names of the values in order. */
UNIT_TEST(test_ranges, "types and operators")
{
	const char *const *types = option_rows[option_find("datatype")].words;
	const char *const *operators = option_rows[option_find("op")].words;

	for (int i = 0; i < DT_COUNT; i++)
		CU_ASSERT_STRING_EQUAL(types[i], dtype_name((enum dtype)i));
	for (int i = 0; i < OP_COUNT; i++)
		CU_ASSERT_STRING_EQUAL(operators[i], redop_name((enum redop)i));
	UNIT_ALL(!strcmp(types[DT_COUNT], "all"), !strcmp(operators[OP_COUNT], "all"));
}

UNIT_TEST(test_mode_names, "names of modes")
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

UNIT_TEST(test_kept, "nccl-tests' options, in every form")
{
	static const char *const forms[] = { "-%c %s", "-%c%s", "--%s %s", "--%s=%s" };
	char line[128], buf[512];
	struct options o;
	struct error err;

	UNIT_ROWS(row, kept)
		for (size_t f = 0; f < 4 && row->value; f++) {
			const char *more = row->letter == 'b' ? " -e 1G" : "";
			int n = f < 2 ? snprintf(line, sizeof(line), forms[f], row->letter,
						 row->value)
				      : snprintf(line, sizeof(line), forms[f], row->name,
						 row->value);

			snprintf(line + n, sizeof(line) - (size_t)n, "%s", more);
			CU_ASSERT_EQUAL(line_parse(&o, &reduce, line, buf, sizeof(buf), &err), 0);
			if (err.code)
				fprintf(stderr, "\n%s: %s\n", line, err.text);
		}
}

/* nccl-tests loses its arguments above 127. */
UNIT_TEST(test_many_arguments, "very many arguments")
{
	static char *argv[1002] = { (char *)(uintptr_t) "x_perf" };
	struct error err = { .rank = -1 };
	struct options o;

	for (int i = 1; i < 1001; i += 2) {
		argv[i] = (char *)(uintptr_t) "-b";
		argv[i + 1] = (char *)(uintptr_t)(i == 999 ? "64" : "8");
	}
	UNIT_ALL(options_parse(&o, &all_reduce, 1001, argv, &err) == 0, o.min_bytes == 64);
}

static char *help_text(const struct option_target *collective)
{
	return UNIT_PRINTED(out, options_print_help(out, collective, "./build/x_perf"));
}

UNIT_TEST(test_help, "help")
{
	static const char *const words[] = {
		"Usage: x_perf",	 "multiplied by 2",
		"slowest rank",		 "-np",
		"Exit codes:",		 "77 this machine",
		"--share-gpu",		 "--expect=",
		"(default: 32M)",	 "bfloat16",
		"NCCL_TESTS_SPLIT_MASK", "NCCL_TESTS_ALLTOALLV_SPREAD",
		"--budget=SECONDS",	 "--list-faults",
	};
	char *text = help_text(NULL), option[64];
	size_t i;

	for (i = 0; i < LENGTH(words); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, words[i]));
	for (i = 0; i < LENGTH(kept); i++) {
		snprintf(option, sizeof(option), "-%c, --%s", kept[i].letter, kept[i].name);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, option));
	}
	free(text);
	text = help_text(&all_gather);
	UNIT_ALL(strstr(text, "--op=") == NULL, strstr(text, "--root=") == NULL,
		 strstr(text, "NCCL_TESTS_ALLTOALLV_SPREAD") == NULL,
		 strstr(text, "--datatype=") != NULL,
		 strstr(text, "Measures all_gather over") != NULL);
	free(text);
}

/* In the order of a reader, in 80 columns; each program has its own options, and no empty group. */
UNIT_TEST(test_help_order, "help: order, width and program")
{
	static const char *const order[] = {
		"\nSizes:",   "-b, --",	   "-e, --",	     "-f, --",	   "\nProcesses",
		"-g, --",     "\nCalls:",  "\nRepetitions:", "-n, --",	   "\nFaults",
		"--fault=",   "--list-",   "\nReport:",	     "--out=",	   "--csv=",
		"\nCommunic", "\nEnviron", "\nAbout:",	     "-h, --help", "\nExit codes",
	};
	static const char *const alien[] = { "--minbytes", "--fault",	      "--list-faults",
					     "--datatype", "--iters",	      "Repetitions:",
					     "--good",	   "NCCL_TESTS_SPLIT" };
	char *text = help_text(&all_reduce), *at = text;

	for (size_t i = 0; i < LENGTH(order) && at; i++) {
		at = strstr(at, order[i]);
		CU_ASSERT_PTR_NOT_NULL(at);
	}
	CU_ASSERT_PTR_NULL(strstr(text, "--spec"));
	for (at = text; *at; at += strspn(at, "\n")) {
		size_t len = strcspn(at, "\n");

		CU_ASSERT_TRUE(len < 80);
		at += len;
	}
	free(text);
	text = help_text(&p2p_matrix);
	for (size_t i = 0; i < LENGTH(alien); i++)
		CU_ASSERT_PTR_NULL(strstr(text, alien[i]));
	UNIT_ALL(strstr(text, "every pair of ranks") != NULL, strstr(text, "--spec=FILE") != NULL,
		 strstr(text, "-e, --maxbytes=SIZE") != NULL);
	free(text);
}

UNIT_MAIN(options_main())
