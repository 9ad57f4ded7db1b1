/* options_kind.c: the kinds of values: how each is parsed, described and completed. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/dtype.h"
#include "options/options_table.h"
#include "base/outcome.h"
#include "base/parse.h"

static void put(struct options *options, const struct option_row *row, const void *value,
		size_t size)
{
	memcpy((char *)options + row->offset, value, size);
}

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

/* Index of `text` among the row's words, or -EINVAL. */
static int word_index(const struct option_row *row, const char *text)
{
	const char *word;
	int i;

	for (i = 0; (word = row->kind->word(row, i)); i++) {
		if (strcmp(word, text) == 0)
			return i;
	}
	return -EINVAL;
}

static int parse_kind_size(const struct option_row *row, const char *text, struct options *options)
{
	size_t value;
	int rc = parse_size(text, &value);

	if (rc < 0)
		return rc;
	if ((double)value < row->min || (double)value > row->max)
		return -ERANGE;
	put(options, row, &value, sizeof(value));
	return 0;
}

static void allow_size(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(buf, len, "a size of at least %.0f byte%s", row->min,
			 row->min > 1 ? "s" : "");

	if (row->max < (double)SIZE_MAX)
		snprintf(buf + n, len - (size_t)n, " and at most %.0f (suffixes K, M, G, T)",
			 row->max);
	else
		snprintf(buf + n, len - (size_t)n, " (suffixes K, M, G, T; less than 2^64)");
}

const struct option_kind kind_size = { sizeof(size_t), parse_kind_size, allow_size, NULL };

static int parse_kind_int(const struct option_row *row, const char *text, struct options *options)
{
	int64_t number = row->word_value;
	int value, rc = 0;

	if (!row->word || strcmp(row->word, text) != 0)
		rc = parse_int(text, (int64_t)row->min, (int64_t)row->max, &number);
	if (rc < 0)
		return rc;
	value = (int)number;
	put(options, row, &value, sizeof(value));
	return 0;
}

static void allow_int(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(buf, len, "a whole number from %.0f to %.0f", row->min, row->max);

	if (row->word)
		snprintf(buf + n, len - (size_t)n, ", or %s", row->word);
}

static const char *int_word(const struct option_row *row, int i)
{
	return i ? NULL : row->word;
}

const struct option_kind kind_int = { sizeof(int), parse_kind_int, allow_int, int_word };

static int parse_kind_seed(const struct option_row *row, const char *text, struct options *options)
{
	int64_t number;
	uint32_t value;
	int rc = parse_int(text, 0, UINT32_MAX, &number);

	if (rc < 0)
		return rc;
	value = (uint32_t)number;
	put(options, row, &value, sizeof(value));
	return 0;
}

const struct option_kind kind_seed = { sizeof(uint32_t), parse_kind_seed, allow_int, NULL };

static int parse_kind_bool(const struct option_row *row, const char *text, struct options *options)
{
	int i = word_index(row, text);
	bool value = i == 1;

	if (i < 0)
		return i;
	put(options, row, &value, sizeof(value));
	return 0;
}

static void allow_bool(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "%s or %s", row->kind->word(row, 0), row->kind->word(row, 1));
}

static const char *bool_word(const struct option_row *row, int i)
{
	static const char *const words[] = { "0", "1", NULL };

	return row->words ? row->words[i] : words[i];
}

const struct option_kind kind_bool = { sizeof(bool), parse_kind_bool, allow_bool, bool_word };

static int parse_kind_real(const struct option_row *row, const char *text, struct options *options)
{
	double value;
	int rc = parse_real(text, row->min, row->max, &value);

	if (rc < 0)
		return rc;
	put(options, row, &value, sizeof(value));
	return 0;
}

static void allow_real(const struct option_row *row, char *buf, size_t len)
{
	snprintf(buf, len, "a number from %g to %g", row->min, row->max);
}

const struct option_kind kind_real = { sizeof(double), parse_kind_real, allow_real, NULL };

/* Words whose order is that of an enum. */
static int parse_kind_word(const struct option_row *row, const char *text, struct options *options)
{
	int i = word_index(row, text);

	if (i < 0)
		return i;
	put(options, row, &i, sizeof(i));
	return 0;
}

const struct option_kind kind_word = { sizeof(int), parse_kind_word, allow_words, listed_word };

/* Words that are kept as text. */
static int parse_kind_name(const struct option_row *row, const char *text, struct options *options)
{
	char value[sizeof(options->backend)] = "";

	if (word_index(row, text) < 0 || strlen(text) >= sizeof(value))
		return -EINVAL;
	memcpy(value, text, strlen(text));
	put(options, row, value, sizeof(value));
	return 0;
}

const struct option_kind kind_name = { sizeof(((struct options *)0)->backend), parse_kind_name,
				       allow_words, listed_word };

/* Any text but the empty one, or one of the words if there are any, or one with the suffix and
 * more. */
static int parse_kind_text(const struct option_row *row, const char *text, struct options *options)
{
	size_t len = strlen(text), tail = row->suffix ? strlen(row->suffix) : 0;

	if (len <= tail || (row->suffix && strcmp(text + len - tail, row->suffix) != 0))
		return -EINVAL;
	if (row->words && word_index(row, text) < 0)
		return -EINVAL;
	put(options, row, &text, sizeof(text));
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

static const char *text_word(const struct option_row *row, int i)
{
	return row->words ? row->words[i] : NULL;
}

const struct option_kind kind_text = { sizeof(const char *), parse_kind_text, allow_text,
				       text_word };

/* First and last of a range: one value, or "all". */
static int parse_range(const struct option_row *row, const char *text, int count,
		       struct options *options)
{
	int i = word_index(row, text);
	int range[2] = { i == count ? 0 : i, i == count ? count - 1 : i };

	if (i < 0)
		return i;
	put(options, row, range, sizeof(range));
	return 0;
}

static int parse_kind_dtype(const struct option_row *row, const char *text, struct options *options)
{
	return parse_range(row, text, DT_COUNT, options);
}

static int parse_kind_redop(const struct option_row *row, const char *text, struct options *options)
{
	return parse_range(row, text, OP_COUNT, options);
}

static const char *dtype_word(const struct option_row *row, int i)
{
	(void)row;
	return i < DT_COUNT ? dtype_name((enum dtype)i) : i == DT_COUNT ? "all" : NULL;
}

static const char *redop_word(const struct option_row *row, int i)
{
	(void)row;
	return i < OP_COUNT ? redop_name((enum redop)i) : i == OP_COUNT ? "all" : NULL;
}

const struct option_kind kind_dtype = { 2 * sizeof(int), parse_kind_dtype, allow_words,
					dtype_word };
const struct option_kind kind_redop = { 2 * sizeof(int), parse_kind_redop, allow_words,
					redop_word };

static int parse_kind_expect(const struct option_row *row, const char *text,
			     struct options *options)
{
	int rc = expect_check(text);

	if (rc == 0)
		put(options, row, &text, sizeof(text));
	return rc;
}

static void allow_expect(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(
		buf, len,
		"OUTCOME[:CLASS[:RANKS]] as in hang:missing-call:1,3, with OUTCOME one of ");

	join_words(row, buf + n, len - (size_t)n);
}

const struct option_kind kind_expect = { sizeof(const char *), parse_kind_expect, allow_expect,
					 listed_word };

/* May be given several times; what it says is parsed where faults are known. */
static int parse_kind_fault(const struct option_row *row, const char *text, struct options *options)
{
	int room = (int)(sizeof(options->faults) / sizeof(options->faults[0]));

	(void)row;
	if (!*text || options->nfaults >= room)
		return -EINVAL;
	options->faults[options->nfaults++] = text;
	return 0;
}

static void allow_fault(const struct option_row *row, char *buf, size_t len)
{
	(void)row;
	snprintf(buf, len,
		 "NAME[:RANKS][@OP][,key=value...], at most eight times; see "
		 "--list-faults");
}

const struct option_kind kind_fault = { 0, parse_kind_fault, allow_fault, NULL };

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

static int parse_kind_split(const struct option_row *row, const char *text, struct options *options)
{
	enum split_kind kind = SPLIT_NONE;
	size_t len = split_operator(text, &kind);
	uint64_t value;
	int rc;

	(void)row;
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
	(void)row;
	snprintf(buf, len,
		 "AND, OR, MOD or DIV (or &, |, %%, /) and a number (decimal, 0x.. or 0b..) "
		 "up to %d, not 0 for MOD and DIV",
		 INT_MAX);
}

const struct option_kind kind_split = { 0, parse_kind_split, allow_split, NULL };

/* Wins over a split that was parsed before. */
static int parse_kind_split_mask(const struct option_row *row, const char *text,
				 struct options *options)
{
	uint64_t value;
	int rc = parse_unsigned(text, 16, UINT32_MAX, &value);

	(void)row;
	if (rc < 0)
		return rc;
	options->split_kind = SPLIT_AND;
	options->split_value = (unsigned long)value;
	return 0;
}

static void allow_split_mask(const struct option_row *row, char *buf, size_t len)
{
	(void)row;
	snprintf(buf, len, "a hexadecimal number up to ffffffff");
}

const struct option_kind kind_split_mask = { 0, parse_kind_split_mask, allow_split_mask, NULL };
