/* options_agree.c: the values that all ranks must share, as text. */
#include "options/options_agree.h"

#include "base/error.h"
#include "base/parse.h"
#include "options/options_table.h"

enum { TEXT_MAX = 4096 };

static bool counts(const struct option_row *row, bool irregular)
{
	return row->agree == AGREE_SAME && (row->scope != SCOPE_IRREGULAR || irregular);
}

/* Formats an option as typed: "-d half", "--check-every", "no --fault". */
static void show(const struct option_row *row, const struct options *options, char *buf, size_t len)
{
	char text[TEXT_MAX], letter[2] = { (char)row->letter, '\0' };
	bool there;

	option_text(row, options, text, sizeof(text));
	there = row->flag && !row->arg ? strcmp(text, row->flag) == 0 : text[0];
	snprintf(buf, len, "%s%s%s", there ? "" : "no ",
		 row->env      ? ""
		 : row->letter ? "-"
			       : "--",
		 row->letter ? letter : row->name);
	if (there && !row->flag)
		text_add(buf, len, "%c%s", row->env ? '=' : ' ', text);
}

/* Lines have numbers as names: equal on ranks of one version, whose difference comes first. */
void options_agree_fill(struct settings *mine, const struct options *options, const char *version,
			const char *program, const char *backend, bool irregular)
{
	char shown[TEXT_MAX + 64], name[16];

	snprintf(shown, sizeof(shown), "hangar %s", version);
	settings_add(mine, "000", shown);
	settings_add(mine, "001", program);
	snprintf(shown, sizeof(shown), "backend %s", backend);
	settings_add(mine, "002", shown);
	for (size_t i = 0; i < option_row_count; i++) {
		if (!counts(&option_rows[i], irregular))
			continue;
		snprintf(name, sizeof(name), "%03zu", 3 + i);
		show(&option_rows[i], options, shown, sizeof(shown));
		settings_add(mine, name, shown);
	}
}

void options_agree_text(const struct options *options, bool irregular, char *buf, size_t len)
{
	char mine[TEXT_MAX + 64], other[TEXT_MAX + 64];
	struct options defaults;

	option_defaults(&defaults);
	buf[0] = '\0';
	for (const struct option_row *row = option_rows; row < option_rows + option_row_count;
	     row++) {
		show(row, options, mine, sizeof(mine));
		show(row, &defaults, other, sizeof(other));
		if (counts(row, irregular) && strcmp(mine, other) != 0 &&
		    names_find("fault schedule expect", row->name) < 0)
			text_add(buf, len, ", %s", mine);
	}
}
