/* options_kind.c: the kinds of values that are numbers or switches: how each is parsed, described
 * and written. */

#include "base/number.h"
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

int option_word_index(const struct option_row *row, const char *text)
{
	const char *word;
	int i;

	for (i = 0; (word = row->kind->word(row, i)); i++) {
		if (strcmp(word, text) == 0)
			return i;
	}
	return -EINVAL;
}

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
	int n = snprintf(buf, len, "a size of at least %.0f byte%s", row->min,
			 row->min > 1 ? "s" : "");

	if (row->max < (double)SIZE_MAX)
		snprintf(buf + n, len - (size_t)n, " and at most %.0f (suffixes K, M, G, T)",
			 row->max);
	else
		snprintf(buf + n, len - (size_t)n, " (suffixes K, M, G, T; less than 2^64)");
}

/* In the largest unit that divides it, as it is typed. */
static void text_size(const struct option_row *row, const void *field, char *buf, size_t len)
{
	static const char units[] = "KMGT";
	size_t value = *(const size_t *)field;
	int unit = -1;

	while (value > 0 && value % 1024 == 0 && unit < 3) {
		value /= 1024;
		unit++;
	}
	snprintf(buf, len, "%zu%.1s", value, unit < 0 ? "" : &units[unit]);
}

const struct option_kind kind_size = { sizeof(size_t), parse_kind_size, allow_size, text_size,
				       NULL };

static int parse_kind_int(const struct option_row *row, const char *text, void *field)
{
	int64_t number = row->word_value;
	int rc = 0;

	if (!row->word || strcmp(row->word, text) != 0)
		rc = parse_int(text, (int64_t)row->min, (int64_t)row->max, &number);
	if (rc == 0)
		*(int *)field = (int)number;
	return rc;
}

static void allow_int(const struct option_row *row, char *buf, size_t len)
{
	int n = snprintf(buf, len, "a whole number from %.0f to %.0f", row->min, row->max);

	if (row->word)
		snprintf(buf + n, len - (size_t)n, ", or %s", row->word);
}

static void text_int(const struct option_row *row, const void *field, char *buf, size_t len)
{
	int value = *(const int *)field;

	if (row->word && value == row->word_value)
		snprintf(buf, len, "%s", row->word);
	else
		snprintf(buf, len, "%d", value);
}

static const char *int_word(const struct option_row *row, int i)
{
	return i ? NULL : row->word;
}

const struct option_kind kind_int = { sizeof(int), parse_kind_int, allow_int, text_int, int_word };

static int parse_kind_seed(const struct option_row *row, const char *text, void *field)
{
	int64_t number;
	int rc = parse_int(text, 0, UINT32_MAX, &number);

	if (rc == 0)
		*(uint32_t *)field = (uint32_t)number;
	return rc;
}

static void text_seed(const struct option_row *row, const void *field, char *buf, size_t len)
{
	snprintf(buf, len, "%" PRIu32, *(const uint32_t *)field);
}

const struct option_kind kind_seed = { sizeof(uint32_t), parse_kind_seed, allow_int, text_seed,
				       NULL };

static int parse_kind_bool(const struct option_row *row, const char *text, void *field)
{
	int i = option_word_index(row, text);

	if (i >= 0)
		*(bool *)field = i == 1;
	return i < 0 ? i : 0;
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

static void text_bool(const struct option_row *row, const void *field, char *buf, size_t len)
{
	snprintf(buf, len, "%s", bool_word(row, *(const bool *)field));
}

const struct option_kind kind_bool = { sizeof(bool), parse_kind_bool, allow_bool, text_bool,
				       bool_word };

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
	/* the short form must not make two values alike */
	if (parse_real(buf, row->min, row->max, &back) < 0 || back != value)
		snprintf(buf, len, "%.17g", value);
}

const struct option_kind kind_real = { sizeof(double), parse_kind_real, allow_real, text_real,
				       NULL };
