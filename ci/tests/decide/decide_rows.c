/* decide_rows.c: the reader of decide.txt. A word that it does not know ends the case. */
#include "decide/decide_rows.h"

#include "base/parse.h"
#include "process/watch.h"
#include "rig/unit.h"

/* enum act in its order. */
static const char acts[] =
	"none beats waits works leaves called calling hashed enqueued set enters ready "
	"waits_by_turns phase spare sleeps starves shares watcher stops traced finishes dies "
	"pauses is_mute collects is_lost is_cut launcher vanishes ends";

/* The number that a word stands for. */
static int value_of(enum act act, const char *word)
{
	int phase = 0;

	if (act == FINISHES)
		return outcome_parse(word);
	if (act == WATCHER || act == LAUNCHER)
		return names_find("none stopped traced frozen gone", word);
	while (act == PHASE && strcmp(phase_name((enum phase)phase), word) != 0)
		phase++;
	return act == PHASE ? phase : atoi(word);
}

/* "3", "0+2", "all" */
static int ranks_of(const char *text)
{
	int bits = 0;

	if (strcmp(text, "all") == 0)
		return ALL;
	for (const char *at = text; *at; at += 1 + (at[1] == '+'))
		bits |= 1 << (*at - '0');
	return text[1] ? SOME(bits) : atoi(text);
}

static void take_event(struct event *event, const char *text)
{
	char ranks[16], act[24], a[24] = "0";

	CU_ASSERT_FATAL(
		sscanf(text, "%d %15s %23s %23s %d", &event->at, ranks, act, a, &event->b) >= 3);
	CU_ASSERT_FATAL(names_find(acts, act) > 0);
	event->rank = ranks_of(ranks);
	event->act = (enum act)names_find(acts, act);
	event->a = value_of(event->act, a);
}

enum key_kind { NUMBER, FLAG, WORD, RANGE, CLASS };
#define KEY(name, kind, field)                                                                     \
	{                                                                                          \
		name, kind, offsetof(struct row, field)                                            \
	}
static const struct {
	const char *name;
	enum key_kind kind;
	size_t at;
} keys[] = {
	KEY("init", NUMBER, init_ms),
	KEY("alone", NUMBER, alone),
	KEY("absent", NUMBER, absent),
	KEY("no_deadlines", FLAG, no_deadlines),
	KEY("extensions", FLAG, extensions),
	KEY("answer", WORD, answer),
	KEY("answer_ms", NUMBER, answer_ms),
	KEY("parted", WORD, parted),
	KEY("ranks", WORD, expect.ranks),
	KEY("looks", RANGE, expect.looks_min),
	KEY("detect", RANGE, expect.detect_from),
	KEY("overdue", WORD, expect.overdue),
	KEY("censuses", NUMBER, expect.censuses_max),
	KEY("reports", NUMBER, expect.reports),
	KEY("gap", NUMBER, expect.gap_max),
	KEY("hosts", WORD, expect.hosts),
	KEY("pair", WORD, expect.pair),
	KEY("class", CLASS, expect.class),
};

static enum answer_class class_of(const char *name)
{
	int number = CLASS_OUTCOME + 1;

	while (strcmp(class_name((enum answer_class)number, OUTCOME_OK), name) != 0)
		number++;
	return (enum answer_class)number;
}

static void take_key(struct row *row, const char *name, const char *value)
{
	size_t i = 0;
	void *field;

	while (i < LENGTH(keys) && strcmp(keys[i].name, name) != 0)
		i++;
	CU_ASSERT_FATAL(i < LENGTH(keys));
	field = (char *)row + keys[i].at;
	if (keys[i].kind == NUMBER)
		*(int *)field = atoi(value);
	else if (keys[i].kind == FLAG)
		*(bool *)field = true;
	else if (keys[i].kind == WORD)
		*(const char **)field = value;
	else if (keys[i].kind == RANGE)
		CU_ASSERT_EQUAL(sscanf(value, "%d..%d", (int *)field, (int *)field + 1), 2)
	else
		*(enum answer_class *)field = class_of(value);
}

/* The words of a field: "KEY=VALUE", the hosts or the time of its end, when it ends, and as what. */
static void take_words(struct row *row, char *text)
{
	char *word, *value;

	while ((word = strsep(&text, " "))) {
		value = strchr(word, '=');
		if (value) {
			*value = '\0';
			take_key(row, word, value + 1);
		} else if (!row->hosts) {
			row->hosts = word;
		} else if (sscanf(word, "%d..%d", &row->expect.from, &row->expect.to) == 2) {
			row->expect.outcome = (enum outcome)outcome_parse(strsep(&text, " "));
		} else {
			row->until = atoi(word);
		}
	}
}

/* Events with commas between them; "$NAME" stands for those of a line "$NAME = ..." of the file. */
static void take_events(struct row *row, const char *file, const char *text, int *n)
{
	char copy[600], name[40], *rest = copy, *one;

	snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(text, "\n"), text);
	while ((one = strsep(&rest, ","))) {
		one += strspn(one, " ");
		if (*one != '$') {
			CU_ASSERT_FATAL(*n < (int)LENGTH(row->events));
			take_event(&row->events[(*n)++], one);
			continue;
		}
		snprintf(name, sizeof(name), "\n%s = ", one);
		text = strstr(file, name);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		take_events(row, file, text + strlen(name), n);
	}
}

static struct row row_of(char *line, const char *file)
{
	char *part[4] = { line };
	struct row row = { .name = line };
	int n = 0;

	for (int i = 1; i < 4; i++) {
		part[i] = strstr(part[i - 1], " | ");
		CU_ASSERT_PTR_NOT_NULL_FATAL(part[i]);
		*part[i] = '\0';
		part[i] += 3;
	}
	take_words(&row, part[1]);
	take_events(&row, file, part[2], &n);
	take_words(&row, part[3]);
	return row;
}

void rows_each(const char *title, void (*play)(const struct row *row))
{
	char *file = unit_read("ci/tests/decide/decide.txt", NULL), *text = strdup(file), *line,
	     *rest;
	char head[80];
	int n = 0;

	snprintf(head, sizeof(head), "\n= %s\n", title);
	/* a line that begins with a tab goes on with the one before */
	for (char *at = text; (at = strstr(at, "\n\t"));)
		memcpy(at, "  ", 2);
	for (char *at = text; (at = strstr(at, "  "));)
		memmove(at, at + 1, strlen(at));
	rest = strstr(text, head);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
	rest += strlen(head);
	for (; (line = strsep(&rest, "\n")) && *line; n++) {
		struct row row = row_of(line, file);

		play(&row);
	}
	CU_ASSERT(n > 0);
	free(text);
	free(file);
}
