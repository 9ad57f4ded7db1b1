/* settings.c: weights of settings, and the settings in which ranks differ. */
#include "settings/settings.h"

#include "base/built_in.h"
#include "base/error.h"
#include "base/parse.h"
#include "settings/rank_groups.h"

#define MORE "further-settings"

enum {
	VALUE_SHOWN = 80, /* characters shown of a longer value, with its hash */
	VALUE_WHOLE = 100,
	MORE_ROOM = 40,	 /* for the line about settings that do not fit */
	NAMES_MOST = 64, /* names of differing settings that are examined */
	UNKNOWN = 999	 /* index of an unknown setting */
};

BUILT_IN(settings_built_in, "common/lib/settings/settings.txt");

/* The paragraphs, in the order in which they are asked. */
static const struct {
	enum setting_weight weight;
	const char *paragraph;
} rows[] = { { SETTING_FREE, "free" },
	     { SETTING_MAY, "may" },
	     { SETTING_BREAKS, "breaks" },
	     { SETTING_MATTERS, "matters" } };

/* The rank of a name in suspicion, hundreds by row; UNKNOWN. */
static int place_of(const char *name)
{
	char names[2048];

	for (int i = 0; i < (int)LENGTH(rows); i++) {
		int at =
			built_in_line(settings_built_in, rows[i].paragraph, 1, names, sizeof(names))
				? names_find(names, name)
				: -1;

		if (at >= 0)
			return 100 * i + at;
	}
	return UNKNOWN;
}

enum setting_weight setting_weight(const char *name)
{
	int place = place_of(name);

	if (place != UNKNOWN)
		return rows[place / 100].weight;
	return strncmp(name, "NCCL_", 5) == 0 ? SETTING_MAY : SETTING_FREE;
}

/* ---- settings of one rank ---- */

/* Stores `value` in printable form, with at most VALUE_WHOLE characters. */
static void shorten(const char *value, char *to, size_t len)
{
	if (strlen(value) < VALUE_WHOLE)
		snprintf(to, len, "%s", value);
	else
		snprintf(to, len, "%.*s...#%08x", VALUE_SHOWN, value,
			 (uint32_t)rank_groups_value(value));
	make_printable(to);
}

void settings_add(struct settings *s, const char *name, const char *value)
{
	char line[256], kept[VALUE_WHOLE + 16], *end = s->text;
	size_t room, n;

	shorten(value, kept, sizeof(kept));
	n = (size_t)snprintf(line, sizeof(line), "%.*s=%s\n", SETTING_NAME - 1, name, kept);
	while (!s->more && *end)
		end = strchr(end, '\n') + 1;
	room = sizeof(s->text) - MORE_ROOM - (size_t)(end - s->text);
	if (!s->more && n < room) {
		memcpy(end, line, n);
		return;
	}
	if (s->more)
		end = strstr(s->text, MORE "=");
	s->more = s->more * 31 + rank_groups_value(line);
	snprintf(end, MORE_ROOM, MORE "=%016lx\n", s->more);
}

void settings_put(struct settings *s, const char *name, const char *value)
{
	if (setting_weight(name) != SETTING_FREE)
		settings_add(s, name, value);
}

/* ---- lines of an untrusted text ---- */

/* A copy to read lines from, terminated for any input. */
struct copy {
	char text[SETTINGS_BYTES + 1], *rest;
};

static void copy_text(struct copy *copy, const char *text)
{
	snprintf(copy->text, sizeof(copy->text), "%.*s", SETTINGS_BYTES, text);
	copy->rest = copy->text;
}

/* Returns the next line's name and sets *value, NULL for a line without one. NULL: the end. */
static const char *next_line(struct copy *copy, const char **value)
{
	char *line = strsep(&copy->rest, "\n"), *sign = line ? strchr(line, '=') : NULL;

	*value = sign ? sign + 1 : NULL;
	if (sign)
		*sign = '\0';
	return line && !line[0] && !copy->rest ? NULL : line;
}

static char *value_of(const char *text, const char *name, char *buf, size_t len)
{
	const char *line, *value;
	struct copy copy;

	copy_text(&copy, text);
	while ((line = next_line(&copy, &value)) && strcmp(line, name) != 0)
		;
	snprintf(buf, len, "%s", !line ? "unset" : value ? value : "?");
	return make_printable(buf);
}

uint64_t settings_hash(const struct settings *s)
{
	const char *name, *value;
	struct copy copy;
	uint64_t hash = 1;

	copy_text(&copy, s->text);
	while ((name = next_line(&copy, &value)))
		if (setting_weight(name) == SETTING_BREAKS)
			hash = hash * 31 + rank_groups_value(name) * 7 +
			       rank_groups_value(value ? value : "?");
	return hash ? hash : 1;
}

bool settings_like(const char *a, const char *b, const char *name)
{
	char one[SETTINGS_BYTES], other[SETTINGS_BYTES];

	return strcmp(value_of(a, name, one, sizeof(one)),
		      value_of(b, name, other, sizeof(other))) == 0;
}

/* ---- differences between ranks ---- */

struct names {
	char names[NAMES_MOST][SETTING_NAME];
	int n;
};

/* Adds printable names of lines that b lacks, as many as fit. */
static void add_unlike(struct names *names, const char *a, const char *b)
{
	char other[SETTINGS_BYTES + 3], line[SETTINGS_BYTES + 4];
	const char *name, *value;
	struct copy copy;

	copy_text(&copy, a);
	snprintf(other, sizeof(other), "\n%.*s\n", SETTINGS_BYTES, b);
	while ((name = next_line(&copy, &value)) && names->n < NAMES_MOST) {
		char *kept = names->names[names->n];
		int i = 0;

		snprintf(line, sizeof(line), "\n%s%s%s\n", name, value ? "=" : "",
			 value ? value : "");
		snprintf(kept, SETTING_NAME, "%s", name);
		make_printable(kept);
		while (strcmp(names->names[i], kept) != 0)
			i++;
		names->n +=
			i == names->n && name[0] && strcmp(kept, name) == 0 && !strstr(other, line);
	}
}

static int by_place(const void *a, const void *b)
{
	int x = place_of(a), y = place_of(b);

	return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* All names in which a text differs from the first known text, by weight. */
static void find_names(struct names *names, const char *const *texts, int nranks)
{
	const char *first = NULL;

	for (int i = 0; i < nranks; i++) {
		first = first ? first : texts[i];
		if (!texts[i] || strncmp(texts[i], first, SETTINGS_BYTES) == 0)
			continue;
		add_unlike(names, texts[i], first);
		add_unlike(names, first, texts[i]);
	}
	qsort(names->names, (size_t)names->n, sizeof(names->names[0]), by_place);
}

static void describe(const struct rank_groups *g, const char *const *texts, const char *name,
		     char *words, size_t len)
{
	char value[SETTINGS_BYTES];

	for (int i = 0; i < g->ngroups; i++) {
		const struct rank_group *group = &g->groups[i];
		bool last = g->most && i == g->ngroups - 1;

		text_add(words, len, "%s%s%s: %.100s", i ? "; " : "",
			 last && g->more ? "others differ again; " : "", group->words,
			 value_of(texts[group->rank], name, value, sizeof(value)));
	}
	if (g->more && !g->most)
		text_add(words, len, "; others differ again");
}

/* Compares one setting; `values` has room for nranks. Returns false if all ranks agree. */
static bool compare_one(const char *const *texts, int nranks, uint64_t *values,
			struct setting_difference *d)
{
	char value[SETTINGS_BYTES];
	const struct rank_group *last;
	struct rank_groups g;
	int known = 0;

	for (int i = 0; i < nranks; i++) {
		values[i] = texts[i] ? rank_groups_value(
					       value_of(texts[i], d->name, value, sizeof(value)))
				     : 0;
		known += texts[i] != NULL;
	}
	rank_groups(&g, values, nranks);
	if (g.ngroups < 2)
		return false;
	d->weight = setting_weight(d->name);
	describe(&g, texts, d->name, d->words, sizeof(d->words));
	snprintf(d->theirs, sizeof(d->theirs), "%.63s",
		 value_of(texts[g.groups[0].rank], d->name, value, sizeof(value)));
	last = &g.groups[g.ngroups - 1];
	d->rank = g.most && last->n * 2 > known ? last->rank : -1;
	snprintf(d->most, sizeof(d->most), "%.63s",
		 value_of(texts[last->rank], d->name, value, sizeof(value)));
	return true;
}

size_t settings_compare(const char *const *texts, int nranks, enum setting_weight least,
			struct setting_difference *found)
{
	uint64_t *values = must(calloc((size_t)nranks + 1, sizeof(*values)));
	struct names *names = must(calloc(1, sizeof(*names)));
	size_t n = 0;

	find_names(names, texts, nranks);
	for (int weight = SETTING_BREAKS; weight >= (int)least; weight--)
		for (int i = 0; i < names->n && n < SETTINGS_DIFFERENCES; i++) {
			if ((int)setting_weight(names->names[i]) != weight)
				continue;
			memset(&found[n], 0, sizeof(found[n]));
			strcpy(found[n].name, names->names[i]);
			n += compare_one(texts, nranks, values, &found[n]);
		}
	free(names);
	free(values);
	return n;
}

char *settings_words(const struct setting_difference *found, size_t n, char *buf, size_t len)
{
	buf[0] = '\0';
	for (size_t i = 0; i < n; i++)
		text_add(buf, len, "%s%s%s: %s", i ? ". " : "", found[i].name,
			 found[i].weight == SETTING_MAY ? " (may matter)" : "", found[i].words);
	return buf;
}
