/* options.c: command line and environment into struct options, by getopt_long and the table. */
#include "options/options.h"

#include <getopt.h>

#include "options/options_table.h"

/* getopt's value of a row without a letter: above all characters. */
enum { KEY_BASE = 0x100 };

const char *mode_name(enum mode mode)
{
	return option_rows[option_find("mode")].words[mode];
}

/* The row of getopt's value; -1: none. */
static int row_of_key(int key)
{
	if (key >= KEY_BASE)
		return key - KEY_BASE;
	for (int i = 0; key > 0 && i < (int)option_row_count; i++)
		if (option_rows[i].letter == key)
			return i;
	return -1;
}

/* The number of long options that begin with these `len` characters. */
static int count_long(const char *name, size_t len)
{
	int n = 0;

	for (size_t i = 0; i < option_row_count; i++)
		n += !option_rows[i].env && strncmp(option_rows[i].name, name, len) == 0;
	return n;
}

/* Explains getopt's refusal (getopt itself prints nothing): `text` is the last element it read. */
static int explain(struct error *err, const char *text, bool no_value)
{
	bool is_long = strncmp(text, "--", 2) == 0;
	const char letter[] = { '-', (char)optopt, '\0' };
	const char *why = "unknown option; --help lists all";

	if (no_value)
		why = "must be followed by a value";
	else if (is_long && optopt)
		why = "takes no value";
	else if (is_long && count_long(text + 2, strcspn(text + 2, "=")) > 1)
		why = "begins several options; must be the whole name of one";
	return error_usage(err, "%.60s: %s", is_long ? text : letter, why);
}

/* The table in getopt's form: all letters after "+:". "+" stops at the first word that is not an
 * option; ":" distinguishes a missing value from an unknown option. */
static void describe_all(struct option *options, char *letters, size_t len)
{
	snprintf(letters, len, "+:");
	for (int i = 0; i < (int)option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->env)
			continue;
		*options++ = (struct option){ .name = row->name,
					      .has_arg = !row->arg   ? no_argument
							 : row->flag ? optional_argument
								     : required_argument,
					      .val = row->letter ? row->letter : KEY_BASE + i };
		if (row->letter)
			text_add(letters, len, "%c%s", row->letter, row->arg ? ":" : "");
	}
}

static int parse_command_line(struct option_set *set, int argc, char **argv)
{
	struct option options[OPTION_ROWS_MAX + 1] = { 0 };
	char letters[2 * OPTION_ROWS_MAX + 3];
	int key, rc = 0;

	describe_all(options, letters, sizeof(letters));
	optind = 0; /* restarts getopt */
	opterr = 0;
	while (rc == 0 && argc > 0 &&
	       (key = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		int row = key == '?' || key == ':' ? -1 : row_of_key(key);

		rc = row < 0 ? explain(set->err, argv[optind - 1], key == ':')
			     : option_take(set, row, optarg ? optarg : option_rows[row].flag);
	}
	if (rc == 0 && argc > 0 && optind < argc)
		rc = error_usage(set->err,
				 "'%.60s': must be an option; there are no other arguments",
				 argv[optind]);
	return rc;
}

static int parse_environment(struct option_set *set)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < (int)option_row_count; i++) {
		const char *text = option_rows[i].env ? getenv(option_rows[i].name) : NULL;

		rc = text ? option_take(set, i, text) : 0;
	}
	return rc;
}

int options_parse(struct options *options, const struct option_target *target, int argc,
		  char **argv, struct error *err)
{
	struct option_set set = { .options = options, .target = target, .err = err };
	int rc;

	option_defaults(options);
	rc = parse_command_line(&set, argc, argv);
	/* Help is printed even if other options are wrong. */
	if (rc < 0 || options->help || options->version || options->list_faults)
		return rc;
	rc = parse_environment(&set);
	return rc < 0 ? rc : options_check(&set);
}
