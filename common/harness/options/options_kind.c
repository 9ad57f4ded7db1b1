/* options_kind.c: kinds of values: parser, description and text of each. */

#include "base/error.h"
#include "base/parse.h"
#include "options/options_table.h"

int option_parse(const struct option_row *row, const char *text, struct options *options)
{
	return row->kind->parse(row, text, (char *)options + row->offset);
}

void option_text(const struct option_row *row, const struct options *options, char *buf, size_t len)
{
	row->kind->text(row, (const char *)options + row->offset, buf, len);
}

void option_allowed(const struct option_row *row, char *buf, size_t len)
{
	if (!row->allowed) {
		row->kind->allowed(row, buf, len);
		return;
	}
	snprintf(buf, len, "%s", row->allowed);
	for (int i = 0; row->allowed[strlen(row->allowed) - 1] == ' ' && row->words[i]; i++)
		text_add(buf, len, "%s%s", i ? " " : "", row->words[i]);
}

/* Returns the index of a word; -EINVAL: not a word of the row. */
static int word_index(const struct option_row *row, const char *text)
{
	for (int i = 0; row->words && row->words[i]; i++)
		if (strcmp(row->words[i], text) == 0)
			return i;
	return -EINVAL;
}

/* ---- numbers ------------------------------------------------------------------------------ */

static int parse_kind_size(const struct option_row *row, const char *text, void *field)
{
	size_t value;
	int rc = parse_size(text, &value);

	if (rc == 0 && ((double)value < row->min || (double)value > row->max))
		rc = -ERANGE;
	if (rc == 0)
		*(size_t *)field = value;
	return rc;
}

static void allow_size(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "a size of at least %.0f byte%s", row->min, row->min > 1 ? "s" : "");
	if (row->max < (double)SIZE_MAX)
		text_add(buf, len, " and at most %.0f (suffixes K, M, G, T)", row->max);
	else
		text_add(buf, len, " (suffixes K, M, G, T; less than 2^64)");
}

/* Uses the largest unit that divides the value. */
static void text_size(const struct option_row *row, const void *field, char *buf, size_t len)
{
	size_t value = *(const size_t *)field;
	const char *unit = " KMGT";

	for (; value > 0 && value % 1024 == 0 && unit[1]; unit++)
		value /= 1024;
	snprintf(buf, len, "%zu%.1s", value, *unit == ' ' ? "" : unit);
}

const struct option_kind kind_size = { sizeof(size_t), parse_kind_size, allow_size, text_size };

/* Sizes with commas between them, in any order. */
static int parse_kind_sizes(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	char copy[1024], *rest = copy, *word;
	int n = 0;

	if (strlen(text) >= sizeof(copy))
		return -ERANGE;
	strcpy(copy, text);
	while ((word = strsep(&rest, ",")))
		if (n == OPTIONS_SIZES || parse_kind_size(row, word, &options->sizes[n++]) < 0)
			return -EINVAL;
	options->nsizes = n;
	return 0;
}

static void text_sizes(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const struct options *options = field;
	char size[32];

	buf[0] = '\0';
	for (int i = 0; i < options->nsizes; i++) {
		text_size(row, &options->sizes[i], size, sizeof(size));
		text_add(buf, len, "%s%s", i ? "," : "", size);
	}
}

const struct option_kind kind_sizes = { 0, parse_kind_sizes, NULL, text_sizes };

/* A 32-bit number, signed or (by `max`) unsigned. */
static int parse_kind_int(const struct option_row *row, const char *text, void *field)
{
	int64_t number = row->word_value;
	int rc = 0;

	if (word_index(row, text) < 0)
		rc = parse_int(text, (int64_t)row->min, (int64_t)row->max, &number);
	if (rc == 0)
		*(uint32_t *)field = (uint32_t)number;
	return rc;
}

static void allow_int(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "a whole number from %.0f to %.0f", row->min, row->max);
	if (row->words)
		text_add(buf, len, ", or %s", row->words[0]);
}

int64_t option_int(const struct option_row *row, const void *field)
{
	return row->max > INT_MAX ? (int64_t) * (const uint32_t *)field : *(const int *)field;
}

static void text_int(const struct option_row *row, const void *field, char *buf, size_t len)
{
	int64_t value = option_int(row, field);

	if (row->words && value == row->word_value)
		snprintf(buf, len, "%s", row->words[0]);
	else
		snprintf(buf, len, "%ld", value);
}

const struct option_kind kind_int = { sizeof(int), parse_kind_int, allow_int, text_int };

static int parse_kind_real(const struct option_row *row, const char *text, void *field)
{
	return parse_real(text, row->min, row->max, field);
}

static void allow_real(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "a number from %g to %g", row->min, row->max);
}

static void text_real(const struct option_row *row, const void *field, char *buf, size_t len)
{
	double value = *(const double *)field, back;

	number_text(value, buf, len);
	/* two different values must not have one text */
	if (parse_real(buf, row->min, row->max, &back) < 0 || back != value)
		snprintf(buf, len, "%.17g", value);
}

const struct option_kind kind_real = { sizeof(double), parse_kind_real, allow_real, text_real };

/* ---- words and texts ----------------------------------------------------------------------- */

/* Words in the order of an enum, or "0" and "1". */
static int parse_kind_word(const struct option_row *row, const char *text, void *field)
{
	int i = word_index(row, text);

	if (i >= 0 && row->kind == &kind_bool)
		*(bool *)field = i == 1;
	else if (i >= 0)
		*(int *)field = i;
	return i < 0 ? i : 0;
}

static void text_word(const struct option_row *row, const void *field, char *buf, size_t len)
{
	int i = row->kind == &kind_bool ? *(const bool *)field : *(const int *)field;

	snprintf(buf, len, "%s", row->words[i]);
}

const struct option_kind kind_word = { sizeof(int), parse_kind_word, NULL, text_word };
const struct option_kind kind_bool = { sizeof(bool), parse_kind_word, NULL, text_word };

/* The last word stands for all words before it. */
static int last_word(const struct option_row *row)
{
	int i = 0;

	while (row->words[i + 1])
		i++;
	return i;
}

/* First and last of a range: one value, or all. */
static int parse_kind_range(const struct option_row *row, const char *text, void *field)
{
	int i = word_index(row, text), all = last_word(row), *range = field;

	if (i < 0)
		return i;
	range[0] = i == all ? 0 : i;
	range[1] = i == all ? all - 1 : i;
	return 0;
}

static void text_range(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const int *range = field;

	snprintf(buf, len, "%s", row->words[range[1] > range[0] ? last_word(row) : range[0]]);
}

const struct option_kind kind_range = { 2 * sizeof(int), parse_kind_range, NULL, text_range };

/* A text that is not empty: one of the words, one with the suffix, or what the check accepts. */
static int parse_kind_text(const struct option_row *row, const char *text, void *field)
{
	size_t len = strlen(text), tail = row->suffix ? strlen(row->suffix) : 0;

	if (len <= tail || (row->suffix && strcmp(text + len - tail, row->suffix) != 0))
		return -EINVAL;
	if (row->check ? row->check(text) < 0 : row->words && word_index(row, text) < 0)
		return -EINVAL;
	*(const char **)field = text;
	return 0;
}

static void text_text(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const char *text = *(const char *const *)field;

	snprintf(buf, len, "%s", text ? text : "");
}

const struct option_kind kind_text = { sizeof(const char *), parse_kind_text, NULL, text_text };

/* ---- small languages ---------------------------------------------------------------------- */

/* A repeatable option; its grammar is parsed in faults/inject. */
static int parse_kind_fault(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	int room = (int)LENGTH(options->faults);

	if (!*text || options->nfaults >= room)
		return -EINVAL;
	options->faults[options->nfaults++] = text;
	return 0;
}

/* All values, in their order. */
static void text_fault(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const struct options *options = field;

	buf[0] = '\0';
	for (int i = 0; i < options->nfaults; i++)
		text_add(buf, len, "%s%s", i ? " " : "", options->faults[i]);
}

const struct option_kind kind_fault = { 0, parse_kind_fault, NULL, text_fault };

static const struct {
	const char *word, *sign;
} operators[] = { [SPLIT_AND] = { "AND", "&" },
		  [SPLIT_OR] = { "OR", "|" },
		  [SPLIT_MOD] = { "MOD", "%" },
		  [SPLIT_DIV] = { "DIV", "/" } };

/* Returns the text after the operator at the start of a split; NULL: no operator. */
static const char *split_operator(const char *text, enum split_kind *kind)
{
	for (*kind = SPLIT_AND; *kind <= SPLIT_DIV; (*kind)++) {
		size_t len = strlen(operators[*kind].word);

		if (strncasecmp(text, operators[*kind].word, len) == 0)
			return text + len;
		if (*text == *operators[*kind].sign)
			return text + 1;
	}
	return NULL;
}

static int parse_kind_split(const struct option_row *row, const char *text, void *field)
{
	struct options *options = field;
	enum split_kind kind;
	const char *number = split_operator(text, &kind);
	uint64_t value;
	int rc;

	if (!number)
		return -EINVAL;
	/* an MPI communicator's color is an int */
	rc = parse_unsigned(number + strspn(number, " \t"), 0, INT_MAX, &value);
	if (rc < 0)
		return rc;
	if (value == 0 && (kind == SPLIT_MOD || kind == SPLIT_DIV))
		return -ERANGE;
	options->split_kind = kind;
	options->split_value = (unsigned long)value;
	return 0;
}

static void text_split(const struct option_row *row, const void *field, char *buf, size_t len)
{
	const struct options *options = field;

	buf[0] = '\0';
	if (options->split_kind != SPLIT_NONE)
		snprintf(buf, len, "%s %lu", operators[options->split_kind].word,
			 options->split_value);
}

const struct option_kind kind_split = { 0, parse_kind_split, NULL, text_split };

/* Overrides a split that was parsed before. */
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

/* The split's own text contains it. */
static void text_split_mask(const struct option_row *row, const void *field, char *buf, size_t len)
{
	buf[0] = '\0';
}

const struct option_kind kind_split_mask = { 0, parse_kind_split_mask, NULL, text_split_mask };

int options_color(const struct options *options, int rank)
{
	unsigned long value = options->split_value, r = (unsigned long)rank;

	switch (options->split_kind) {
	case SPLIT_AND:
		return (int)(r & value);
	case SPLIT_OR:
		return (int)(r | value);
	case SPLIT_MOD:
		return value ? (int)(r % value) : 0;
	case SPLIT_DIV:
		return value ? (int)(r / value) : 0;
	case SPLIT_NONE:
		break;
	}
	return 0;
}
