/* sink_table.c: the table on standard output. Its layout is nccl-tests' (src/util.cu there), so
 * that what reads theirs reads ours: 13 columns, further ones behind them, and "#" before
 * everything else. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/backend_kind.h"
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
#define NOTHING	    "N/A"

struct sink_table {
	struct sink base;
	FILE *out; /* borrowed */
	bool plain, in_place, checked, timestamps;
	bool cputime;	/* -C: the time column is the host's */
	double min_bw;	/* NCCL_TESTS_MIN_BW, 0: none */
	bool memory;	/* -M */
	bool predicted; /* columns of predictions */
	struct row_pair pair;
};

/* Text is put together in memory, so that a line reaches `out` whole. */
struct draft {
	FILE *out;
	char *text;
	size_t len;
};

static int draft_open(struct draft *draft, struct error *err)
{
	draft->text = NULL;
	draft->out = open_memstream(&draft->text, &draft->len);
	return draft->out ? 0
			  : error_set(err, OUTCOME_INTERNAL, -ENOMEM, "no memory for the table");
}

static int draft_print(struct draft *draft, struct sink_table *table)
{
	int rc = 0;

	if (fclose(draft->out) != 0)
		rc = error_set(table->base.err, OUTCOME_INTERNAL, -ENOMEM,
			       "no memory for the table");
	else if (fwrite(draft->text, 1, draft->len, table->out) != draft->len ||
		 fflush(table->out) != 0)
		rc = error_set(table->base.err, OUTCOME_INTERNAL, -EIO, "writing the table: %s",
			       strerror(errno));
	free(draft->text);
	return rc;
}

/* "# TEXT", with what would break the line replaced by blanks. */
static void put_comment(FILE *out, const char *text)
{
	fputs("# ", out);
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
	fputc('\n', out);
}

/* ---- header ---- */

static void put_count(FILE *out, const char *label, int n, int automatic)
{
	if (n == automatic)
		fprintf(out, " %s: auto", label);
	else
		fprintf(out, " %s: %d", label, n);
}

static void put_settings(FILE *out, const struct options *options)
{
	fprintf(out, "# nThread 1 nGpus 1 minBytes %zu maxBytes %zu", options->min_bytes,
		options->max_bytes);
	if (options->step_factor > 1)
		fprintf(out, " step: %d(factor)", options->step_factor);
	else
		fprintf(out, " step: %zu(bytes)", options->step_bytes);
	put_count(out, "warmup iters", options->warmup, -1);
	put_count(out, "iters", options->iters, 0);
	fprintf(out, " agg iters: %d validation: %d graph: %d unalign: %d\n", options->agg_iters,
		options->check, options->graph_launches, options->unalign);
}

static void put_meaning(FILE *out, const struct options *options)
{
	static const char *const averages[] = { "rank 0's", "the mean over the ranks",
						"the fastest rank's", "the slowest rank's" };

	fprintf(out, "# Mode %s, time is %s, seed %" PRIu32 "\n", mode_name(options->mode),
		averages[(unsigned int)options->average % 4], options->seed);
	if (options->blocking)
		fprintf(out, "# Blocking level %d (-z)\n", options->blocking);
	fputs("# Other than nccl-tests: sizes double unless -i is given, time is the slowest "
	      "rank's unless -a is\n"
	      "# given, and every rank is a process of its own\n",
	      out);
}

static void put_rank(FILE *out, const struct rank_facts *rank, const struct options *options)
{
	const char *bus = rank->device.bus_id[0] ? rank->device.bus_id : "host";
	const char *function = strchr(bus, '.');

	fprintf(out, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%.*s] %s\n", rank->rank,
		options_color(options, rank->rank), rank->pid, rank->host,
		rank->device.device_index,
		(int)(function ? function - bus : (ptrdiff_t)strlen(bus)), bus,
		rank->device.device);
}

static void put_facts(FILE *out, const struct run_facts *facts)
{
	const struct backend_facts *device = &facts->ranks[0].device;

	fprintf(out, "# hangar %s backend %s, %d rank%s on %d node%s, started %s\n",
		facts->hangar_version, facts->backend, facts->nranks, facts->nranks == 1 ? "" : "s",
		facts->nnodes, facts->nnodes == 1 ? "" : "s", facts->started);
	fprintf(out, "# Collective test starting: %s\n", facts->program);
	put_settings(out, facts->options);
	put_meaning(out, facts->options);
	put_comment(out, facts->mpi_library ? facts->mpi_library : "");
	if (backend_has(facts->backend, BACKEND_DEVICE))
		fprintf(out, "# %s, %s\n", device->library, device->runtime);
	if (device->config[0])
		fprintf(out, "# Communicator: %s\n", device->config);
	fputs("#\n# Using devices\n", out);
	for (int i = 0; i < facts->nranks; i++)
		put_rank(out, &facts->ranks[i], facts->options);
	fputs("#\n", out);
}

/* ---- the columns beyond the 13 ---- */

/* Columns that name the point are the same in both placements: printed once. The in-place ones'
 * headings begin with i. */
static bool wanted(const struct sink_table *table, const struct column *column, int side)
{
	return column->heading && (table->predicted || !column->predicted) &&
	       (side == PAIR_OUT || !row_pair_shared(column));
}

static int width_of(const struct column *column, int side)
{
	bool word = column->type == COLUMN_STRING || column->type == COLUMN_TEXT;
	int least = word ? 8 : TIME_WIDTH,
	    heading = (int)strlen(column->heading) + (side == PAIR_IN);

	return heading > least ? heading : least;
}

static void put_heading(FILE *out, const struct column *column, int side)
{
	char text[CELL_SIZE];

	snprintf(text, sizeof(text), "%s%s", side == PAIR_IN ? "i" : "", column->heading);
	fprintf(out, "  %*s", width_of(column, side), text);
}

static void put_unit(FILE *out, const struct column *column, int side)
{
	char text[CELL_SIZE] = "";

	if (column->unit[0])
		snprintf(text, sizeof(text), "(%s)", column->unit);
	fprintf(out, "  %*s", width_of(column, side), text);
}

static void put_further(FILE *out, const struct sink_table *table,
			void (*put)(FILE *out, const struct column *column, int side))
{
	for (int side = PAIR_OUT; side < PAIR_SIDES; side++)
		for (size_t i = 0; i < row_column_count; i++)
			if (wanted(table, &row_columns[i], side))
				put(out, &row_columns[i], side);
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

static void put_cell(FILE *out, const struct column *column, int side, const struct row *row)
{
	char text[CELL_SIZE] = NOTHING;

	if (row && column->type == COLUMN_DOUBLE)
		number_fit(*(const double *)((const char *)row + column->offset), TIME_WIDTH, text,
			   sizeof(text));
	else if (row)
		column_format(column, row, text, sizeof(text));
	make_word(text);
	fprintf(out, "  %*s", width_of(column, side), text);
}

static const struct row *side_row(const struct row_pair *pair, int side)
{
	return pair->has[side] ? &pair->rows[side] : NULL;
}

static void put_further_cells(FILE *out, const struct sink_table *table)
{
	const struct row_pair *pair = &table->pair;

	for (int side = PAIR_OUT; side < PAIR_SIDES; side++) {
		for (size_t i = 0; i < row_column_count; i++) {
			const struct column *column = &row_columns[i];

			if (wanted(table, column, side))
				put_cell(out, column, side,
					 row_pair_shared(column) ? row_pair_any(pair)
								 : side_row(pair, side));
		}
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
	if (!table->plain)
		put_further(out, table, put_heading);
	if (table->timestamps)
		fprintf(out, "  %*s", STAMP_WIDTH, "timestamp");
	fprintf(out, "\n" HEAD_FORMAT CELL_FORMAT CELL_FORMAT, "(B)", "(elements)", "", "", "",
		"(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
	if (!table->plain)
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
	put_comment(out, line);
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
	if (!table->plain)
		put_further_cells(out, table);
	if (table->timestamps)
		fprintf(out, "  %*s", STAMP_WIDTH, stamp[0] ? stamp : NOTHING);
	fputc('\n', out);
}

/* Print the point that is held, if any. */
static int print_pair(struct sink_table *table)
{
	struct draft draft;
	int rc;

	if (row_pair_empty(&table->pair))
		return 0;
	rc = draft_open(&draft, table->base.err);
	if (rc == 0) {
		put_line(draft.out, table);
		rc = draft_print(&draft, table);
	}
	row_pair_clear(&table->pair);
	return rc;
}

/* ---- hooks ---- */

static int table_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;
	int rc;

	table->cputime = facts->options->cputime;
	table->min_bw = facts->options->min_bw;
	table->memory = facts->options->memory_report;
	table->predicted = facts->predicted;
	rc = draft_open(&draft, sink->err);
	if (rc < 0)
		return rc;
	put_facts(draft.out, facts);
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
	if (row_pair_put(&table->pair, row) < 0)
		return error_set(sink->err, OUTCOME_INTERNAL, -ENOMEM, "no memory for the table");
	if (!table->in_place || table->pair.has[PAIR_IN])
		rc = print_pair(table);
	return rc;
}

static int table_comment(struct sink *sink, const char *line)
{
	struct sink_table *table = (struct sink_table *)sink;
	struct draft draft;
	int rc = draft_open(&draft, sink->err);

	if (rc < 0)
		return rc;
	put_comment(draft.out, line);
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
	put_comment(out, line);
}

/* Below the wanted bandwidth, with nccl-tests' tolerance of 10 %. */
static const char *bandwidth_verdict(double avg, double least)
{
	if (least <= 0)
		return "";
	return avg >= 0.9 * least ? "OK" : "FAILED";
}

static int table_end(struct sink *sink, const struct run_summary *summary)
{
	struct sink_table *table = (struct sink_table *)sink;
	char avg[CELL_SIZE];
	struct draft draft;
	int rc = print_pair(table);

	if (rc < 0)
		return rc;
	rc = draft_open(&draft, sink->err);
	if (rc < 0)
		return rc;
	put_error(draft.out, summary->err);
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

struct sink *sink_table_new(FILE *out, bool plain, bool in_place, bool checked, bool timestamps,
			    struct error *err)
{
	struct sink_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->base.ops = &table_ops;
	table->base.err = err;
	table->out = out;
	table->plain = plain;
	table->in_place = in_place;
	table->checked = checked;
	table->timestamps = timestamps;
	return &table->base;
}
