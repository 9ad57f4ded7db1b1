/* options_kind_word.c: the kinds of values that are words, texts or small languages: how each is
 * parsed, described and written. */
#include <strings.h>

#include "base/dtype.h"
#include "base/outcome.h"
#include "base/parse.h"
#include "options/options_table.h"

static void join_words(const struct option_row *row, char *buf, size_t len)
{
	const char *word;
	size_t n = 0;
	int i;

	buf[0] = '\0';
	for (i = 0; (word = row->kind->word(row, i)) && n < len; i++)
		n += (size_t)snprintf(buf + n, len - n, "%s%s", i ? " " : "", word);
}

static void allow_words(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(buf, len, "one of ");

	join_words(row, buf + n, len - (size_t)n);
}

static const char *listed_word(const struct option_row *row, int i)
{
	return row->words[i];
}

/* Words whose order is that of an enum. */
static int parse_kind_word(const struct option_row *row, const char *text, void *field)
{
	int i = option_word_index(row, text);

	if (i >= 0)
		*(int *)field = i;
	return i < 0 ? i : 0;
}

static void text_word(const struct option_row *row, const void *field, char *buf, size_t len)
{
	snprintf(buf, len, "%s", row->words[*(const int *)field]);
}

const struct option_kind kind_word = { sizeof(int), parse_kind_word, allow_words, text_word,
				       listed_word };

/* Words that are kept as text. */
static int parse_kind_name(const struct option_row *row, const char *text, void *field)
{
	if (option_word_index(row, text) < 0 || strlen(text) >= row->kind->size)
		return -EINVAL;
	strcpy(field, text);
	return 0;
}

static void text_name(const struct option_row *row, const void *field, char *buf, size_t len)
{
	snprintf(buf, len, "%s", (const char *)field);
}

const struct option_kind kind_name = { sizeof(((struct options *)0)->backend), parse_kind_name,
				       allow_words, text_name, listed_word };

/* Any text but the empty one, or one of the words if there are any, or one with the suffix and
 * more. */
static int parse_kind_text(const struct option_row *row, const char *text, void *field)
{
	size_t len = strlen(text), tail = row->suffix ? strlen(row->suffix) : 0;

	if (len <= tail || (row->suffix && strcmp(text + len - tail, row->suffix) != 0))
		return -EINVAL;
	if (row->words && option_word_index(row, text) < 0)
		return -EINVAL;
	*(const char **)field = text;
	return 0;
}

static void allow_text(const struct option_row *row, char *buf, size_t len)
{
	if (row->words)
		allow_words(row, buf, len);
	else if (row->suffix)
		snprintf(buf, len, "a file name that ends in %s", row->suffix);
	else
		snprintf(buf, len, "a name that is not empty");
}

static const char *any_word(const struct option_row *row, int i)
{
	return row->words ? row->words[i] : NULL;
}

static void text_text(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const char *text = *(const char *const *)field;

	snprintf(buf, len, "%s", text ? text : "");
}

const struct option_kind kind_text = { sizeof(const char *), parse_kind_text, allow_text, text_text,
				       any_word };

/* First and last of a range: one value, or "all". */
static int parse_range(const struct option_row *row, const char *text, int count, int *range)
{
	int i = option_word_index(row, text);

	if (i < 0)
		return i;
	range[0] = i == count ? 0 : i;
	range[1] = i == count ? count - 1 : i;
	return 0;
}

static int parse_kind_dtype(const struct option_row *row, const char *text, void *field)
{
	return parse_range(row, text, DT_COUNT, field);
}

static int parse_kind_redop(const struct option_row *row, const char *text, void *field)
{
	return parse_range(row, text, OP_COUNT, field);
}

static const char *dtype_word(const struct option_row *row, int i)
{
	return i < DT_COUNT ? dtype_name((enum dtype)i) : i == DT_COUNT ? "all" : NULL;
}

static const char *redop_word(const struct option_row *row, int i)
{
	return i < OP_COUNT ? redop_name((enum redop)i) : i == OP_COUNT ? "all" : NULL;
}

/* The word of the first, or "all". */
static void text_range(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const int *range = field;
	int i = range[0];

	if (range[1] > range[0])
		while (row->kind->word(row, i + 1))
			i++;
	snprintf(buf, len, "%s", row->kind->word(row, i));
}

const struct option_kind kind_dtype = { 2 * sizeof(int), parse_kind_dtype, allow_words, text_range,
					dtype_word };
const struct option_kind kind_redop = { 2 * sizeof(int), parse_kind_redop, allow_words, text_range,
					redop_word };

static int parse_kind_expect(const struct option_row *row, const char *text, void *field)
{
	int rc = expect_check(text);

	if (rc == 0)
		*(const char **)field = text;
	return rc;
}

static void allow_expect(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(
		buf, len,
		"ok, or OUTCOME[:CLASS[:RANKS]] as in hang:missing-call:1,3, with OUTCOME one of ");

	join_words(row, buf + n, len - (size_t)n);
}

const struct option_kind kind_expect = { sizeof(const char *), parse_kind_expect, allow_expect,
					 text_text, listed_word };

/* May be given several times; what it says is parsed where faults are known. */
static int parse_kind_fault(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	int room = (int)(sizeof(options->faults) / sizeof(options->faults[0]));

	if (!*text || options->nfaults >= room)
		return -EINVAL;
	options->faults[options->nfaults++] = text;
	return 0;
}

static void allow_fault(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len,
		 "NAME[:RANKS][@OP][,key=value...], at most eight times; see "
		 "--list-faults");
}

/* All that were given, in their order. */
static void text_fault(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const struct options *options = field;
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; i < options->nfaults && n < len; i++)
		n += (size_t)snprintf(buf + n, len - n, "%s%s", i ? " " : "", options->faults[i]);
}

const struct option_kind kind_fault = { 0, parse_kind_fault, allow_fault, text_fault, NULL };

/* Length of the operator that a split begins with, 0 for none. */
static size_t split_operator(const char *text, enum split_kind *kind)
{
	static const struct {
		const char *text;
		enum split_kind kind;
	} operators[] = {
		{ "AND", SPLIT_AND }, { "&", SPLIT_AND }, { "OR", SPLIT_OR },	{ "|", SPLIT_OR },
		{ "MOD", SPLIT_MOD }, { "%", SPLIT_MOD }, { "DIV", SPLIT_DIV }, { "/", SPLIT_DIV },
	};
	size_t i;

	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (strncasecmp(text, operators[i].text, strlen(operators[i].text)) == 0) {
			*kind = operators[i].kind;
			return strlen(operators[i].text);
		}
	}
	return 0;
}

static int parse_kind_split(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	enum split_kind kind = SPLIT_NONE;
	size_t len = split_operator(text, &kind);
	uint64_t value;
	int rc;

	if (len == 0)
		return -EINVAL;
	text += len;
	text += strspn(text, " \t");
	rc = parse_unsigned(text, 0, INT_MAX,
			    &value); /* the colour of an MPI communicator is an int */
	if (rc < 0)
		return rc;
	if (value == 0 && (kind == SPLIT_MOD || kind == SPLIT_DIV))
		return -ERANGE;
	options->split_kind = kind;
	options->split_value = (unsigned long)value;
	return 0;
}

static void allow_split(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len,
		 "AND, OR, MOD or DIV (or &, |, %%, /) and a number (decimal, 0x.. or 0b..) "
		 "up to %d, not 0 for MOD and DIV",
		 INT_MAX);
}

static void text_split(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const struct options *options = field;
	static const char *const names[] = {
		[SPLIT_AND] = "AND", [SPLIT_OR] = "OR", [SPLIT_MOD] = "MOD", [SPLIT_DIV] = "DIV"
	};

	buf[0] = '\0';
	if (options->split_kind != SPLIT_NONE)
		snprintf(buf, len, "%s %lu", names[options->split_kind], options->split_value);
}

const struct option_kind kind_split = { 0, parse_kind_split, allow_split, text_split, NULL };

/* Wins over a split that was parsed before. */
static int parse_kind_split_mask(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	uint64_t value;
	int rc = parse_unsigned(text, 16, UINT32_MAX, &value);

	if (rc < 0)
		return rc;
	options->split_kind = SPLIT_AND;
	options->split_value = (unsigned long)value;
	return 0;
}

static void allow_split_mask(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "a hexadecimal number up to ffffffff");
}

/* The split itself shows what it says. */
static void text_split_mask(const struct option_row *row, const void *field, char *buf, size_t len)
{
	snprintf(buf, len, "%s", "");
}

const struct option_kind kind_split_mask = { 0, parse_kind_split_mask, allow_split_mask,
					     text_split_mask, NULL };
