/* arguments.c: the command line of a small program, as a table over glibc's argp. */
#include "base/arguments.h"

#include "base/built_in.h"
#include "base/output.h"
#include "base/parse.h"
#include "base/version.h"

BUILT_IN(arguments_built_in, "common/lib/base/arguments.txt");

enum { KEY = 256 };

struct reader {
	const struct argument_table *table;
	void *into;
};

double argument_number(struct argp_state *state, const struct argument *row, bool whole,
		       const char *text)
{
	double value = 0;

	if (parse_real(text, row->min, row->most, &value) != 0 || (whole && value != floor(value)))
		argument_refuse(state, "--%s: a %snumber from %g to %g, not '%s'", row->name,
				whole ? "whole " : "", row->min, row->most, text);
	return value;
}

static void take(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	void *field = (char *)into + row->at;

	if (row->kind == ARGUMENT_FLAG)
		*(bool *)field = true;
	else if (row->kind == ARGUMENT_TEXT)
		*(const char **)field = text;
	else if (row->kind == ARGUMENT_WHOLE)
		*(int *)field = (int)argument_number(state, row, true, text);
	else if (row->kind == ARGUMENT_REAL)
		*(double *)field = argument_number(state, row, false, text);
	else
		row->take(state, into, row, text);
}

static int key_of(const struct argument *row, size_t i)
{
	return row->letter ? row->letter : KEY + (int)i;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	const struct reader *r = state->input;
	const struct argument_table *table = r->table;

	if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	else if (key == ARGP_KEY_ARG && table->word)
		table->word(state, r->into, text);
	else if (key == ARGP_KEY_ARG)
		argument_refuse(state, "'%s' belongs to no option", text);
	else if (key == ARGP_KEY_END && table->check)
		table->check(state, r->into);
	for (size_t i = 0; i < table->n; i++)
		if (key == key_of(&table->rows[i], i)) {
			take(state, r->into, &table->rows[i], text);
			return 0;
		}
	return key == 'h' || key == ARGP_KEY_ARG ? 0 : ARGP_ERR_UNKNOWN;
}

/* Line `number` of the paragraph PROGRAM.OPTION, or PROGRAM; "": there is none. */
static const char *help_of(const struct argument_table *table, const char *option, int number)
{
	static char texts[16 << 10], *next = texts;
	char name[64], *text = next;

	snprintf(name, sizeof(name), "%s%s%s", table->program, *option ? "." : "", option);
	built_in_line(arguments_built_in, name, number, text,
		      (size_t)(texts + sizeof(texts) - next));
	next += strlen(text) + 1;
	return text;
}

static void print_version(FILE *out, struct argp_state *state)
{
	version_print(out, state->name);
}

void arguments_read(const struct argument_table *table, int argc, char **argv, void *into)
{
	struct argp_option *options = must(calloc(table->n + 2, sizeof(*options)));
	const char *after;
	char doc[4096];
	const struct argp argp = {
		.options = options, .parser = parse, .args_doc = table->values, .doc = doc
	};
	struct reader reader = { table, into };

	snprintf(doc, sizeof(doc), "%s", help_of(table, "", 1));
	for (int i = 2; *(after = help_of(table, "", i)); i++)
		text_add(doc, sizeof(doc), "%c%s", i > 2 ? '\n' : '\v', after);
	/* argp sorts by group, then by name: a group each keeps the order of the table */
	for (size_t i = 0; i < table->n; i++) {
		const struct argument *row = &table->rows[i];
		const char *help = help_of(table, row->name, 1);

		options[i] =
			(struct argp_option){ row->name,  key_of(row, i),
					      row->value, row->flags | (*help ? 0 : OPTION_HIDDEN),
					      help,	  (int)i + 1 };
	}
	options[table->n] = (struct argp_option){ .key = 'h', .flags = OPTION_HIDDEN };
	argp_err_exit_status = OUTCOME_USAGE;
	argp_program_version_hook = print_version;
	output_guard(table->program);
	(void)argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &reader);
	free(options);
}
