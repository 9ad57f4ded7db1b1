/* test_outcome.c: names, precedence of every pair, and what --expect accepts and decides. */
#include "base/outcome.h"

#include "rig/unit.h"

/* As in README.md, from the strongest to the weakest. */
static const struct {
	int code;
	const char *name;
} order[] = {
	{ 2, "usage" },	    { 1, "internal" },	 { 77, "unsupported" }, { 20, "not-fired" },
	{ 14, "died" },	    { 11, "error" },	 { 10, "hang" },	{ 12, "wrong-data" },
	{ 16, "diverged" }, { 15, "slow-rank" }, { 13, "slow" },	{ 0, "ok" },
};

enum { COUNT = LENGTH(order) };

UNIT_TEST(test_names, "names")
{
	int i;

	for (i = 0; i < COUNT; i++) {
		CU_ASSERT_STRING_EQUAL(outcome_name((enum outcome)order[i].code), order[i].name);
		CU_ASSERT_EQUAL(outcome_parse(order[i].name), order[i].code);
		CU_ASSERT_EQUAL(expect_check(order[i].name), 0);
	}
	UNIT_ALL(!strcmp(outcome_name((enum outcome)99), "unknown"), outcome_parse("") == -EINVAL,
		 outcome_parse("Hang") == -EINVAL, outcome_parse("hang ") == -EINVAL,
		 outcome_parse("10") == -EINVAL, outcome_parse("unknown") == -EINVAL);
}

UNIT_TEST(test_precedence, "precedence of all pairs")
{
	int i, j;

	for (i = 0; i < COUNT; i++) {
		for (j = 0; j < COUNT; j++) {
			enum outcome a = (enum outcome)order[i].code,
				     b = (enum outcome)order[j].code;

			CU_ASSERT_EQUAL(outcome_worse(a, b), i <= j ? a : b);
		}
	}
}

UNIT_TEST(test_grammar, "grammar of --expect")
{
	static const char *const good[] = { "hang:missing-call",     "hang:missing-call:3",
					    "hang:missing-call:1,3", "hang:missing-call:3,1",
					    "died:oom2:0",	     "slow:x:999999999",
					    "slow-rank:1",	     "hang:3,1" };
	static const char *const bad[] = { "ok:x",
					   "ok:1",
					   "",
					   ":",
					   "hang:",
					   "hang::",
					   "hang::3",
					   "hang:missing-call:",
					   "hang:missing-call:,",
					   "hang:missing-call:1,",
					   "hang:missing-call:,1",
					   "hang:missing-call:1,,3",
					   "hang:missing-call:1 3",
					   "hang:missing-call: 1",
					   "hang:missing-call:-1",
					   "hang:missing-call:+1",
					   "hang:missing-call:1-3",
					   "hang:missing-call:1:2",
					   "hang:missing-call:x",
					   "hang:missing-call:1000000000",
					   "hang:missing-call:99999999999999999999999999999",
					   "hang:Missing-Call",
					   "hang:missing call",
					   "hang:missing_call",
					   "hang,died",
					   "bang",
					   "averyveryverylongoutcomethatnobodyknows:x",
					   "77" };

	for (size_t i = 0; i < LENGTH(good); i++)
		CU_ASSERT_EQUAL(expect_check(good[i]), 0);
	for (size_t i = 0; i < LENGTH(bad); i++) {
		CU_ASSERT_EQUAL(expect_check(bad[i]), -EINVAL);
		if (expect_check(bad[i]) != -EINVAL)
			fprintf(stderr, "\n%s\n", bad[i]);
	}
}

UNIT_TEST(test_class, "the class in --expect")
{
	static const struct {
		const char *spec, *class;
	} cases[] = {
		{ "hang", "" },
		{ "hang:missing-call", "missing-call" },
		{ "died:rank-killed:1,3", "rank-killed" },
		{ "hang:a-name-for-which-there-is-no-room", "a-name-for-w" },
	};
	char buf[13];

	UNIT_ROWS(c, cases)
		CU_ASSERT_STRING_EQUAL(expect_class(c->spec, buf, sizeof(buf)), c->class);
}

UNIT_TEST(test_exit_code, "exit codes")
{
	static const struct {
		const char *spec;
		enum outcome outcome;
		const char *class, *ranks;
		int code;
	} cases[] = {
		{ NULL, OUTCOME_OK, "", "", 0 },
		{ NULL, OUTCOME_HANG, "missing-call", "3", 10 },
		{ NULL, OUTCOME_UNSUPPORTED, "", "", 77 },
		{ "ok", OUTCOME_OK, "", "", 0 },
		{ "ok", OUTCOME_HANG, "missing-call", "3", 1 },
		{ "hang", OUTCOME_OK, "", "", 1 },
		{ "hang", OUTCOME_HANG, "", "", 0 },
		{ "hang", OUTCOME_HANG, "missing-call", "3", 0 },
		{ "hang:missing-call", OUTCOME_HANG, "missing-call", "3", 0 },
		{ "hang:missing-call", OUTCOME_HANG, "missing", "3", 1 },
		{ "hang:missing", OUTCOME_HANG, "missing-call", "3", 1 },
		{ "hang:missing-call", OUTCOME_HANG, "", "", 1 },
		{ "hang:missing-call", OUTCOME_DIED, "missing-call", "3", 1 },
		{ "hang:missing-call:3", OUTCOME_HANG, "missing-call", "3", 0 },
		{ "hang:missing-call:3", OUTCOME_HANG, "missing-call", "13", 1 },
		{ "hang:missing-call:3", OUTCOME_HANG, "missing-call", "1,3", 1 },
		{ "hang:missing-call:1,3", OUTCOME_HANG, "missing-call", "3", 1 },
		{ "hang:missing-call:1,3", OUTCOME_HANG, "missing-call", "1,3", 0 },
		{ "hang:3", OUTCOME_HANG, "missing-call", "3", 0 },
		{ "slow-rank:1", OUTCOME_SLOW_RANK, "slow-rank", "3", 1 },
		{ "hang:missing-call:3,1", OUTCOME_HANG, "missing-call", "1,3", 0 },
		{ "hang:missing-call:3", OUTCOME_HANG, "missing-call", "", 1 },
		{ "hang:missing-call:3", OUTCOME_HANG, "missing-call", "3,x", 1 },
		{ "hang", OUTCOME_USAGE, "", "", 2 },
		{ "hang", OUTCOME_UNSUPPORTED, "", "", 77 },
		{ "hang", OUTCOME_INTERNAL, "", "", 1 },
		{ "hang", OUTCOME_NOT_FIRED, "", "", 1 },
		{ "usage", OUTCOME_USAGE, "", "", 0 },
		{ "unsupported", OUTCOME_UNSUPPORTED, "", "", 0 },
		{ "internal", OUTCOME_INTERNAL, "", "", 0 },
		{ "not-fired", OUTCOME_NOT_FIRED, "", "", 0 },
		{ "bang", OUTCOME_OK, "", "", 1 },
	};
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		int code = expect_exit_code(cases[i].spec, cases[i].outcome, cases[i].class,
					    cases[i].ranks);

		CU_ASSERT_EQUAL(code, cases[i].code);
		if (code != cases[i].code)
			fprintf(stderr, "\ncase %zu: %d\n", i, code);
	}
}
