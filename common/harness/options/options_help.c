/* options_help.c: --help. */
#include "base/built_in.h"
#include "options/options_table.h"

BUILT_IN(options_built_in, "common/harness/options/options.txt");

enum { TEXT_COLUMN = 29, WIDTH = 79 };

static bool makes_sense(const struct option_row *row, const struct option_target *target)
{
	if (!target)
		return true;
	switch (row->scope) {
	case SCOPE_REDUCES:
		return target->reduces;
	case SCOPE_ROOTED:
		return target->rooted;
	case SCOPE_IRREGULAR:
		return target->irregular;
	default:
		return !option_misplaced(row, target);
	}
}

/* Prints words from column `at` on, to the end of a line; a long one goes on in column `indent`. */
static void put_words(FILE *out, const char *text, int at, int indent)
{
	while (*text) {
		int blanks = (int)strspn(text, " "), len = (int)strcspn(text + blanks, " ");
		bool full = at > indent && at + blanks + len > WIDTH;

		if (full) {
			fputc('\n', out);
			at = 0;
		}
		at += fprintf(out, "%*s%.*s", full ? indent : blanks, "", len, text + blanks);
		text += blanks + len;
	}
	fputc('\n', out);
}

/* Prints a paragraph of options.txt; "%s" is `name`. */
static void put_paragraph(FILE *out, const char *paragraph, const char *name)
{
	char line[512], text[600];

	for (int i = 1; built_in_line(options_built_in, paragraph, i, line, sizeof(line)) && *line;
	     i++) {
		snprintf(text, sizeof(text), line, name);
		put_words(out, text, 0, strncmp(line, "  - ", 4) == 0 ? 4 : 0);
	}
}

const char *option_help(const struct option_row *row, char *buf, size_t len)
{
	built_in_line(options_built_in, row->name, 1, buf, len);
	return buf;
}

/* The row's help, its words unless the value's name lists them, and its default. */
static void describe(const struct option_row *row, char *buf, size_t len)
{
	bool list = row->words && row->words[1] && row->arg && !strchr(row->arg, '|');

	option_help(row, buf, len);
	for (int i = 0; list && row->words[i]; i++)
		text_add(buf, len, "%s%s", i ? ", " : "; one of ", row->words[i]);
	if (row->initial && (row->arg || row->env))
		text_add(buf, len, " (default: %s)", row->initial);
}

/* "  -b, --minbytes=SIZE        smallest size (default: 32M)" */
static void put_row(FILE *out, const struct option_row *row)
{
	char letter[] = { '-', (char)row->letter, ',', '\0' }, text[2 * OPTION_TEXT_MAX];
	const char *arg = row->arg ? row->arg : "";
	int at = row->env ? fprintf(out, "  %s", row->name)
			  : fprintf(out, "  %3s --%s%s%s%s", row->letter ? letter : "", row->name,
				    !row->arg	? ""
				    : row->flag ? "[="
						: "=",
				    arg, row->arg && row->flag ? "]" : "");

	describe(row, text, sizeof(text));
	if (at >= TEXT_COLUMN) {
		fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", TEXT_COLUMN - at, "");
	put_words(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

void options_print_help(FILE *out, const struct option_target *target, const char *program)
{
	const char *name = target ? target->name : "one collective";
	enum option_part part = option_part_of(target);

	fprintf(out, "Usage: %s [OPTION...]\n", basename(program));
	put_paragraph(out,
		      part == PART_PAIRS  ? "--pairs"
		      : part == PART_STEP ? "--step"
					  : "--sweep",
		      name);
	for (int group = 1; group < GROUP_END; group++) {
		bool any = false;

		for (size_t i = 0; i < option_row_count; i++) {
			const struct option_row *row = &option_rows[i];

			if ((int)row->group != group || !makes_sense(row, target))
				continue;
			if (!any)
				fprintf(out, "\n%s\n", option_group_titles[group]);
			any = true;
			put_row(out, row);
		}
	}
	fputc('\n', out);
	put_paragraph(out, "--end", basename(program));
}
