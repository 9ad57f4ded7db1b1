/* sink_table.c: the table on standard output. Its layout is nccl-tests' (src/util.cu there), so
 * that what reads theirs reads ours: 13 columns, further ones behind them, and "#" before
 * everything else. */

#include "options/backend_kind.h"
#include "base/number.h"
#include "report/row_pair.h"
#include "report/sink.h"
#include "report/sink_shared.h"

/* Widths of nccl-tests' cells. */
#define TIME_WIDTH   7
#define RATE_WIDTH   6
#define POINT_FORMAT "%12s  %12s  %8s  %6s  %6s"
#define HEAD_FORMAT  "# %10s  %12s  %8s  %6s  %6s"
#define CELL_FORMAT  "  %7s  %6s  %6s  %6s"

#define STAMP_WIDTH 26
#define CELL_SIZE   64
#define FURTHER_MAX 64
#define NOTHING	    "N/A"

/* A column beyond the 13. */
struct further {
	const struct column *column;
	int side, width;
};

struct sink_table {
	struct sink base;
	FILE *out; /* borrowed */
	enum table_kind kind;
	bool in_place, checked, timestamps;
	bool cputime;	/* -C: the time column is the host's */
	double min_bw;	/* NCCL_TESTS_MIN_BW, 0: none */
	bool memory;	/* -M */
	bool predicted; /* columns of predictions */
	struct further further[FURTHER_MAX];
	size_t nfurther;
	struct row_pair pair;
};

/* Text is put together in memory, so that a line reaches `out` whole. */
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

/* ---- the columns beyond the 13 ---- */

/* Columns that name the point are the same in both placements: printed once. The in-place ones'
 * headings begin with i. */
static bool is_wide(const struct sink_table *table, const struct column *column, int side)
{
	return column->heading && (table->predicted || !column->predicted) &&
	       (side == PAIR_OUT || !row_pair_shared(column));
}

static int wide_width(const struct column *column, int side)
{
	bool word = column->type == COLUMN_STRING || column->type == COLUMN_TEXT;
	int min_width = word ? 8 : TIME_WIDTH;
	int heading = (int)strlen(column->heading) + (side == PAIR_IN);

	return heading > min_width ? heading : min_width;
}

static void add_further(struct sink_table *table, const struct column *column, int side, int width)
{
	table->further[table->nfurther++] = (struct further){ column, side, width };
}

/* Chooses the columns that fit beside the 13 into 140 characters. */
static void choose_narrow(struct sink_table *table)
{
	static const struct {
		size_t offset;
		int width;
	} narrow[] = {
		{ offsetof(struct row, predicted_busbw_gbs), RATE_WIDTH },
		{ offsetof(struct row, of_predicted_percent), RATE_WIDTH },
		{ offsetof(struct row, ci_percent), 4 },
	};

	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		for (size_t j = 0; j < row_column_count; j++)
			if (row_columns[j].offset == narrow[i].offset)
				add_further(table, &row_columns[j], PAIR_OUT, narrow[i].width);
}

static void choose_further(struct sink_table *table)
{
	table->nfurther = 0;
	if (table->kind == TABLE_HANGAR)
		choose_narrow(table);
	for (int side = PAIR_OUT; side < PAIR_SIDES && table->kind == TABLE_WIDE; side++)
		for (size_t i = 0; i < row_column_count && table->nfurther < FURTHER_MAX; i++)
			if (is_wide(table, &row_columns[i], side))
				add_further(table, &row_columns[i], side,
					    wide_width(&row_columns[i], side));
}

static void put_heading(FILE *out, const struct further *further)
{
	char text[CELL_SIZE];

	snprintf(text, sizeof(text), "%s%s", further->side == PAIR_IN ? "i" : "",
		 further->column->heading);
	fprintf(out, "  %*s", further->width, text);
}

static void put_unit(FILE *out, const struct further *further)
{
	char text[CELL_SIZE] = "";

	if (further->column->unit[0])
		snprintf(text, sizeof(text), "(%s)", further->column->unit);
	fprintf(out, "  %*s", further->width, text);
}

static void put_further(FILE *out, const struct sink_table *table,
			void (*put)(FILE *out, const struct further *further))
{
	for (size_t i = 0; i < table->nfurther; i++)
		put(out, &table->further[i]);
}

/* A cell is one word, whatever it came from. */
static void make_word(char *text)
{
	if (!text[0])
		strcpy(text, NOTHING);
	for (; *text; text++)
		if (strchr(" \t\r\n", *text))
			*text = '_';
}

static void put_cell(FILE *out, const struct sink_table *table, const struct further *further,
		     const struct row *row)
{
	const struct column *column = further->column;
	char text[CELL_SIZE] = NOTHING;
	double value;

	if (row && column->type == COLUMN_DOUBLE) {
		value = *(const double *)((const char *)row + column->offset);
		if (table->kind == TABLE_WIDE || isfinite(value))
			number_fit(value, further->width < TIME_WIDTH ? further->width : TIME_WIDTH,
				   text, sizeof(text));
	} else if (row) {
		column_format(column, row, text, sizeof(text));
	}
	make_word(text);
	fprintf(out, "  %*s", further->width, text);
}

static const struct row *side_row(const struct row_pair *pair, int side)
{
	return pair->has[side] ? &pair->rows[side] : NULL;
}

static void put_further_cells(FILE *out, const struct sink_table *table)
{
	const struct row_pair *pair = &table->pair;

	for (size_t i = 0; i < table->nfurther; i++) {
		const struct further *further = &table->further[i];

		put_cell(out, table, further,
			 row_pair_shared(further->column) ? row_pair_any(pair)
							  : side_row(pair, further->side));
	}
}

/* ---- the 13 ---- */

static void put_headings(FILE *out, const struct sink_table *table)
{
	const char *time = table->cputime ? "cputime" : "time";

	fprintf(out, HEAD_FORMAT "           out-of-place                       in-place\n", "", "",
		"", "", "");
	fprintf(out, HEAD_FORMAT CELL_FORMAT CELL_FORMAT, "size", "count", "type", "redop", "root",
		time, "algbw", "busbw", "#wrong", time, "algbw", "busbw", "#wrong");
	put_further(out, table, put_heading);
	if (table->timestamps)
		fprintf(out, "  %*s", STAMP_WIDTH, "timestamp");
	fprintf(out, "\n" HEAD_FORMAT CELL_FORMAT CELL_FORMAT, "(B)", "(elements)", "", "", "",
		"(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
	put_further(out, table, put_unit);
	fputc('\n', out);
}

static void put_point(FILE *out, const struct row *row)
{
	char size[CELL_SIZE], count[CELL_SIZE], root[CELL_SIZE];

	snprintf(size, sizeof(size), "%" PRIu64, row->size);
	snprintf(count, sizeof(count), "%" PRIu64, row->count);
	snprintf(root, sizeof(root), "%" PRId32, row->root);
	fprintf(out, POINT_FORMAT, size, count, row->type, row->redop, root);
}

static void put_side(FILE *out, const struct sink_table *table, const struct row *row)
{
	char time[CELL_SIZE], algbw[CELL_SIZE], busbw[CELL_SIZE], wrong[CELL_SIZE] = NOTHING;

	if (!row) {
		fprintf(out, CELL_FORMAT, NOTHING, NOTHING, NOTHING, NOTHING);
		return;
	}
	number_fit(table->cputime ? row->enqueue_us : row->time_us, TIME_WIDTH, time, sizeof(time));
	number_fit(row->algbw_gbs, RATE_WIDTH, algbw, sizeof(algbw));
	number_fit(row->busbw_gbs, RATE_WIDTH, busbw, sizeof(busbw));
	/* In full: nccl-tests rounds to six digits. */
	if (table->checked && row->wrong >= 0)
		snprintf(wrong, sizeof(wrong), "%" PRId64, row->wrong);
	fprintf(out, CELL_FORMAT, time, algbw, busbw, wrong);
}

static void put_wrong(FILE *out, const struct row *row)
{
	char what[256], line[320];

	if (!row || !sink_row_failed(row))
		return;
	check_describe(&row->report, what, sizeof(what));
	snprintf(line, sizeof(line), "wrong: %s, %s", what, row->placement);
	sink_put_comment(out, line);
}

static void put_line(FILE *out, const struct sink_table *table)
{
	const struct row_pair *pair = &table->pair;
	const char *stamp = pair->rows[pair->has[PAIR_IN] ? PAIR_IN : PAIR_OUT].timestamp;

	put_wrong(out, side_row(pair, PAIR_OUT));
	put_wrong(out, side_row(pair, PAIR_IN));
	put_point(out, row_pair_any(pair));
	put_side(out, table, side_row(pair, PAIR_OUT));
	put_side(out, table, side_row(pair, PAIR_IN));
	put_further_cells(out, table);
	if (table->timestamps)
		fprintf(out, "  %*s", STAMP_WIDTH, stamp[0] ? stamp : NOTHING);
	fputc('\n', out);
}

/* Print the point that is held, if any. */
static int print_pair(struct sink_table *table)
{
	struct draft draft;

	if (row_pair_empty(&table->pair))
		return 0;
	put_line(draft_open(&draft), table);
	row_pair_clear(&table->pair);
	return draft_print(&draft, table);
}

/* ---- hooks ---- */

static int table_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;

	table->cputime = facts->options->cputime;
	table->min_bw = facts->options->min_bw;
	table->memory = facts->options->memory_report;
	table->predicted = facts->predicted;
	choose_further(table);
	sink_table_head(draft_open(&draft), facts);
	put_headings(draft.out, table);
	return draft_print(&draft, table);
}

static int table_row(struct sink *sink, const struct row *row)
{
	struct sink_table *table = (struct sink_table *)sink;
	int rc = 0;

	if (!row_pair_takes(&table->pair, row))
		rc = print_pair(table);
	if (rc < 0)
		return rc;
	row_pair_put(&table->pair, row);
	if (!table->in_place || table->pair.has[PAIR_IN])
		rc = print_pair(table);
	return rc;
}

static int table_comment(struct sink *sink, const char *line)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;

	sink_put_comment(draft_open(&draft), line);
	return draft_print(&draft, table);
}

/* "1.50 GB": two decimals below 10, one below 100. */
static void put_memory_amount(FILE *out, const char *label, size_t bytes)
{
	static const char *const units[] = { "B", "KB", "MB", "GB" };
	double amount = (double)bytes;
	char text[CELL_SIZE];
	size_t unit = 0;

	for (; amount >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		amount /= 1024;
	number_fixed(amount, amount < 10 ? 2 : amount < 100 ? 1 : 0, text, sizeof(text));
	fprintf(out, "%s %s %s", label, text, units[unit]);
}

static void put_memory(FILE *out, const struct run_summary *summary)
{
	fprintf(out, "# %-20s : ", "GPU memory usage");
	put_memory_amount(out, "Initialization", summary->memory_init);
	put_memory_amount(out, " | User-Allocated", summary->memory_buffers);
	put_memory_amount(out, " | Collective", summary->memory_collectives);
	put_memory_amount(out, " | Total ",
			  summary->memory_init + summary->memory_buffers +
				  summary->memory_collectives);
	fputc('\n', out);
}

static void put_error(FILE *out, const struct error *err)
{
	char line[640];

	if (!err || err->outcome == OUTCOME_OK)
		return;
	if (err->rank >= 0)
		snprintf(line, sizeof(line), "error: rank %d: %s (%s:%d)", err->rank, err->text,
			 err->file ? err->file : "?", err->line);
	else
		snprintf(line, sizeof(line), "error: %s (%s:%d)", err->text,
			 err->file ? err->file : "?", err->line);
	sink_put_comment(out, line);
}

/* Below the wanted bandwidth, with nccl-tests' tolerance of 10 %. */
static const char *bandwidth_verdict(double avg, double wanted)
{
	if (wanted <= 0)
		return "";
	return avg >= 0.9 * wanted ? "OK" : "FAILED";
}

static int table_end(struct sink *sink, const struct run_summary *summary)
{
	struct sink_table *table = (struct sink_table *)sink;
	char avg[CELL_SIZE];
	struct draft draft;
	int rc = print_pair(table);

	if (rc < 0)
		return rc;
	put_error(draft_open(&draft), summary->err);
	if (!summary->checked)
		fputs("# The data were not checked\n", draft.out);
	fprintf(draft.out, "# %-20s : %" PRId64 " %s\n", "Out of bounds values",
		summary->wrong_checks, summary->wrong_checks ? "FAILED" : "OK");
	if (summary->calls_checked > 0)
		fprintf(draft.out, "# %-20s : %d\n", "Calls checked", summary->calls_checked);
	else
		fprintf(draft.out, "# %-20s : %s %s\n", "Avg bus bandwidth",
			number_text(summary->avg_busbw_gbs, avg, sizeof(avg)),
			bandwidth_verdict(summary->avg_busbw_gbs, table->min_bw));
	if (table->memory)
		put_memory(draft.out, summary);
	return draft_print(&draft, table);
}

static void table_free(struct sink *sink)
{
	struct sink_table *table = (struct sink_table *)sink;

	row_pair_clear(&table->pair);
	free(table);
}

static const struct sink_ops table_ops = {
	.name = "table",
	.begin = table_begin,
	.row = table_row,
	.comment = table_comment,
	.end = table_end,
	.free = table_free,
};

struct sink *sink_table_new(FILE *out, enum table_kind kind, bool in_place, bool checked,
			    bool timestamps, struct error *err)
{
	struct sink_table *table = must(calloc(1, sizeof(*table)));

	table->base.ops = &table_ops;
	table->base.err = err;
	table->out = out;
	table->kind = kind;
	table->in_place = in_place;
	table->checked = checked;
	table->timestamps = timestamps;
	return &table->base;
}
