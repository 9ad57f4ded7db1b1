/* outcome.c: outcomes as words and exit codes, and --expect. */
#include "base/outcome.h"

#include <regex.h>

#include "base/rank_list.h"

/* Order of precedence: an outcome hides all those below it. */
static const struct {
	enum outcome outcome;
	const char *name;
} outcomes[] = {
	{ OUTCOME_USAGE, "usage" },
	{ OUTCOME_INTERNAL, "internal" },
	{ OUTCOME_UNSUPPORTED, "unsupported" },
	{ OUTCOME_NOT_FIRED, "not-fired" },
	{ OUTCOME_DIED, "died" },
	{ OUTCOME_ERROR, "error" },
	{ OUTCOME_HANG, "hang" },
	{ OUTCOME_WRONG_DATA, "wrong-data" },
	{ OUTCOME_DIVERGED, "diverged" },
	{ OUTCOME_SLOW_RANK, "slow-rank" },
	{ OUTCOME_SLOW, "slow" },
	{ OUTCOME_OK, "ok" },
};

enum { OUTCOMES = LENGTH(outcomes) };

/* An unknown value ranks first and has no name. */
static int place(enum outcome outcome)
{
	int i;

	for (i = 0; i < OUTCOMES; i++) {
		if (outcomes[i].outcome == outcome)
			return i;
	}
	return -1;
}

const char *outcome_name(enum outcome outcome)
{
	int i = place(outcome);

	return i < 0 ? "unknown" : outcomes[i].name;
}

int outcome_parse(const char *name)
{
	int i;

	for (i = 0; i < OUTCOMES; i++) {
		if (strcmp(outcomes[i].name, name) == 0)
			return outcomes[i].outcome;
	}
	return -EINVAL;
}

enum outcome outcome_worse(enum outcome a, enum outcome b)
{
	return place(a) <= place(b) ? a : b;
}

/* A parsed --expect spec; pointers into its text. */
struct expectation {
	int outcome;
	const char *class;
	size_t class_len;  /* 0: any */
	const char *ranks; /* "": any */
};

static bool ranks_within(const char *a, const char *b)
{
	while (isdigit((unsigned char)*a) && rank_list_has(b, atoi(a))) {
		a += strcspn(a, ",");
		if (!*a++)
			return true;
	}
	return false;
}

static int expect_parse(const char *spec, struct expectation *expected)
{
	static const char grammar[] =
		"^([a-z-]{1,15})(:([a-z][a-z0-9-]*))?(:([0-9]{1,9}(,[0-9]{1,9})*))?$";
	regmatch_t part[6]; /* 1: outcome, 3: class, 5: ranks */
	char name[16];
	regex_t regex;
	bool fits;

	*expected = (struct expectation){ .class = "", .ranks = "" };
	if (regcomp(&regex, grammar, REG_EXTENDED) != 0)
		return -EINVAL;
	fits = regexec(&regex, spec, 6, part, 0) == 0;
	regfree(&regex);
	if (!fits)
		return -EINVAL;
	snprintf(name, sizeof(name), "%.*s", (int)part[1].rm_eo, spec);
	expected->outcome = outcome_parse(name);
	if (part[3].rm_so >= 0) {
		expected->class = spec + part[3].rm_so;
		expected->class_len = (size_t)(part[3].rm_eo - part[3].rm_so);
	}
	if (part[5].rm_so >= 0)
		expected->ranks = spec + part[5].rm_so;
	if (expected->outcome < 0 ||
	    (expected->outcome == OUTCOME_OK && (expected->class_len || *expected->ranks)))
		return -EINVAL; /* "ok" has no class and no ranks */
	return 0;
}

int expect_check(const char *spec)
{
	struct expectation expected;

	return expect_parse(spec, &expected);
}

char *expect_class(const char *spec, char *buf, size_t len)
{
	struct expectation expected = { .class = "" };

	expect_parse(spec, &expected);
	snprintf(buf, len, "%.*s", (int)expected.class_len, expected.class);
	return buf;
}

static bool expect_matches(const struct expectation *expected, enum outcome outcome,
			   const char *class, const char *ranks)
{
	if ((enum outcome)expected->outcome != outcome)
		return false;
	if (expected->class_len && (strlen(class) != expected->class_len ||
				    memcmp(class, expected->class, expected->class_len) != 0))
		return false;
	/* Ranks compare as sets: the order in a list has no meaning. */
	return !*expected->ranks ||
	       (ranks_within(expected->ranks, ranks) && ranks_within(ranks, expected->ranks));
}

int expect_exit_code(const char *spec, enum outcome outcome, const char *class, const char *ranks)
{
	struct expectation expected;

	if (!spec)
		return outcome;
	if (expect_parse(spec, &expected) == 0 && expect_matches(&expected, outcome, class, ranks))
		return 0;
	if (outcome == OUTCOME_USAGE || outcome == OUTCOME_UNSUPPORTED)
		return outcome;
	return 1;
}
