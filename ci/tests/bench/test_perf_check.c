/* test_perf_check.c: a command line that is refused before ranks are started, and the schedule of a run with faults. */
#include "rig/unit.h"

#include "bench/perf_check.h"

UNIT_TEST(test_expect, "--expect names an outcome, and a class that a verdict can have")
{
	static const struct {
		const char *expect, *complaint; /* NULL: it is right */
	} table[] = {
		{ NULL, NULL },
		{ "ok", NULL },
		{ "hang", NULL },
		{ "hang:missing-call", NULL },
		{ "hang:missing-call:1,2", NULL },
		{ "died:rank-killed", NULL },
		{ "hang:missing-cal:1", "--expect hang:missing-cal:1: no such class" },
		{ "died:slowly", "--expect died:slowly: no such class" },
	};

	UNIT_ROWS(row, table) {
		struct options options = { .expect = row->expect };
		struct error err = { .rank = -1 };
		int rc = check_expect(&options, &err);

		UNIT_ALL(rc == (row->complaint ? -EINVAL : 0),
			 err.outcome == (row->complaint ? OUTCOME_USAGE : OUTCOME_OK));
		if (row->complaint)
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, row->complaint));
	}
}

UNIT_TEST(test_schedule, "the schedule that was asked for, else the first that a fault wants")
{
	static const struct fault plain = { .name = "a" },
				  pairs = { .name = "b", .schedule = "pairs" },
				  p2p = { .name = "c", .schedule = "p2p" };
	struct options options = { 0 };
	struct injector injector = {
		.nspecs = 3,
		.specs = { { .fault = &plain }, { .fault = &pairs }, { .fault = &p2p } }
	};
	struct program program = { .options = &options };

	CU_ASSERT_PTR_NULL(program_schedule(&program));
	program.injector = &injector;
	CU_ASSERT_STRING_EQUAL(program_schedule(&program), "pairs");
	injector.nspecs = 1;
	CU_ASSERT_PTR_NULL(program_schedule(&program));
	injector.nspecs = 3;
	options.schedule = "halves";
	CU_ASSERT_STRING_EQUAL(program_schedule(&program), "halves");
}

/* check_start of broadcast_perf with this command line on so many ranks. */
static int start(const char *line, int ranks, struct error *err)
{
	const struct option_target target = collective_target(&broadcast);
	struct options options;
	struct program program = { .name = "x_perf",
				   .options = &options,
				   .collective = &broadcast };
	char words[256], *argv[32] = { (char *)(uintptr_t) "x_perf" }, *save = NULL;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	*err = (struct error){ .rank = -1 };
	CU_ASSERT_EQUAL_FATAL(options_parse(&options, &target, argc, argv, err), 0);
	return check_start(&program, ranks, err);
}

UNIT_TEST(test_start, "what the ranks would find out later")
{
	static const struct {
		const char *line;
		int ranks;
		const char *complaint; /* NULL: it is right */
	} table[] = {
		{ "-b 1K -e 1K", 2, NULL },
		{ "-b 1K -e 1K -r 2", 3, NULL },
		{ "-b 1K -e 1K -r 2", 2, "-r 2" },
		{ "-b 1M -e 1M --fault=none", 2, NULL },
		{ "-b 1K -e 1K --fault=none", 2, "too small for a schedule" },
		{ "-b 1M -e 1M --fault=none --schedule=ring", 3, NULL },
		{ "-b 1M -e 1M --fault=none --schedule=ring", 2, "ring" },
		{ "-b 1K -e 1K --topo /nowhere.xml", 2, "/nowhere.xml" },
		{ "-b 1K -e 1K --csv /nowhere/a.csv", 2, "/nowhere/a.csv" },
	};

	UNIT_ROWS(row, table) {
		struct error err;
		int rc = start(row->line, row->ranks, &err);

		CU_ASSERT_EQUAL(rc < 0, row->complaint != NULL);
		CU_ASSERT_EQUAL(err.outcome, row->complaint ? OUTCOME_USAGE : OUTCOME_OK);
		if (row->complaint)
			CU_ASSERT_PTR_NOT_NULL(strstr(err.text, row->complaint));
		if (row->complaint && !strstr(err.text, row->complaint))
			printf(" %s: %s", row->line, err.text);
	}
}
