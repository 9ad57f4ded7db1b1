/* sink_csv.c: rows as CSV (RFC 4180 except the line end, a line feed): one write per line. */

#include "report/sink.h"
#include "report/sink_shared.h"

static void put_field(FILE *out, const char *text, bool first)
{
	if (!first)
		fputc(',', out);
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

/* Writes names if row is NULL; `has`: the row has these columns. */
static void put_cells(FILE *out, const struct column *columns, size_t n, const struct row *row,
		      bool has)
{
	char cell[256];

	for (const struct column *c = columns; c < columns + n; c++)
		put_field(out,
			  !row	? c->name
			  : has ? column_format(c, row, cell, sizeof(cell))
				: "",
			  c == row_columns);
}

/* Writes one line: names if row is NULL. */
static int write_line(struct sink *sink, const struct row *row)
{
	char *line = NULL;
	size_t len = 0;
	FILE *out = must(open_memstream(&line, &len));
	int rc;

	put_cells(out, row_columns, row_column_count, row, true);
	put_cells(out, wrong_columns, WRONG_COLUMNS, row, row && sink_row_failed(row));
	fputc('\n', out);
	fclose(out);
	rc = sink_lines_append(sink, must(line), len);
	free(line);
	return rc;
}

static int csv_begin(struct sink *sink, const struct run_facts *facts)
{
	return write_line(sink, NULL);
}

static const struct sink_ops csv_ops = {
	.begin = csv_begin,
	.row = write_line,
	.free = sink_lines_free,
};

struct sink *sink_csv_new(const char *path, struct error *err)
{
	return sink_lines_new(&csv_ops, path, err);
}
