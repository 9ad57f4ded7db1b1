/* test_sink_table.c: the table, read back as a parser of nccl-tests' output would. */
#include "sink_rows.h"

/* A table in memory. */
struct screen {
	FILE *out;
	char *text;
	size_t len;
	struct sink *sink;
};

static void screen_open(struct screen *screen, enum table_kind kind, bool checked, bool timestamps)
{
	screen->text = NULL;
	screen->out = open_memstream(&screen->text, &screen->len);
	screen->sink =
		sink_begun(sink_table_new(screen->out, kind, checked, timestamps, &sink_err));
}

static void screen_close(struct screen *screen)
{
	screen->sink->ops->free(screen->sink);
	fclose(screen->out);
	free(screen->text);
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

/* Parses the table as scripts do for nccl-tests: skips "#" and empty lines, splits the rest. Field
 * numbers start at 0. Copies go to `rows`; returns their number. */
struct parsed {
	int n;
	char line[1024], *field[FIELDS];
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

static char line[1024], *field[FIELDS];
static struct parsed rows[8];
static struct screen s;

static const char *const both[] = { "8",    "2", "float", "sum",  "-1",	  "12.25", "1.50",
				    "2.00", "0", "13.50", "1.50", "3.00", "0" };

static void put_both(uint64_t size)
{
	const struct row in = sink_row(size, true);

	sink_put_point(s.sink, sink_row(size, false), &in);
}

UNIT_TEST(test_table_plain, "nccl-tests' columns")
{
	struct run_summary summary = sink_summary();

	sink_set_up();
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	put_both(8);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 4), 1);
	CU_ASSERT_EQUAL(rows[0].n, 13);
	check_fields(&rows[0], both, 13);
	/* nccl-tests' own columns, blank for blank. */
	CU_ASSERT_PTR_NOT_NULL(
		strstr(s.text, "\n           8             2     float     sum      -1    12.25"
			       "    1.50    2.00       0    13.50    1.50    3.00       0\n"));
	UNIT_ALL(s.sink->ops->end(s.sink, &summary) == 0,
		 strstr(s.text,
			"\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 2.5 \n") != NULL,
		 !strcmp(s.text + s.len - 30, "# Avg bus bandwidth    : 2.5 \n"));
	summary.peak = (struct row_peak){ 3, 8, "in-place" };
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "2.5 \n# Peak bus bandwidth   : 3, 8 B in-place\n"));
	screen_close(&s);
	sink_options.nfaults = 1; /* a schedule has no rows, and no heading for them */
	screen_open(&s, TABLE_HANGAR, true, false);
	CU_ASSERT_PTR_NULL(strstr(s.text, "out-of-place"));
	screen_close(&s);
	sink_options.nfaults = 0;
}

UNIT_TEST(test_table_header, "header")
{
	sink_set_up();
	sink_options.iters = 20;
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	UNIT_ALL(headings(s.text, line, sizeof(line), field) == 13, !strcmp(field[5], "time"),
		 !strcmp(field[12], "#wrong"),
		 strstr(s.text, "# Collective test starting: all_reduce_perf\n") != NULL);
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
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, " backend nccl, 1 rank on 1 node, started "));
	screen_close(&s);
	facts.nranks = facts.nnodes = RANKS;

	/* -C: the column is the host's time, and its heading shows that. */
	sink_options.cputime = true;
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	headings(s.text, line, sizeof(line), field);
	CU_ASSERT_STRING_EQUAL(field[5], "cputime");
	sink_put_point(s.sink, sink_row(8, false), NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "-1     4.50    1.50"));
	screen_close(&s);
}

/* -S: the time of day of the last placement is the last column. */
UNIT_TEST(test_table_stamped, "timestamps")
{
	sink_set_up();
	screen_open(&s, TABLE_HANGAR, true, true);
	put_both(8);
	sink_put_point(s.sink, sink_row(16, false),
		       NULL); /* a collective without the other placement */
	CU_ASSERT_EQUAL_FATAL(headings(s.text, line, sizeof(line), field), 17);
	CU_ASSERT_STRING_EQUAL(field[16], "timestamp");
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 4), 2);
	UNIT_ALL(rows[0].n == 17, rows[1].n == 17,
		 !strcmp(rows[0].field[16], "2026-07-01T10:00:01+0200"));
	check_fields(&rows[0], both, 13);
	for (int i = 9; i < 13; i++)
		CU_ASSERT_STRING_EQUAL(rows[1].field[i], "N/A");
	screen_close(&s);
}

/* By default: 140 characters, three columns behind the 13, and N/A for missing values. */
UNIT_TEST(test_table_narrow, "140 characters")
{
	static const char *const names[] = { "predbw", "ofpred", "ci" };
	static const struct {
		double predicted, share, spread;
		const char *cells[3];
	} cases[] = {
		{ 450.25, 98.5, 1.25, { "450.25", "98.50", "1.25" } },
		{ 12345.6, 100, 12.34, { "12346", "100.00", "12.3" } },
		{ 0.004, 1234.5, 100, { "0.00", "1234.5", "100" } },
		{ NAN, NAN, NAN, { "N/A", "N/A", "N/A" } },
		{ INFINITY, 0, 0, { "N/A", "0.00", "0.00" } },
	};

	sink_set_up();
	screen_open(&s, TABLE_HANGAR, true, false);
	CU_ASSERT_EQUAL_FATAL(headings(s.text, line, sizeof(line), field), 16);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_STRING_EQUAL(field[13 + i], names[i]);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct row row = sink_row(8 << i, false), in = sink_row(8 << i, true);

		row.predicted_busbw_gbs = cases[i].predicted;
		row.of_predicted_percent = cases[i].share;
		row.ci_percent = cases[i].spread;
		sink_put_point(s.sink, row, &in);
	}
	for (const char *l = s.text; *l; l += strcspn(l, "\n") + 1)
		if (strncmp(l, "# nThread ", 10) != 0) /* nccl-tests' own line */
			CU_ASSERT_TRUE(strcspn(l, "\n") <= 140);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 8), 5);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		CU_ASSERT_EQUAL_FATAL(rows[i].n, 16);
		for (int j = 0; j < 3; j++)
			CU_ASSERT_STRING_EQUAL(rows[i].field[13 + j], cases[i].cells[j]);
	}
	check_fields(&rows[0], both, 13);
	screen_close(&s);
}

/* Cells that must be one word, and not empty. */
UNIT_TEST(test_table_hostile_cells, "hostile cells")
{
	struct row row = sink_row(UINT64_MAX, false);
	int n;

	sink_set_up();
	row.type = "";
	row.redop = "two words\n";
	row.timestamp[0] = '\0';
	row.ci_percent = INFINITY;
	row.of_predicted_percent = 2e6; /* plain, however wide */
	row.time_us = 123456789012.0;
	row.algbw_gbs = 1e300;
	row.busbw_gbs = NAN;
	row.wrong = 123456789;
	screen_open(&s, TABLE_HANGAR, true, true);
	n = headings(s.text, line, sizeof(line), field);
	sink_put_point(s.sink, row, NULL);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_EQUAL_FATAL(rows[0].n, n);
	CU_ASSERT_STRING_EQUAL(rows[0].field[0], "18446744073709551615");
	UNIT_ALL(!strcmp(rows[0].field[5], "123456789012"), !strcmp(rows[0].field[6], "N/A"),
		 !strcmp(rows[0].field[14], "2000000"));
	UNIT_ALL(!strcmp(rows[0].field[7], "N/A"), !strcmp(rows[0].field[8], "123456789"),
		 !strcmp(rows[0].field[2], "N/A"), !strcmp(rows[0].field[3], "two_words_"),
		 !strcmp(rows[0].field[16], "N/A"));
	screen_close(&s);
}

UNIT_TEST(test_table_unchecked, "not checked")
{
	struct run_summary summary = sink_summary();
	struct row row = sink_row(8, false);

	sink_set_up();
	screen_open(&s, TABLE_NCCL_TESTS, false, false);
	sink_put_point(s.sink, row, NULL);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	UNIT_ALL(rows[0].n == 13, !strcmp(rows[0].field[8], "N/A"));
	summary.checked = false;
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# Out of bounds values : 0 OK\n"));
	screen_close(&s);

	/* This one row was not checked. */
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	row.wrong = -1;
	sink_put_point(s.sink, row, NULL);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "N/A");
	screen_close(&s);
}

UNIT_TEST(test_table_wrong_and_end, "wrong data and the end")
{
	struct run_summary summary = sink_summary();
	char *at;

	sink_set_up();
	sink_options.min_bw = 3;
	sink_options.memory_report = true;
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	sink_put_point(s.sink, sink_wrong_row(8, false), NULL);
	CU_ASSERT_EQUAL(s.sink->ops->comment(s.sink, "in\nbetween"), 0);
	summary.wrong_checks = 2;
	summary.memory.init = 1536;
	summary.memory.buffers = (size_t)200 << 30;
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_EQUAL_FATAL(parse_table(s.text, rows, 2), 1);
	CU_ASSERT_STRING_EQUAL(rows[0].field[8], "12");
	at = strstr(s.text, "# wrong: ");
	CU_ASSERT_PTR_NOT_NULL_FATAL(at);
	UNIT_ALL(strstr(at, ", out-of-place\n           8 ") != NULL,
		 strstr(s.text, "# in between\n") != NULL,
		 strstr(s.text,
			"# Out of bounds values : 2 FAILED\n"
			"# Avg bus bandwidth    : 2.5 FAILED\n"
			"# GPU memory usage     : Initialization 1.50 KB | User-Allocated 200 GB"
			" | Collective 0.00 B | Total  200 GB\n") != NULL);
	screen_close(&s);
	sink_options.min_bw = 2.6; /* 10 % below is still good */
	screen_open(&s, TABLE_NCCL_TESTS, true, false);
	CU_ASSERT_EQUAL(s.sink->ops->end(s.sink, &summary), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "# Avg bus bandwidth    : 2.5 OK\n"));
	screen_close(&s);
}

UNIT_TEST(test_table_full_disk, "full disk")
{
	FILE *out = fopen("/dev/full", "w");
	struct sink *sink;

	sink_set_up();
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	sink = sink_table_new(out, TABLE_HANGAR, true, false, &sink_err);
	UNIT_ALL(sink->ops->begin(sink, &facts) == -EIO, sink_err.outcome == OUTCOME_INTERNAL);
	sink->ops->free(sink);
	fclose(out);
}

UNIT_MAIN(unit_main_folder(sink_folder))
