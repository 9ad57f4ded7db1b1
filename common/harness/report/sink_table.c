/* sink_table.c: the table on standard output. The layout is nccl-tests' (src/util.cu there), so
 * scripts read both: 13 columns, then further ones, and "#" before everything else. */

#include "base/parse.h"
#include "report/row.h"
#include "report/sink.h"
#include "report/sink_shared.h"

#define CELL_SIZE   64
#define COLUMNS_MAX 24
#define NOTHING	    "N/A"
#define AT(field)   offsetof(struct row, field)

enum { OUT_OF_PLACE, IN_PLACE, SIDES };

/* Columns of the point, of a placement, and those that fit beside the 13 into 140 characters. */
struct place {
	const char *heading, *unit;
	size_t offset; /* in struct row */
	int width;
};
static const struct place point[] = { { "size", "(B)", AT(size), 12 },
				      { "count", "(elements)", AT(count), 12 },
				      { "type", "", AT(type), 8 },
				      { "redop", "", AT(redop), 6 },
				      { "root", "", AT(root), 6 } };
static const struct place measured[] = { { "time", "(us)", AT(time_us), 7 },
					 { "algbw", "(GB/s)", AT(algbw_gbs), 6 },
					 { "busbw", "(GB/s)", AT(busbw_gbs), 6 },
					 { "#wrong", "", AT(wrong), 6 } };
static const struct place host_time = { "cputime", "(us)", AT(enqueue_us), 7 };
static const struct place narrow[] = { { "predbw", "(GB/s)", AT(predicted_busbw_gbs), 6 },
				       { "ofpred", "(%)", AT(of_predicted_percent), 6 },
				       { "ci", "(%)", AT(ci_percent), 4 } };
static const struct place stamp = { "timestamp", "", AT(timestamp), 26 };

struct printed {
	const struct place *place;
	const struct column *column;
	int side;
};

struct sink_table {
	struct sink base;
	FILE *out;		       /* borrowed */
	const struct run_facts *facts; /* borrowed */
	enum table_kind kind;
	bool checked, timestamps;
	struct printed columns[COLUMNS_MAX];
	size_t n;
	const struct row *rows[SIDES]; /* of the point to print, borrowed; NULL: none */
};

/* Text is composed in memory, so a line reaches `out` whole. */
struct draft {
	FILE *out;
	char *text;
	size_t len;
};

static FILE *draft_open(struct draft *draft)
{
	draft->text = NULL;
	return draft->out = must(open_memstream(&draft->text, &draft->len));
}

static int draft_print(struct draft *draft, struct sink_table *table)
{
	int rc = 0;

	fclose(draft->out);
	if (fwrite(must(draft->text), 1, draft->len, table->out) != draft->len ||
	    fflush(table->out) != 0)
		rc = error_set(table->base.err, OUTCOME_INTERNAL, -EIO, "writing the table: %s",
			       strerror(errno));
	free(draft->text);
	return rc;
}

static void add(struct sink_table *table, const struct place *place, size_t n, int side)
{
	for (const struct place *p = place; p < place + n; p++) {
		const struct column *column = row_columns;

		while (column->offset != p->offset)
			column++;
		table->columns[table->n++] = (struct printed){ p, column, side };
	}
}

static void choose_columns(struct sink_table *table)
{
	bool host = table->facts->options->cputime; /* -C */

	table->n = 0;
	add(table, point, LENGTH(point), OUT_OF_PLACE);
	for (int side = OUT_OF_PLACE; side < SIDES; side++) {
		add(table, host ? &host_time : measured, 1, side);
		add(table, measured + 1, LENGTH(measured) - 1, side);
	}
	if (table->kind == TABLE_HANGAR)
		add(table, narrow, LENGTH(narrow), OUT_OF_PLACE);
	if (table->timestamps)
		add(table, &stamp, 1, OUT_OF_PLACE);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Prints up to two decimals in `width` characters; a wide integer part moves the cells behind. */
static void number_fit(double value, int width, char *buf)
{
	for (int decimals = 2; decimals >= 0; decimals--)
		if (snprintf(buf, CELL_SIZE, "%.*f", decimals, value) <= width)
			return;
}

/* Writes a cell as one word; returns buf. The time of day is the last row's. */
static char *cell_text(const struct sink_table *table, const struct printed *printed, char *buf)
{
	const struct column *column = printed->column;
	bool late = printed->place == &stamp && table->rows[IN_PLACE];
	const struct row *row = table->rows[late ? IN_PLACE : printed->side];
	double value;

	buf[0] = '\0';
	if (row && column->type == COLUMN_DOUBLE) {
		value = *(const double *)((const char *)row + column->offset);
		if (isfinite(value) && fabs(value) < 1e15)
			number_fit(value, printed->place->width, buf);
	} else if (row && (column->offset != AT(wrong) || (table->checked && row->wrong >= 0))) {
		column_format(column, row, buf, CELL_SIZE);
	}
	if (!buf[0])
		strcpy(buf, NOTHING);
	for (char *c = buf; *c; c++)
		if (strchr(" \t\r\n", *c))
			*c = '_';
	return buf;
}

enum line { HEADINGS, UNITS, CELLS };

/* Writes a line of headings or units, with the "#" in the first cell, or one of the point. */
static void put_line(FILE *out, const struct sink_table *table, enum line line)
{
	const char *before = line == CELLS ? "" : "# ";
	char cell[CELL_SIZE];

	for (size_t i = 0; i < table->n; i++) {
		const struct printed *printed = &table->columns[i];
		const char *text = line == HEADINGS ? printed->place->heading
				   : line == UNITS  ? printed->place->unit
						    : cell_text(table, printed, cell);

		fprintf(out, "%s%*s", i ? "  " : before,
			printed->place->width - (i ? 0 : (int)strlen(before)), text);
	}
	fputc('\n', out);
}

static void put_wrong(FILE *out, const struct row *row)
{
	char what[256], line[320];

	if (!sink_row_failed(row))
		return;
	check_describe(&row->report, what, sizeof(what));
	snprintf(line, sizeof(line), "wrong: %s, %s", what, row->placement);
	sink_put_comment(out, line);
}

/* ---- hooks -------------------------------------------------------------------------------- */

static int table_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;

	table->facts = facts;
	choose_columns(table);
	sink_table_head(draft_open(&draft), facts);
	if (facts->options->nfaults == 0) { /* a schedule has no rows */
		fprintf(draft.out, "# %50s           out-of-place                       in-place\n",
			"");
		put_line(draft.out, table, HEADINGS);
		put_line(draft.out, table, UNITS);
	}
	return draft_print(&draft, table);
}

static int table_point(struct sink *sink, const struct row *out, const struct row *in)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;

	table->rows[OUT_OF_PLACE] = out;
	table->rows[IN_PLACE] = in;
	put_wrong(draft_open(&draft), out);
	if (in)
		put_wrong(draft.out, in);
	put_line(draft.out, table, CELLS);
	return draft_print(&draft, table);
}

static int table_comment(struct sink *sink, const char *line)
{
	struct draft draft;

	sink_put_comment(draft_open(&draft), line);
	return draft_print(&draft, (struct sink_table *)sink);
}

/* "1.50 GB": two decimals below 10, one below 100. */
static void put_memory_amount(FILE *out, const char *label, size_t bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB" };
	double amount = (double)bytes;
	size_t unit = 0;

	for (; amount >= 1024 && unit + 1 < LENGTH(units); unit++)
		amount /= 1024;
	fprintf(out, "%s %.*f %s", label,
		amount < 10    ? 2
		: amount < 100 ? 1
			       : 0,
		amount, units[unit]);
}

static void put_memory(FILE *out, const struct memory_use *memory)
{
	fprintf(out, "# %-20s : ", "GPU memory usage");
	put_memory_amount(out, "Initialization", memory->init);
	put_memory_amount(out, " | User-Allocated", memory->buffers);
	put_memory_amount(out, " | Collective", memory->collectives);
	put_memory_amount(out, " | Total ", memory->init + memory->buffers + memory->collectives);
	fputc('\n', out);
}

static int table_end(struct sink *sink, const struct run_summary *summary)
{
	struct sink_table *table = (struct sink_table *)sink;
	double wanted = table->facts->options->min_bw, reached = summary->avg_busbw_gbs;
	char avg[CELL_SIZE];
	struct draft draft;

	draft_open(&draft);
	if (!summary->checked)
		fputs("# The data were not checked\n", draft.out);
	fprintf(draft.out, "# %-20s : %ld %s\n", "Out of bounds values", summary->wrong_checks,
		summary->wrong_checks ? "FAILED" : "OK");
	if (summary->calls_checked > 0)
		fprintf(draft.out, "# %-20s : %d\n", "Calls checked", summary->calls_checked);
	else
		/* nccl-tests tolerates 10 % below the required value */
		fprintf(draft.out, "# %-20s : %s %s\n", "Avg bus bandwidth",
			number_text(reached, avg, sizeof(avg)),
			wanted <= 0		  ? ""
			: reached >= 0.9 * wanted ? "OK"
						  : "FAILED");
	if (summary->peak.busbw_gbs > 0)
		fprintf(draft.out, "# %-20s : %s, %lu B %s\n", "Peak bus bandwidth",
			number_text(summary->peak.busbw_gbs, avg, sizeof(avg)), summary->peak.size,
			summary->peak.placement);
	if (table->facts->options->memory_report)
		put_memory(draft.out, &summary->memory);
	return draft_print(&draft, table);
}

static void table_free(struct sink *sink)
{
	free(sink);
}

static const struct sink_ops table_ops = {
	.begin = table_begin,
	.point = table_point,
	.comment = table_comment,
	.end = table_end,
	.free = table_free,
};

struct sink *sink_table_new(FILE *out, enum table_kind kind, bool checked, bool timestamps,
			    struct error *err)
{
	struct sink_table *table = must(calloc(1, sizeof(*table)));

	table->base.ops = &table_ops;
	table->base.err = err;
	table->out = out;
	table->kind = kind;
	table->checked = checked;
	table->timestamps = timestamps;
	return &table->base;
}
