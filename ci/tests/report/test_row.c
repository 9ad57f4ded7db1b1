/* test_row.c: the table of columns, cells as text in any locale. */
#include "rig/unit.h"

#include "base/parse.h"
#include "report/row.h"

static const struct column *find(const char *name)
{
	for (size_t i = 0; i < row_column_count; i++)
		if (strcmp(row_columns[i].name, name) == 0)
			return &row_columns[i];
	CU_FAIL_FATAL("no such column");
	return NULL;
}

static bool one_word(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!islower((unsigned char)*text) && !isdigit((unsigned char)*text) &&
		    *text != '_')
			return false;
	return true;
}

UNIT_TEST(test_declaration, "declaration of columns")
{
	CU_ASSERT_FATAL(row_column_count > 0);
	CU_ASSERT_STRING_EQUAL(row_columns[0].name, "schema");
	for (size_t i = 0; i < row_column_count; i++) {
		const struct column *c = &row_columns[i];

		UNIT_ALL(one_word(c->name), c->help && c->help[0], c->offset < sizeof(struct row));
		CU_ASSERT_STRING_NOT_EQUAL(c->name, "type"); /* JSON's kind of object */
		for (size_t j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(c->name, row_columns[j].name);
	}
}

static void check_cell(const struct row *row, const char *name, const char *expected)
{
	char buf[64];

	CU_ASSERT_STRING_EQUAL(column_format(find(name), row, buf, sizeof(buf)), expected);
}

UNIT_TEST(test_cells, "cells")
{
	const struct row row = {
		.schema = 1,
		.collective = "all_reduce",
		.nranks = 4,
		.size = UINT64_MAX,
		.count = 2,
		.type = "float",
		.redop = NULL,
		.root = -1,
		.time_us = 12.3456789,
		.algbw_gbs = NAN,
		.busbw_gbs = -INFINITY,
		.wrong = -1,
		.ci_percent = INFINITY,
		.samples = INT64_MAX,
		.timestamp = "2026-07-01T10:00:00+0200",
	};
	char tiny[4];

	check_cell(&row, "schema", "1");
	check_cell(&row, "collective", "all_reduce");
	check_cell(&row, "size_bytes", "18446744073709551615");
	check_cell(&row, "redop", "");
	check_cell(&row, "root", "-1");
	check_cell(&row, "time_us", "12.3457");
	check_cell(&row, "algbw_gbs", "nan");
	check_cell(&row, "busbw_gbs", "-inf");
	check_cell(&row, "ci_percent", "inf");
	check_cell(&row, "wrong", "-1");
	check_cell(&row, "samples", "9223372036854775807");
	check_cell(&row, "timestamp", "2026-07-01T10:00:00+0200");
	CU_ASSERT_STRING_EQUAL(column_format(find("collective"), &row, tiny, sizeof(tiny)), "all");
}

UNIT_TEST(test_numbers, "numbers")
{
	static const struct {
		double value;
		const char *text;
	} known[] = {
		{ 0, "0" },
		{ 12.345, "12.345" },
		{ 1234.567, "1234.57" },
		{ 1234567.89, "1234568" },
		{ 999999.4, "999999" },
		{ 999999.5, "1000000" },
		{ 8e-6, "8e-06" },
		{ -3.5, "-3.5" },
		{ 1e300, "1e+300" },
		{ NAN, "nan" },
		{ -INFINITY, "-inf" },
	};
	char buf[32];

	UNIT_ROWS(row, known)
		CU_ASSERT_STRING_EQUAL(number_text(row->value, buf, sizeof(buf)), row->text);
}
