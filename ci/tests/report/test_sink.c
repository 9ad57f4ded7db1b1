/* test_sink.c: common parts of all sinks of files; the CSV, read back.
 * Table and JSON have tests of their own. */
#include "sink_rows.h"

#include <sys/resource.h>

/* The whole file: the newest of a point's rows, without unknown values. */
static const char *const metric_lines[] = {
	"# HELP hangar_run_info ",
	"hangar_run_info{program=\"all_reduce_perf\",backend=\"nccl\",nranks=\"2\",nnodes=\"2\","
	"host=\"n?d?\"",
	"hangar_run_completed{program=\"all_reduce_perf\",backend=\"nccl\",nranks=\"2\"} 1\n",
	"hangar_run_exit_code{program=\"all_reduce_perf\",backend=\"nccl\",nranks=\"2\"} 13\n",
	"# TYPE hangar_collective_time_seconds "
	"gauge\nhangar_collective_time_seconds{collective=\"all_reduce\","
	"backend=\"nccl\",nranks=\"2\",size_bytes=\"8\",dtype=\"float\",redop=\"sum\",root=\"-1\","
	"placement=\"out-of-place\",mode=\"stream\"} 2e-05\nhangar_collective_time_seconds{",
	"hangar_collective_busbw_bytes_per_second{",
	"hangar_collective_ci_ratio{",
	"hangar_collective_wrong{",
};

/* Runs first: its folder must be empty. */
UNIT_TEST(test_metrics, "metrics")
{
	struct run_summary summary = sink_summary();
	struct row row = sink_row(8, false);
	struct sink *sink;
	char *text;

	sink_set_up();
	strcpy(ranks[0].host, "n\"d\\");
	CU_ASSERT_EQUAL(unit_put(sink_folder, "m.prom", "old", 3), 0);
	sink = sink_begun(sink_metrics_new(sink_path("m.prom"), &sink_err));
	text = unit_read(sink_path("m.prom"), NULL);
	UNIT_ALL(strstr(text, "nranks=\"2\"} 0\n") != NULL, strstr(text, "collective") == NULL,
		 strstr(text, "exit_code") == NULL);
	free(text);
	sink_put(sink, row);
	sink_put(sink, sink_row(8, true));
	row.time_us = 20;
	row.of_predicted_percent = NAN;
	sink_put(sink, row);
	summary.outcome = OUTCOME_SLOW;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	text = unit_read(sink_path("m.prom"), NULL);
	for (size_t i = 0; i < LENGTH(metric_lines); i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(text, metric_lines[i]));
	UNIT_ALL(strstr(text, "1.225e-05") == NULL, strstr(text, "nan") == NULL);
	free(text);
	unlink(sink_path("m.prom"));
	CU_ASSERT_EQUAL(mkdir(sink_path("m.prom"), 0700), 0); /* a folder cannot be replaced */
	UNIT_ALL(sink->ops->end(sink, &summary) < 0, sink_err.outcome == OUTCOME_INTERNAL,
		 rmdir(sink_path("m.prom")) == 0);
	sink->ops->free(sink);
	CU_ASSERT_EQUAL(rmdir(sink_folder), 0); /* no draft is left */
	CU_ASSERT_EQUAL(mkdir(sink_folder, 0700), 0);
}

/* The record at *at, RFC 4180, unquoted in place. Its fields; *at moves on; -1: bad quoting. */
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

UNIT_TEST(test_csv, "CSV")
{
	struct row row = sink_row(8, false);
	char *text, *at, *names[FIELDS], *cells[FIELDS];
	struct sink *sink;
	int n;

	sink_set_up();
	sink = sink_begun(sink_csv_new(sink_path("a.csv"), &sink_err));
	row.stop = "a \"b\",\r\nc";
	row.busbw_gbs = NAN;
	row.algbw_gbs = INFINITY;
	sink_put(sink, row);
	text = unit_read(sink_path("a.csv"), NULL); /* flushed while the sink is open */
	at = text;
	n = csv_record(&at, names);
	CU_ASSERT_EQUAL_FATAL(n, (int)row_column_count + 5);
	CU_ASSERT_STRING_EQUAL(names[0], "schema");
	CU_ASSERT_EQUAL_FATAL(csv_record(&at, cells), n);
	UNIT_ALL(*at == '\0', !strcmp(cells[0], "1"), !strcmp(CELL("stop"), "a \"b\",\r\nc"),
		 !strcmp(CELL("time_us"), "12.25"), !strcmp(CELL("busbw_gbs"), "nan"),
		 !strcmp(CELL("algbw_gbs"), "inf"), !strcmp(CELL("wrong_kind"), ""),
		 !strcmp(CELL("wrong_got"), ""));
	free(text);

	sink_put(sink, sink_wrong_row(8, false));
	text = unit_read(sink_path("a.csv"), NULL);
	at = text;
	csv_record(&at, names);
	csv_record(&at, cells);
	CU_ASSERT_EQUAL_FATAL(csv_record(&at, cells), n);
	UNIT_ALL(!strcmp(CELL("wrong"), "12"), !strcmp(CELL("wrong_kind"), "zero"),
		 !strcmp(CELL("wrong_rank"), "1"), !strcmp(CELL("wrong_element"), "-4"),
		 !strcmp(CELL("wrong_expected"), "3 (0x40400000)"),
		 !strcmp(CELL("wrong_got"), "0,\"\n"));
	free(text);
	sink->ops->free(sink);
}

static struct sink *csv_new(const char *path)
{
	return sink_csv_new(path, &sink_err);
}

static struct sink *json_new(const char *path)
{
	return sink_json_new(path, &sink_err);
}

static struct sink *nccl_json_new(const char *path)
{
	return sink_nccl_json_new(path, &sink_err);
}

static struct sink *(*const makers[])(const char *path) = { csv_new, json_new, nccl_json_new };

UNIT_TEST(test_existing_file_refused, "existing file refused")
{
	for (int i = 0; i < 2; i++) { /* CSV and JSON lines */
		FILE *file = fopen(sink_path("taken"), "w");
		char *text;

		fputs("mine", file);
		fclose(file);
		sink_set_up();
		UNIT_ALL(makers[i](sink_path("taken")) == NULL, sink_err.outcome == OUTCOME_USAGE,
			 sink_err.code == -EEXIST,
			 strstr(sink_err.text, sink_path("taken")) != NULL);
		text = unit_read(sink_path("taken"), NULL);
		CU_ASSERT_STRING_EQUAL(text, "mine");
		free(text);
		unlink(sink_path("taken"));
	}
}

UNIT_TEST(test_unusable_path, "unusable path")
{
	for (int i = 0; i < 3; i++) {
		sink_set_up();
		UNIT_ALL(makers[i](sink_path("no/such/folder.json")) == NULL,
			 sink_err.outcome == OUTCOME_USAGE, sink_err.code == -ENOENT);
		/* A dangling link must not be followed. */
		CU_ASSERT_EQUAL(symlink("nowhere", sink_path("link")), 0);
		sink_set_up();
		if (i < 2) {
			UNIT_ALL(makers[i](sink_path("link")) == NULL, sink_err.code == -EEXIST);
		}
		CU_ASSERT_NOT_EQUAL(access(sink_path("nowhere"), F_OK), 0);
		unlink(sink_path("link"));
	}
}

UNIT_TEST(test_write_failure, "write failure")
{
	struct rlimit before, small;

	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	small = before;
	small.rlim_cur = 16;
	for (int i = 0; i < 3; i++) {
		const struct run_summary summary = sink_summary();
		struct sink *sink;
		int rc;

		sink_set_up();
		sink = makers[i](sink_path("small"));
		CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
		setrlimit(RLIMIT_FSIZE, &small);
		rc = sink->ops->begin(sink, &facts);
		if (rc == 0)
			rc = sink->ops->end(sink, &summary); /* nccl-tests' JSON */
		CU_ASSERT_EQUAL(rc, -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		UNIT_ALL(sink_err.outcome == OUTCOME_INTERNAL,
			 strstr(sink_err.text, "small") != NULL);
		sink->ops->free(sink);
		unlink(sink_path("small"));
	}
}

/* The disk fills in the middle of a line: no part of it stays; later the next line follows. */
UNIT_TEST(test_full_disk_mid_line, "the disk fills in the middle of a line")
{
	struct rlimit before, small;
	struct row row = sink_row(8, true);
	size_t len, after;
	char *text;

	CU_ASSERT_EQUAL(getrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_IGN);
	for (int i = 0; i < 2; i++) { /* CSV, JSON */
		struct sink *sink;

		sink_set_up();
		sink = sink_begun(makers[i](sink_path("full")));
		sink_put(sink, sink_row(8, false));
		free(unit_read(sink_path("full"), &len));
		small = before;
		small.rlim_cur = len + 20;
		setrlimit(RLIMIT_FSIZE, &small);
		CU_ASSERT_EQUAL(sink->ops->row(sink, &row), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		text = unit_read(sink_path("full"), &after);
		UNIT_ALL(after == len, text[after - 1] == '\n');
		free(text);
		sink_put(sink, row);
		text = unit_read(sink_path("full"), &after);
		CU_ASSERT(after > len && strlen(text) == after); /* no hole */
		free(text);
		sink->ops->free(sink);
		unlink(sink_path("full"));
	}
}

UNIT_MAIN(unit_main_folder(sink_folder))
