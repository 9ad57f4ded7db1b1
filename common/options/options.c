/* options.c: command line and environment into struct options, by argp and the table. */
#include "options/options.h"

#include <argp.h>

#include "options/options_table.h"

/* argp's key of a row without letter: above all characters. */
enum { KEY_BASE = 0x100 };

const char *mode_name(enum mode mode)
{
	static const char *const names[] = {
		[MODE_STREAM] = "stream",
		[MODE_ISOLATED] = "isolated",
		[MODE_GRAPH] = "graph",
	};

	return names[mode];
}

static int row_of_key(int key)
{
	size_t i;

	if (key >= KEY_BASE)
		return key - KEY_BASE;
	for (i = 0; key > 0 && i < option_row_count; i++) {
		if (option_rows[i].letter == key)
			return (int)i;
	}
	return -1;
}

struct command_line {
	struct option_set *set;
	int at; /* index of the element that argp reads next: the culprit when it fails */
};

/* Called by argp for everything it finds. */
static error_t take_argument(int key, char *arg, struct argp_state *state)
{
	struct command_line *line = state->input;
	int row;

	if (key == ARGP_KEY_ARG) {
		error_set(line->set->err, OUTCOME_USAGE, -EINVAL,
			  "'%.60s': must be an option; there are no other arguments", arg);
		return EINVAL;
	}
	row = key < KEY_BASE + (int)option_row_count ? row_of_key(key) : -1;
	if (row < 0)
		return ARGP_ERR_UNKNOWN;
	line->at = state->next;
	return -option_take(line->set, row, arg ? arg : option_rows[row].flag);
}

/* Long options that begin with these `len` characters; *row is one of them, the exact one if
 * there is one. */
static int count_long(const char *name, size_t len, const struct option_row **row)
{
	size_t i;
	int n = 0;

	for (i = 0; i < option_row_count; i++) {
		if (option_rows[i].env || strncmp(option_rows[i].name, name, len) != 0)
			continue;
		*row = &option_rows[i];
		if (option_rows[i].name[len] == '\0')
			return 1;
		n++;
	}
	return n;
}

static int explain_long(struct error *err, const char *text)
{
	size_t len = strcspn(text + 2, "=");
	const struct option_row *row = NULL;
	const char *why = "unknown option; --help lists all";
	int n = count_long(text + 2, len, &row);

	if (n > 1)
		why = "begins several options; must be the whole name of one";
	else if (n == 1)
		why = row->arg ? "must be followed by a value" : "takes no value";
	return error_set(err, OUTCOME_USAGE, -EINVAL, "%.60s: %s", text, why);
}

static int explain_short(struct error *err, const char *text)
{
	int row;

	/* -hq: the letters before the culprit are options without value. */
	do
		row = row_of_key((unsigned char)*++text);
	while (row >= 0 && !option_rows[row].arg && text[1]);
	return error_set(err, OUTCOME_USAGE, -EINVAL, "-%c: %s", *text,
			 row < 0 ? "unknown option; --help lists all"
				 : "must be followed by a value");
}

/* argp is told to be silent and then doesn't say what it refused. */
static int explain(const struct command_line *line, int argc, char **argv, int rc)
{
	struct error *err = line->set->err;
	const char *text = line->at < argc ? argv[line->at] : "";

	if (err->outcome != OUTCOME_OK)
		return err->code;
	if (strncmp(text, "--", 2) == 0)
		return explain_long(err, text);
	if (text[0] == '-')
		return explain_short(err, text);
	return error_set(err, OUTCOME_INTERNAL, -rc, "the command line can't be parsed: %s",
			 strerror(rc));
}

static int parse_command_line(struct option_set *set, int argc, char **argv)
{
	struct argp_option options[OPTION_ROWS_MAX + 1] = { 0 };
	const struct argp argp = { .options = options, .parser = take_argument };
	struct command_line line = { .set = set, .at = 1 };
	char **copy; /* argp may change the order */
	size_t i, n = 0;
	int rc;

	for (i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->env)
			options[n++] =
				(struct argp_option){ .name = row->name,
						      .arg = row->arg,
						      .key = row->letter ? row->letter
									 : KEY_BASE + (int)i };
	}
	copy = must(calloc((size_t)argc + 1, sizeof(*copy)));
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	rc = argp_parse(&argp, argc, copy,
			ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_IN_ORDER, NULL, &line);
	if (rc)
		rc = explain(&line, argc, argv, rc);
	free(copy);
	return rc;
}

static int parse_environment(struct option_set *set)
{
	size_t i;

	for (i = 0; i < option_row_count; i++) {
		const char *text = option_rows[i].env ? getenv(option_rows[i].name) : NULL;
		int rc = text ? option_take(set, (int)i, text) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

int options_parse(struct options *options, const struct option_target *target, int argc,
		  char **argv, struct error *err)
{
	struct option_set set = { .options = options, .target = target, .err = err };
	int rc;

	option_defaults(options);
	rc = parse_command_line(&set, argc, argv);
	/* A user who asks how to use it gets the answer, even where the rest is wrong. */
	if (rc < 0 || options->help || options->version || options->list_faults)
		return rc;
	rc = parse_environment(&set);
	if (rc < 0)
		return rc;
	return options_check(&set);
}
