/* test_sink.c: what the sinks write, read back as a user's script would: a parser of nccl-tests'
 * table, a CSV reader, jansson; after every row, and after a cut at every byte. */
#include "unit.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink.h"

#define RANKS  2
#define FIELDS 64

static char folder[UNIT_TEMP];
static char *command[] = { (char *)"./all_reduce_perf", (char *)"--csv=a \"b\",c",
			   (char *)"\xff\xfe", NULL };
static struct options options;
static struct rank_facts ranks[RANKS];
static struct run_facts facts;
static struct error err;

static const double samples[] = { 10, 11, 12, 13, 14, 15 }; /* 3 samples x 2 ranks */
static const struct stats per_rank[RANKS] = {
	{ .n = 3, .median = 12, .min = 10, .max = 14, .p99 = 13.5 },
	{ .n = 3, .median = 13, .min = 11, .max = 15, .p99 = NAN }
};

static void set_up(void)
{
	err = (struct error){ .rank = -1 };
	options = (struct options){
		.min_bytes = 8,
		.max_bytes = 1 << 20,
		.step_factor = 2,
		.backend = "nccl",
		.warmup = -1,
		.agg_iters = 1,
		.check = 1,
		.seed = 42,
		.average = AVERAGE_MAX,
		.dtype_first = DT_FLOAT,
		.dtype_last = DT_FLOAT,
		.budget = INFINITY,
	};
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank_facts){ .rank = i, .node = i, .pid = 100 + i };
		snprintf(ranks[i].host, sizeof(ranks[i].host), "node\xe9%d", i);
		ranks[i].device = (struct backend_facts){ .library = "NCCL 2.28.9",
							  .runtime = "CUDA runtime 13.0",
							  .device = "NVIDIA H200",
							  .bus_id = "0000:18:00.0",
							  .library_code = 22809,
							  .device_index = i };
	}
	facts = (struct run_facts){ .program = "all_reduce_perf",
				    .argc = 3,
				    .argv = command,
				    .options = &options,
				    .backend = "nccl",
				    .mpi_library = "Open MPI v4.1.4",
				    .hangar_version = "0.1",
				    .started = "2026-07-01T10:00:00+0200",
				    .nranks = RANKS,
				    .nnodes = RANKS,
				    .ranks = ranks };
}

static struct row make_row(uint64_t size, bool in_place)
{
	return (struct row){
		.schema = ROW_SCHEMA,
		.collective = "all_reduce",
		.backend = "nccl",
		.nranks = RANKS,
		.nnodes = RANKS,
		.size = size,
		.count = size / 4,
		.type = "float",
		.redop = "sum",
		.root = -1,
		.placement = in_place ? "in-place" : "out-of-place",
		.mode = "stream",
		.time_us = in_place ? 13.5 : 12.25,
		.algbw_gbs = 1.5,
		.busbw_gbs = in_place ? 3 : 2,
		.wrong = 0,
		.mean_us = 12.3,
		.min_us = 10,
		.p5_us = 10.1,
		.p95_us = 14.5,
		.p99_us = 14.875,
		.max_us = 15,
		.stddev_us = 1,
		.ci_low_us = 12,
		.ci_high_us = 13,
		.ci_percent = 0.84,
		.samples = 3,
		.calls = 20,
		.stop = "ci",
		.enqueue_us = 4.5,
		.slowest_rank = 1,
		.timestamp = "2026-07-01T10:00:01+0200",
		.sample_times_us = samples,
		.per_rank = per_rank,
	};
}

static struct row make_wrong_row(uint64_t size, bool in_place)
{
	struct row row = make_row(size, in_place);

	row.wrong = 12;
	row.report = (struct check_report){ .wrong = 12,
					    .kind = WRONG_ZERO,
					    .rank = 1,
					    .culprit = -1,
					    .element = (uint64_t)-4,
					    .expected = "3 (0x40400000)",
					    .got = "0,\"\n" };
	return row;
}

static struct run_summary make_summary(void)
{
	return (struct run_summary){ .checked = true, .avg_busbw_gbs = 2.5 };
}

static const char *path_of(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* The whole file, to be freed; *len may be NULL. */
static char *slurp(const char *path, size_t *len)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);
	size_t n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	n = fread(text, 1, (1 << 20) - 1, file);
	fclose(file);
	if (len)
		*len = n;
	return text;
}

/* ---- table ---- */

/* A table in memory. */
struct screen {
	FILE *out;
	char *text;
	size_t len;
	struct sink *sink;
};

static void screen_open(struct screen *screen, bool plain, bool in_place, bool checked,
			bool timestamps)
{
	screen->text = NULL;
	screen->out = open_memstream(&screen->text, &screen->len);
	screen->sink = sink_table_new(screen->out, plain, in_place, checked, timestamps, &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(screen->sink);
	CU_ASSERT_EQUAL(screen->sink->ops->begin(screen->sink, &facts), 0);
}

static void screen_close(struct screen *screen)
{
	screen->sink->ops->free(screen->sink);
	fclose(screen->out);
	free(screen->text);
}

static void put(struct sink *sink, struct row row)
{
	CU_ASSERT_EQUAL(sink->ops->row(sink, &row), 0);
}

static int split(char *line, char **fields)
{
	char *save;
	int n = 0;

	for (char *f = strtok_r(line, " \t", &save); f && n < FIELDS;
	     f = strtok_r(NULL, " \t", &save))
		fields[n++] = f;
	return n;
}

/* What scripts do with nccl-tests' output: skip "#" and empty lines, split the rest. Field numbers
 * start at 0. Copies go to `rows`; returns their number. */
struct parsed {
	int n;
	char line[1024];
	char *field[FIELDS];
};

static int parse_table(const char *text, struct parsed *rows, int max)
{
	char *copy = strdup(text), *save;
	int n = 0;

	for (char *line = strtok_r(copy, "\n", &save); line && n < max;
	     line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '#')
			continue;
		snprintf(rows[n].line, sizeof(rows[n].line), "%s", line);
		rows[n].n = split(rows[n].line, rows[n].field);
		n++;
	}
	free(copy);
	return n;
}

/* Number of words in the line that begins with "# ... size", without its "#". */
static int headings(const char *text, char *line, size_t len, char **field)
{
	const char *at = strstr(text, "\n#       size  ");

	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	at += 2;
	snprintf(line, len, "%.*s", (int)strcspn(at, "\n"), at);
	return split(line, field);
}

static void check_fields(const struct parsed *row, const char *const *expected, int n)
{
	CU_ASSERT_TRUE_FATAL(row->n >= n);
	for (int i = 0; i < n; i++)
		CU_ASSERT_STRING_EQUAL(row->field[i], expected[i]);
}

static const char *const both[] = { "8",    "2", "float", "sum",  "-1",	  "12.25", "1.50",
				    "2.00", "0", "13.50", "1.50", "3.00", "0" };

static void test_table_plain(void)
{
	const struct run_summary summary = make_summary();
	struct parsed rows[4];
	struct screen s;

	set_up();
	screen_open(&s, true, true, true, false);
	put(s.sink, make_row(8, false));
	CU_ASSERT_EQUAL(parse_table(s.text, rows, 4), 0); /* the twin is awaited */
	put(s.sink, make_row(8, true));
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 4), 1);
	CU_ASSERT_EQUAL(rows[0].n, 13);
	check_fields(&rows[0], both, 13);
	/* nccl-tests' own columns, blank for blank. */
	CU_ASSERT_PTR_NOT_NULL(
		strstr(s.text, "\n           8             2     float     sum      -1    12.25"
			       "    1.50    2.00       0    13.50    1.50    3.00       0\n"));
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(s.text, "\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5 \n"));
	CU_ASSERT_STRING_EQUAL(s.text + s.len - 30, "# Avg bus bandwidth    : 2.5 \n");
	screen_close(&s);
}

static void test_table_header(void)
{
	char line[1024], *field[FIELDS];
	struct screen s;

	set_up();
	options.iters = 20;
	screen_open(&s, true, true, true, false);
	CU_ASSERT_EQUAL(headings(s.text, line, sizeof(line), field), 13);
	CU_ASSERT_STRING_EQUAL(field[5], "time");
	CU_ASSERT_STRING_EQUAL(field[12], "#wrong");
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# Collective test starting: all_reduce_perf\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(s.text, " minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: auto"
			       " iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "#  Rank  1 Group  0 Pid    101 on"));
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, " device  1 [0000:18:00] NVIDIA H200\n"));
	for (const char *l = s.text; *l; l = strchr(l, '\n') + 1)
		CU_ASSERT_EQUAL(*l, '#');
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, " backend nccl, 2 ranks on 2 nodes, started "));
	screen_close(&s);
	facts.nranks = facts.nnodes = 1;
	screen_open(&s, true, true, true, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, " backend nccl, 1 rank on 1 node, started "));
	screen_close(&s);
	facts.nranks = facts.nnodes = RANKS;

	/* -C: the column is the host's time and says so. */
	options.cputime = true;
	screen_open(&s, true, false, true, false);
	headings(s.text, line, sizeof(line), field);
	CU_ASSERT_STRING_EQUAL(field[5], "cputime");
	put(s.sink, make_row(8, false));
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "-1     4.50    1.50"));
	screen_close(&s);
}

static void test_table_extended(void)
{
	char line[1024], *field[FIELDS];
	struct parsed rows[4];
	struct screen s;
	int n, mode = -1, ip99 = -1;

	set_up();
	screen_open(&s, false, true, true, true);
	put(s.sink, make_row(8, false));
	put(s.sink, make_row(8, true));
	put(s.sink, make_row(16, false)); /* its twin never comes */
	put(s.sink, make_row(32, false));
	n = headings(s.text, line, sizeof(line), field);
	CU_ASSERT_TRUE_FATAL(n > 14);
	for (int i = 13; i < n; i++) {
		CU_ASSERT_STRING_NOT_EQUAL(field[i], "time");
		CU_ASSERT_STRING_NOT_EQUAL(field[i], "algbw");
		CU_ASSERT_STRING_NOT_EQUAL(field[i], "busbw");
		for (int j = 0; j < i && i > 13; j++)
			CU_ASSERT_STRING_NOT_EQUAL(field[i], field[j]);
		if (strcmp(field[i], "mode") == 0)
			mode = i;
		if (strcmp(field[i], "ip99") == 0)
			ip99 = i;
	}
	CU_ASSERT_TRUE_FATAL(mode > 0 && ip99 > mode);
	CU_ASSERT_STRING_EQUAL(field[n - 1], "timestamp");
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 4), 2);
	CU_ASSERT_EQUAL_FATAL(rows[0].n, n);
	CU_ASSERT_EQUAL_FATAL(rows[1].n, n);
	check_fields(&rows[0], both, 13);
	CU_ASSERT_STRING_EQUAL(rows[0].field[mode], "stream");
	CU_ASSERT_STRING_EQUAL(rows[0].field[ip99], "14.88");
	CU_ASSERT_STRING_EQUAL(rows[0].field[n - 1], "2026-07-01T10:00:01+0200");
	for (int i = 9; i < 13; i++)
		CU_ASSERT_STRING_EQUAL(rows[1].field[i], "N/A");
	CU_ASSERT_STRING_EQUAL(rows[1].field[mode], "stream");
	CU_ASSERT_STRING_EQUAL(rows[1].field[ip99], "N/A");
	screen_close(&s);
}

/* Predictions have columns only in a run that may have some; without one the cells say nan. */
static void test_table_forecast(void)
{
	char line[1024], *field[FIELDS];
	struct row known = make_row(8, false), unknown = make_row(16, false);
	struct parsed rows[4];
	struct screen s;
	int n, pred = -1;

	set_up();
	known.predicted_us = 12.25;
	known.ceiling_busbw_gbs = 450;
	known.of_predicted_percent = 98.5;
	row_no_forecast(&unknown);
	facts.forecast = true;
	screen_open(&s, false, false, true, false);
	n = headings(s.text, line, sizeof(line), field);
	for (int i = 13; i < n; i++)
		if (strcmp(field[i], "pred") == 0)
			pred = i;
	CU_ASSERT_TRUE_FATAL(pred > 0 && pred + 4 < n);
	CU_ASSERT_STRING_EQUAL(field[pred + 2], "ceiling");
	CU_ASSERT_STRING_EQUAL(field[pred + 3], "ofpred");
	put(s.sink, known);
	put(s.sink, unknown);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 4), 2);
	CU_ASSERT_EQUAL(rows[0].n, n);
	CU_ASSERT_STRING_EQUAL(rows[0].field[pred], "12.25");
	CU_ASSERT_STRING_EQUAL(rows[0].field[pred + 2], "450.00");
	CU_ASSERT_STRING_EQUAL(rows[0].field[pred + 3], "98.50");
	CU_ASSERT_STRING_EQUAL(rows[1].field[pred], "nan");
	screen_close(&s);
	facts.forecast = false;
	screen_open(&s, false, false, true, false);
	CU_ASSERT_PTR_NULL(strstr(s.text, "ofpred"));
	screen_close(&s);
}

/* Cells that must not vanish or become two words. */
static void test_table_hostile_cells(void)
{
	char line[1024], *field[FIELDS];
	struct row row = make_row(UINT64_MAX, false);
	struct parsed rows[2];
	struct screen s;
	int n;

	set_up();
	row.stop = "";
	row.mode = "two words\n";
	row.timestamp[0] = '\0';
	row.p99_us = NAN;
	row.ci_percent = INFINITY;
	row.time_us = 123456789012.0;
	row.busbw_gbs = NAN;
	row.wrong = 123456789;
	screen_open(&s, false, false, true, true);
	n = headings(s.text, line, sizeof(line), field);
	put(s.sink, row);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_EQUAL_FATAL(rows[0].n, n);
	CU_ASSERT_STRING_EQUAL(rows[0].field[0], "18446744073709551615");
	CU_ASSERT_DOUBLE_EQUAL(atof(rows[0].field[5]), 123456789012.0, 5e9);
	CU_ASSERT_STRING_EQUAL(rows[0].field[7], "nan");
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "123456789");
	CU_ASSERT_STRING_EQUAL(rows[0].field[13], "two_words_");
	screen_close(&s);
}

static void test_table_unchecked(void)
{
	struct run_summary summary = make_summary();
	struct row row = make_row(8, false);
	struct parsed rows[2];
	struct screen s;

	set_up();
	screen_open(&s, true, false, false, false);
	put(s.sink, row);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_EQUAL(rows[0].n, 13);
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "N/A");
	summary.checked = false;
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# Out of bounds values : 0 OK\n"));
	screen_close(&s);

	/* This one row was not checked. */
	screen_open(&s, true, false, true, false);
	row.wrong = -1;
	put(s.sink, row);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "N/A");
	screen_close(&s);
}

static void test_table_wrong_and_end(void)
{
	const struct error failure = { .outcome = OUTCOME_ERROR,
				       .code = -EIO,
				       .rank = 1,
				       .line = 7,
				       .file = "x.c",
				       .text = "two\nlines" };
	struct run_summary summary = make_summary();
	struct parsed rows[2];
	struct screen s;
	char *at;

	set_up();
	options.min_bw = 3;
	options.memory_report = true;
	screen_open(&s, true, true, true, false);
	put(s.sink, make_wrong_row(8, false));
	CU_ASSERT_EQUAL(s.sink->ops->comment(s.sink, "in\nbetween"), 0);
	summary.wrong_checks = 2;
	summary.err = &failure;
	summary.memory_init = 1536;
	summary.memory_buffers = (size_t)200 << 30;
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2),
			      1); /* held until the end, then printed */
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "12");
	at = strstr(s.text, "# wrong: ");
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	CU_ASSERT_PTR_NOT_NULL(strstr(at, ", out-of-place\n           8 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# in between\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(s.text,
		       "# error: rank 1: two lines (x.c:7)\n"
		       "# Out of bounds values : 2 FAILED\n"
		       "# Avg bus bandwidth    : 2.5 FAILED\n"
		       "# GPU memory usage     : Initialization 1.50 KB | User-Allocated 200 GB"
		       " | Collective 0.00 B | Total  200 GB\n"));
	screen_close(&s);
	options.min_bw = 2.6; /* 10 % below is still good */
	screen_open(&s, true, true, true, false);
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# Avg bus bandwidth    : 2.5 OK\n"));
	screen_close(&s);
}

static void test_table_full_disk(void)
{
	FILE *out = fopen("/dev/full", "w");
	struct sink *sink;

	set_up();
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	sink = sink_table_new(out, false, true, true, false, &err);
	CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), -EIO);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_INTERNAL);
	sink->ops->free(sink);
	fclose(out);
}

/* ---- CSV ---- */

/* The record at *at, RFC 4180, fields unquoted in place. Returns their number and moves *at behind
 * it; -1 on bad quoting. */
static int csv_record(char **at, char **fields)
{
	char *from = *at, *to = *at;
	int n = 0;

	for (;;) {
		bool last;

		fields[n++] = to;
		if (*from == '"') {
			for (from++; from[0] != '"' || from[1] == '"'; *to++ = *from++)
				if (*from == '\0')
					return -1;
				else if (*from == '"')
					from++;
			from++;
		} else {
			while (!strchr(",\"\n", *from))
				*to++ = *from++;
		}
		if (*from != ',' && *from != '\n')
			return -1;
		last = *from++ == '\n';
		*to++ = '\0';
		if (last)
			break;
	}
	*at = from;
	return n;
}

static int field_of(char **names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	CU_FAIL_FATAL("no such column");
	return 0;
}
#define CELL(name) cells[field_of(names, n, name)]

static void test_csv(void)
{
	struct row row = make_row(8, false);
	char *text, *at, *names[FIELDS], *cells[FIELDS];
	struct sink *sink;
	int n;

	set_up();
	sink = sink_csv_new(path_of("a.csv"), &err);
	CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
	CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), 0);
	row.stop = "a \"b\",\r\nc";
	row.busbw_gbs = NAN;
	row.algbw_gbs = INFINITY;
	put(sink, row);
	text = slurp(path_of("a.csv"), NULL); /* flushed: the sink is still open */
	at = text;
	n = csv_record(&at, names);
	CU_ASSERT_EQUAL_FATAL(n, (int)row_column_count + 5);
	CU_ASSERT_STRING_EQUAL(names[0], "schema");
	CU_ASSERT_EQUAL_FATAL(csv_record(&at, cells), n);
	CU_ASSERT_EQUAL(*at, '\0');
	CU_ASSERT_STRING_EQUAL(cells[0], "1");
	CU_ASSERT_STRING_EQUAL(CELL("stop"), "a \"b\",\r\nc");
	CU_ASSERT_STRING_EQUAL(CELL("time_us"), "12.25");
	CU_ASSERT_STRING_EQUAL(CELL("busbw_gbs"), "nan");
	CU_ASSERT_STRING_EQUAL(CELL("algbw_gbs"), "inf");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_kind"), "");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_got"), "");
	free(text);

	put(sink, make_wrong_row(8, false));
	text = slurp(path_of("a.csv"), NULL);
	at = text;
	csv_record(&at, names);
	csv_record(&at, cells);
	CU_ASSERT_EQUAL_FATAL(csv_record(&at, cells), n);
	CU_ASSERT_STRING_EQUAL(CELL("wrong"), "12");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_kind"), "zero");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_rank"), "1");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_element"), "-4");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_expected"), "3 (0x40400000)");
	CU_ASSERT_STRING_EQUAL(CELL("wrong_got"), "0,\"\n");
	free(text);
	sink->ops->free(sink);
}

static struct sink *csv_new(const char *path)
{
	return sink_csv_new(path, &err);
}

static struct sink *json_new(const char *path)
{
	return sink_json_new(path, &err);
}

static struct sink *nccl_json_new(const char *path)
{
	return sink_nccl_json_new(path, &err);
}

static struct sink *(*const makers[])(const char *path) = { csv_new, json_new, nccl_json_new };

static void test_existing_file_refused(void)
{
	for (int i = 0; i < 2; i++) { /* CSV and JSON lines */
		FILE *file = fopen(path_of("taken"), "w");
		char *text;

		fputs("mine", file);
		fclose(file);
		set_up();
		CU_ASSERT_PTR_NULL(makers[i](path_of("taken")));
		CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
		CU_ASSERT_EQUAL(err.code, -EEXIST);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path_of("taken")));
		text = slurp(path_of("taken"), NULL);
		CU_ASSERT_STRING_EQUAL(text, "mine");
		free(text);
		unlink(path_of("taken"));
	}
}

static void test_unusable_path(void)
{
	for (int i = 0; i < 3; i++) {
		set_up();
		CU_ASSERT_PTR_NULL(makers[i](path_of("no/such/folder.json")));
		CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
		CU_ASSERT_EQUAL(err.code, -ENOENT);
		/* A dangling link must not be followed. */
		CU_ASSERT_EQUAL(symlink("nowhere", path_of("link")), 0);
		set_up();
		if (i < 2) {
			CU_ASSERT_PTR_NULL(makers[i](path_of("link")));
			CU_ASSERT_EQUAL(err.code, -EEXIST);
		}
		CU_ASSERT_NOT_EQUAL(access(path_of("nowhere"), F_OK), 0);
		unlink(path_of("link"));
	}
}

/* The file may not grow: the sink must say so, not lose rows silently. */
static void test_write_failure(void)
{
	struct rlimit before, small;

	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	small = before;
	small.rlim_cur = 16;
	for (int i = 0; i < 3; i++) {
		struct sink *sink;

		set_up();
		sink = makers[i](path_of("small"));
		CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
		setrlimit(RLIMIT_FSIZE, &small);
		CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		CU_ASSERT_EQUAL(err.outcome, OUTCOME_INTERNAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "small"));
		sink->ops->free(sink);
		unlink(path_of("small"));
	}
}

/* The disk fills in the middle of a line: the lines before it stay, whole, and no part of it does;
 * with room again the next one follows. */
static void test_full_disk_mid_line(void)
{
	struct rlimit before, small;
	struct row row = make_row(8, true);
	size_t len, after;
	char *text;

	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 2; i++) { /* CSV, JSON */
		struct sink *sink;

		set_up();
		sink = makers[i](path_of("full"));
		CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
		CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), 0);
		put(sink, make_row(8, false));
		free(slurp(path_of("full"), &len));
		small = before;
		small.rlim_cur = len + 20;
		setrlimit(RLIMIT_FSIZE, &small);
		CU_ASSERT_EQUAL(sink->ops->row(sink, &row), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		text = slurp(path_of("full"), &after);
		CU_ASSERT_EQUAL(after, len);
		CU_ASSERT_EQUAL(text[after - 1], '\n');
		free(text);
		put(sink, row);
		text = slurp(path_of("full"), &after);
		CU_ASSERT(after > len && strlen(text) == after); /* no hole */
		free(text);
		sink->ops->free(sink);
		unlink(path_of("full"));
	}
}

/* ---- JSON lines ---- */

/* Parse `len` bytes as lines: complete lines must parse, what follows the last newline is ignored.
 * The objects as an array. */
static json_t *parse_lines(const char *text, size_t len)
{
	json_t *list = json_array();
	const char *end;

	for (; (end = memchr(text, '\n', len)); text = end + 1) {
		json_t *line = json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, NULL);

		len -= (size_t)(end + 1 - text);
		CU_ASSERT_PTR_NOT_NULL_FATAL(line);
		json_array_append_new(list, line);
	}
	return list;
}

static json_t *parse_lines_of(const char *path)
{
	size_t len;
	char *text = slurp(path, &len);
	json_t *list = parse_lines(text, len);

	CU_ASSERT_EQUAL(text[len - 1], '\n');
	free(text);
	return list;
}

static const char *text_at(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(no such text)";
}

static struct sink *json_open(const char *name)
{
	struct sink *sink = sink_json_new(path_of(name), &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
	CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), 0);
	return sink;
}

static void test_json_header(void)
{
	json_t *lines, *header, *rank, *env;
	struct sink *sink;
	char *text;

	set_up();
	setenv("NCCL_ALGO", "Ring", 1);
	setenv("NCCL_API_TOKEN", "s3cr3t", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t", 1);
	sink = json_open("header.json");
	sink->ops->free(sink);
	lines = parse_lines_of(path_of("header.json"));
	CU_ASSERT_EQUAL_FATAL(json_array_size(lines), 1);
	header = json_array_get(lines, 0);
	CU_ASSERT_STRING_EQUAL(text_at(header, "type"), "header");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(header, "schema")), ROW_SCHEMA);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(header, "seed")), 42);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(header, "command")), 3);
	CU_ASSERT_STRING_EQUAL(json_string_value(
				       json_array_get(json_object_get(header, "command"), 1)),
			       "--csv=a \"b\",c");
	CU_ASSERT_STRING_EQUAL(json_string_value(
				       json_array_get(json_object_get(header, "command"), 2)),
			       "??");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(header, "hosts")), 2);
	rank = json_array_get(json_object_get(header, "ranks"), 1);
	CU_ASSERT_STRING_EQUAL(text_at(rank, "host"), "node?1");
	CU_ASSERT_STRING_EQUAL(text_at(rank, "device"), "NVIDIA H200");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(rank, "library_code")), 22809);
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(header, "options"), "average"), "max");
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(header, "options"), "dtype_first"), "float");
	CU_ASSERT_EQUAL(json_integer_value(
				json_object_get(json_object_get(header, "options"), "max_bytes")),
			1 << 20);
	CU_ASSERT_TRUE(json_is_null(json_object_get(json_object_get(header, "options"), "budget")));
	env = json_object_get(header, "env");
	CU_ASSERT_STRING_EQUAL(text_at(env, "NCCL_ALGO"), "Ring");
	json_decref(lines);
	text = slurp(path_of("header.json"), NULL);
	CU_ASSERT_PTR_NULL(strstr(text, "s3cr3t"));
	CU_ASSERT_PTR_NULL(strstr(text, "\"PATH\""));
	free(text);
}

static void check_json_row(json_t *row)
{
	json_t *rank = json_array_get(json_object_get(row, "per_rank"), 1);
	json_t *sample = json_array_get(json_object_get(row, "samples_us"), 2);

	CU_ASSERT_STRING_EQUAL(text_at(row, "type"), "row");
	for (size_t i = 0; i < row_column_count; i++)
		CU_ASSERT_PTR_NOT_NULL(json_object_get(row, row_columns[i].name));
	CU_ASSERT_STRING_EQUAL(text_at(row, "dtype"), "float");
	CU_ASSERT_EQUAL(json_real_value(json_object_get(row, "time_us")), 12.25);
	CU_ASSERT_TRUE(json_is_null(json_object_get(row, "busbw_gbs")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(row, "p99_us")));
	CU_ASSERT_TRUE(json_is_null(json_object_get(row, "wrong_kind")));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "per_rank")), 2);
	CU_ASSERT_EQUAL(json_real_value(json_object_get(rank, "median_us")), 13);
	CU_ASSERT_TRUE(json_is_null(json_object_get(rank, "p99_us")));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "samples_us")), 3);
	CU_ASSERT_EQUAL(json_real_value(json_array_get(sample, 1)), 15);
}

static void test_json_rows(void)
{
	const struct error failure = {
		.outcome = OUTCOME_HANG, .code = -ETIMEDOUT, .rank = 3, .text = "stuck"
	};
	struct run_summary summary = make_summary();
	struct row row;
	struct sink *sink;
	json_t *lines, *last;

	set_up();
	row = make_row(8, false);
	row.busbw_gbs = NAN;
	row.p99_us = INFINITY;
	sink = json_open("rows.json");
	put(sink, row);
	lines = parse_lines_of(path_of("rows.json"));
	CU_ASSERT_EQUAL_FATAL(json_array_size(lines), 2);
	check_json_row(json_array_get(lines, 1));
	json_decref(lines);

	put(sink, make_wrong_row(16, true));
	lines = parse_lines_of(path_of("rows.json"));
	last = json_array_get(lines, 2);
	CU_ASSERT_STRING_EQUAL(text_at(last, "wrong_kind"), "zero");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(last, "wrong_element")), -4);
	CU_ASSERT_STRING_EQUAL(text_at(last, "wrong_got"), "0,\"\n");
	CU_ASSERT_STRING_EQUAL(text_at(last, "placement"), "in-place");
	json_decref(lines);

	CU_ASSERT_EQUAL(sink->ops->comment(sink, "a \"remark\"\n"), 0);
	summary.outcome = OUTCOME_HANG;
	summary.err = &failure;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	lines = parse_lines_of(path_of("rows.json"));
	CU_ASSERT_EQUAL_FATAL(json_array_size(lines), 5);
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(lines, 3), "type"), "comment");
	CU_ASSERT_STRING_EQUAL(text_at(json_array_get(lines, 3), "text"), "a \"remark\"\n");
	last = json_array_get(lines, 4);
	CU_ASSERT_STRING_EQUAL(text_at(last, "type"), "end");
	CU_ASSERT_STRING_EQUAL(text_at(last, "outcome"), "hang");
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(last, "error"), "text"), "stuck");
	CU_ASSERT_EQUAL(json_real_value(json_object_get(last, "avg_busbw_gbs")), 2.5);
	json_decref(lines);
}

static void test_json_sample_limit(void)
{
	static double many[4098];
	struct row row;
	struct sink *sink;
	json_t *lines;

	set_up();
	row = make_row(8, false);
	row.sample_times_us = many;
	row.per_rank = NULL;
	sink = json_open("many.json");
	row.samples = 2048;
	put(sink, row);
	row.samples = 2049;
	put(sink, row);
	sink->ops->free(sink);
	lines = parse_lines_of(path_of("many.json"));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(json_array_get(lines, 1), "samples_us")),
			2048);
	CU_ASSERT_PTR_NULL(json_object_get(json_array_get(lines, 2), "samples_us"));
	CU_ASSERT_PTR_NULL(json_object_get(json_array_get(lines, 2), "per_rank"));
	json_decref(lines);
}

/* Killed while the last row was being written: whatever of it is there, the lines before it stand.
 * */
static void test_json_cut_anywhere(void)
{
	size_t before, len;
	struct sink *sink;
	char *text;

	set_up();
	sink = json_open("cut.json");
	put(sink, make_row(8, false));
	free(slurp(path_of("cut.json"), &before));
	put(sink, make_wrong_row(8, true));
	sink->ops->free(sink);
	text = slurp(path_of("cut.json"), &len);
	CU_ASSERT_TRUE_FATAL(len > before);
	for (size_t cut = before; cut <= len; cut++) {
		json_t *lines = parse_lines(text, cut);

		CU_ASSERT_EQUAL(json_array_size(lines), cut == len ? 3 : 2);
		json_decref(lines);
	}
	free(text);
}

/* ---- nccl-tests' JSON ---- */

static json_t *load(const char *name)
{
	json_t *document = json_load_file(path_of(name), JSON_REJECT_DUPLICATES, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(document);
	return document;
}

static json_t *result_at(json_t *document, size_t i)
{
	return json_array_get(json_object_get(document, "results"), i);
}

static size_t results_of(const char *name)
{
	json_t *document = load(name);
	size_t n = json_array_size(json_object_get(document, "results"));

	CU_ASSERT_TRUE(json_is_null(json_object_get(document, "end_time")));
	json_decref(document);
	return n;
}

static struct sink *nccl_json_open(const char *name)
{
	struct sink *sink = sink_nccl_json_new(path_of(name), &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
	CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), 0);
	return sink;
}

static void check_nccl_head(json_t *document)
{
	json_t *config = json_object_get(document, "config");
	json_t *device = json_array_get(json_object_get(config, "devices"), 1);

	CU_ASSERT_EQUAL(json_integer_value(json_object_get(document, "version")), 3);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(document, "nccl_version")), 22809);
	CU_ASSERT_STRING_EQUAL(text_at(document, "start_time"), "2026-07-01 10:00:00");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "args")), 3);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(config, "step_factor")), 2);
	CU_ASSERT_PTR_NULL(json_object_get(config, "step_bytes"));
	CU_ASSERT_STRING_EQUAL(text_at(config, "per_iter_timing"), "false");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(config, "devices")), 2);
	CU_ASSERT_STRING_EQUAL(text_at(device, "device_hex"), "0000:18:00");
	CU_ASSERT_STRING_EQUAL(text_at(device, "hostname"), "node?1");
}

static void check_nccl_results(json_t *document)
{
	json_t *first = result_at(document, 0), *last = result_at(document, 2);

	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "results")), 3);
	CU_ASSERT_STRING_EQUAL(text_at(first, "root"), "    -1");
	CU_ASSERT_STRING_EQUAL(text_at(first, "type"), "float");
	CU_ASSERT_EQUAL(json_real_value(
				json_object_get(json_object_get(first, "out_of_place"), "time")),
			12.25);
	CU_ASSERT_EQUAL(json_real_value(
				json_object_get(json_object_get(first, "in_place"), "bus_bw")),
			3);
	CU_ASSERT_EQUAL(json_real_value(
				json_object_get(json_object_get(first, "in_place"), "nwrong")),
			0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(first, "actual_iterations")), 60);
	CU_ASSERT_TRUE(json_is_null(json_object_get(result_at(document, 1), "in_place")));
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(last, "out_of_place"), "time"), "nan");
	CU_ASSERT_TRUE(
		json_is_null(json_object_get(json_object_get(last, "out_of_place"), "nwrong")));
}

static void test_nccl_json(void)
{
	struct run_summary summary = make_summary();
	struct row row = make_row(32, false);
	json_t *document;
	struct sink *sink;

	set_up();
	sink = nccl_json_open("n.json");
	CU_ASSERT_EQUAL(results_of("n.json"), 0);
	put(sink, make_row(8, false));
	CU_ASSERT_EQUAL(results_of("n.json"), 1);
	put(sink, make_row(8, true));
	CU_ASSERT_EQUAL(results_of("n.json"), 1);
	put(sink, make_wrong_row(16, false));
	CU_ASSERT_EQUAL(results_of("n.json"), 2);
	row.time_us = NAN;
	row.wrong = -1;
	put(sink, row);
	CU_ASSERT_EQUAL(results_of("n.json"), 3);
	document = load("n.json");
	check_nccl_head(document);
	check_nccl_results(document);
	CU_ASSERT_EQUAL(json_integer_value(
				json_object_get(json_object_get(document, "out_of_bounds"),
						"count")),
			1);
	json_decref(document);

	summary.wrong_checks = 7;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	document = load("n.json");
	check_nccl_results(document);
	CU_ASSERT_EQUAL(json_integer_value(
				json_object_get(json_object_get(document, "out_of_bounds"),
						"count")),
			7);
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(document, "out_of_bounds"), "okay"),
			       "false");
	CU_ASSERT_STRING_EQUAL(text_at(json_object_get(document, "average_bus_bandwidth"), "okay"),
			       "unchecked");
	CU_ASSERT_EQUAL(strlen(text_at(document, "end_time")), 19);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "errors")), 0);
	json_decref(document);
}

/* What is written shrinks: nothing of the longer text before may stay. */
static void test_nccl_json_shrinks(void)
{
	const struct error failure = { .outcome = OUTCOME_ERROR, .text = "a text that goes away" };
	struct run_summary summary = make_summary();
	struct sink *sink;
	json_t *document;

	set_up();
	sink = nccl_json_open("shrink.json");
	put(sink, make_row(8, false));
	summary.err = &failure;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	document = load("shrink.json");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "errors")), 1);
	json_decref(document);
	summary.err = NULL;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	document = load("shrink.json");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "results")), 1);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "errors")), 0);
	json_decref(document);
}

static void test_nccl_json_per_iteration(void)
{
	json_t *document, *detail, *ranks_times;
	struct row row = make_row(8, true);
	struct sink *sink;

	set_up();
	options.per_iter = true;
	options.per_iter_skip = 1;
	options.cputime = true;
	options.step_factor = 0;
	options.step_bytes = 1 << 10;
	sink = nccl_json_open("iter.json");
	put(sink, make_row(8, false));
	put(sink, row);
	sink->ops->free(sink);
	document = load("iter.json");
	CU_ASSERT_EQUAL(json_integer_value(
				json_object_get(json_object_get(document, "config"), "step_bytes")),
			1024);
	detail = json_object_get(result_at(document, 0), "out_of_place_per_iter");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(detail, "skipped_iterations")), 1);
	/* Slowest ranks: 11, 13, 15; the first is skipped. */
	CU_ASSERT_EQUAL(json_array_size(json_object_get(detail, "times_us")), 3);
	CU_ASSERT_EQUAL(json_real_value(json_array_get(json_object_get(detail, "times_us"), 0)),
			11);
	CU_ASSERT_EQUAL(json_real_value(json_object_get(detail, "min_us")), 13);
	CU_ASSERT_EQUAL(json_real_value(json_object_get(detail, "avg_us")), 14);
	ranks_times = json_object_get(detail, "per_process_max_times_us");
	CU_ASSERT_EQUAL(json_array_size(ranks_times), 2);
	CU_ASSERT_EQUAL(json_real_value(json_array_get(json_array_get(ranks_times, 0), 2)), 14);
	CU_ASSERT_PTR_NOT_NULL(json_object_get(result_at(document, 0), "in_place_per_iter"));
	CU_ASSERT_EQUAL(json_real_value(
				json_object_get(json_object_get(result_at(document, 0), "in_place"),
						"cpu_time")),
			4.5);
	json_decref(document);
}

static void test_nccl_json_suffixes(void)
{
	struct sink *sink[3];
	char first[UNIT_PATH];

	set_up();
	snprintf(first, sizeof(first), "%s", path_of("s.json"));
	for (int i = 0; i < 3; i++)
		sink[i] = nccl_json_open("s.json");
	CU_ASSERT_STRING_EQUAL(sink_nccl_json_path(sink[0]), first);
	CU_ASSERT_STRING_EQUAL(sink_nccl_json_path(sink[1]), path_of("s.json.0"));
	CU_ASSERT_STRING_EQUAL(sink_nccl_json_path(sink[2]), path_of("s.json.1"));
	put(sink[2], make_row(8, false));
	CU_ASSERT_EQUAL(results_of("s.json"), 0);
	CU_ASSERT_EQUAL(results_of("s.json.1"), 1);
	for (int i = 0; i < 3; i++)
		sink[i]->ops->free(sink[i]);
}

static void test_nccl_json_environment(void)
{
	struct sink *sink;
	json_t *document, *env;
	bool found = false;
	char *text;

	set_up();
	setenv("UCX_TLS", "tcp\xff", 1);
	setenv("NCCL_CREDENTIALS", "s3cr3t", 1);
	sink = nccl_json_open("env.json");
	sink->ops->free(sink);
	document = load("env.json");
	env = json_object_get(document, "env");
	for (size_t i = 0; i < json_array_size(env); i++)
		found |= strcmp(json_string_value(json_array_get(env, i)), "UCX_TLS=tcp?") == 0;
	CU_ASSERT_TRUE(found);
	json_decref(document);
	text = slurp(path_of("env.json"), NULL);
	CU_ASSERT_PTR_NULL(strstr(text, "s3cr3t"));
	free(text);
}

static void test_environment_list(void)
{
	static const char *const allowed[] = {
		"NCCL_DEBUG", "CUDA_VISIBLE_DEVICES", "OMPI_MCA_btl",
		"UCX_TLS",    "SLURM_JOB_ID",	      "SLURM_NTASKS"
	};
	static const char *const refused[] = {
		"",
		"PATH",
		"HOME",
		"USER",
		"AWS_SECRET_ACCESS_KEY",
		"GITHUB_TOKEN",
		"NCCL_TOKEN",
		"nccl_debug",
		"XNCCL_DEBUG",
		"NCCL",
		"SLURM_JWT",
		"OMPI_MCA_orte_precondition_transports",
		"UCX_password",
		"CUDA_Api_Key",
		"NCCL_MY_SECRET",
		"OMPI_MCA_creds",
		"NCCL_A=B",
		"NCCL_\xff",
		"NCCL_ X",
		"OMPI_MCA_orte_hnp_uri",
	};

	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		CU_ASSERT_TRUE(sink_env_allowed(allowed[i]));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CU_ASSERT_FALSE(sink_env_allowed(refused[i]));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "table: nccl-tests' columns", test_table_plain },
		{ "table: header", test_table_header },
		{ "table: further columns", test_table_extended },
		{ "table: predictions", test_table_forecast },
		{ "table: hostile cells", test_table_hostile_cells },
		{ "table: not checked", test_table_unchecked },
		{ "table: wrong data and the end", test_table_wrong_and_end },
		{ "table: full disk", test_table_full_disk },
		{ "CSV", test_csv },
		{ "existing file refused", test_existing_file_refused },
		{ "unusable path", test_unusable_path },
		{ "write failure", test_write_failure },
		{ "the disk fills in the middle of a line", test_full_disk_mid_line },
		{ "JSON: header", test_json_header },
		{ "JSON: rows, comment, end", test_json_rows },
		{ "JSON: limit of samples", test_json_sample_limit },
		{ "JSON: cut anywhere", test_json_cut_anywhere },
		{ "nccl-tests' JSON", test_nccl_json },
		{ "nccl-tests' JSON: shrinks", test_nccl_json_shrinks },
		{ "nccl-tests' JSON: per iteration", test_nccl_json_per_iteration },
		{ "nccl-tests' JSON: suffixes", test_nccl_json_suffixes },
		{ "nccl-tests' JSON: environment", test_nccl_json_environment },
		{ "environment's allow-list", test_environment_list },
	};
	int rc;

	if (unit_folder(folder) < 0)
		return 1;
	rc = unit_main("sink", cases, sizeof(cases) / sizeof(cases[0]));
	return unit_remove(folder) == 0 ? rc : 1;
}
