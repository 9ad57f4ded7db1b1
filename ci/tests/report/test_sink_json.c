/* test_sink_json.c: JSON lines and nccl-tests' JSON, read back with jansson: lines after a cut
 * at every byte. */
#include "sink_rows.h"

#include <jansson.h>

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
	UNIT_ALL(!strcmp(text_at(header, "type"), "header"),
		 json_integer_value(json_object_get(header, "schema")) == ROW_SCHEMA,
		 json_integer_value(json_object_get(header, "seed")) == 42,
		 json_array_size(json_object_get(header, "command")) == 3,
		 !strcmp(json_string_value(json_array_get(json_object_get(header, "command"), 1)),
			 "--csv=a \"b\",c"),
		 !strcmp(json_string_value(json_array_get(json_object_get(header, "command"), 2)),
			 "??"));
	CU_ASSERT(json_array_size(json_object_get(header, "hosts")) == 2);
	rank = json_array_get(json_object_get(header, "ranks"), 1);
	UNIT_ALL(!strcmp(text_at(rank, "host"), "node?1"),
		 !strcmp(text_at(rank, "device"), "NVIDIA H200"),
		 json_integer_value(json_object_get(rank, "library_code")) == 22809,
		 !strcmp(text_at(json_object_get(header, "options"), "mode"), "stream"),
		 !strcmp(text_at(json_object_get(header, "options"), "dtype_first"), "float"),
		 json_integer_value(json_object_get(json_object_get(header, "options"),
						    "max_bytes")) == (1 << 20));
	CU_ASSERT(json_is_null(json_object_get(json_object_get(header, "options"), "budget")));
	env = json_object_get(header, "env");
	CU_ASSERT_STRING_EQUAL(text_at(env, "NCCL_ALGO"), "Ring");
	json_decref(lines);
	text = slurp(path_of("header.json"), NULL);
	UNIT_ALL(strstr(text, "s3cr3t") == NULL, strstr(text, "\"PATH\"") == NULL);
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
	UNIT_ALL(!strcmp(text_at(last, "type"), "end"), !strcmp(text_at(last, "outcome"), "hang"),
		 !strcmp(text_at(json_object_get(last, "error"), "text"), "stuck"),
		 json_real_value(json_object_get(last, "avg_busbw_gbs")) == 2.5);
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
	UNIT_ALL(json_array_size(json_object_get(json_array_get(lines, 1), "samples_us")) == 2048,
		 json_object_get(json_array_get(lines, 2), "samples_us") == NULL,
		 json_object_get(json_array_get(lines, 2), "per_rank") == NULL);
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

static bool is_empty(const char *name)
{
	size_t len;

	free(slurp(path_of(name), &len));
	return len == 0;
}

static void finish(struct sink *sink)
{
	const struct run_summary summary = make_summary();

	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
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

	UNIT_ALL(json_array_size(json_object_get(document, "results")) == 3,
		 !strcmp(text_at(first, "root"), "    -1"),
		 !strcmp(text_at(first, "type"), "float"),
		 json_real_value(json_object_get(json_object_get(first, "out_of_place"), "time")) ==
			 12.25,
		 json_real_value(json_object_get(json_object_get(first, "in_place"), "bus_bw")) ==
			 3,
		 json_real_value(json_object_get(json_object_get(first, "in_place"), "nwrong")) ==
			 0);
	UNIT_ALL(json_integer_value(json_object_get(first, "actual_iterations")) == 60,
		 json_is_null(json_object_get(result_at(document, 1), "in_place")),
		 !strcmp(text_at(json_object_get(last, "out_of_place"), "time"), "nan"),
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
	put(sink, make_row(8, false));
	put(sink, make_row(8, true));
	put(sink, make_wrong_row(16, false));
	row.time_us = NAN;
	row.wrong = -1;
	put(sink, row);
	CU_ASSERT_TRUE(is_empty("n.json")); /* until the end */
	summary.wrong_checks = 7;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	document = load("n.json");
	check_nccl_head(document);
	check_nccl_results(document);
	UNIT_ALL(json_integer_value(
			 json_object_get(json_object_get(document, "out_of_bounds"), "count")) == 7,
		 !strcmp(text_at(json_object_get(document, "out_of_bounds"), "okay"), "false"),
		 !strcmp(text_at(json_object_get(document, "average_bus_bandwidth"), "okay"),
			 "unchecked"),
		 strlen(text_at(document, "end_time")) == 19,
		 json_array_size(json_object_get(document, "errors")) == 0);
	json_decref(document);
}

static void test_nccl_json_errors(void)
{
	const struct error failure = { .outcome = OUTCOME_ERROR, .text = "what failed" };
	struct run_summary summary = make_summary();
	struct sink *sink;
	json_t *document;

	set_up();
	sink = nccl_json_open("failed.json");
	put(sink, make_row(8, false));
	summary.err = &failure;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	document = load("failed.json");
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "results")), 1);
	CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "errors")), 1);
	json_decref(document);
}

/* Without an end nothing stays that a reader would take for a document. */
static void test_nccl_json_endless(void)
{
	struct sink *sink;

	set_up();
	sink = nccl_json_open("endless.json");
	put(sink, make_row(8, false));
	sink->ops->free(sink);
	CU_ASSERT_EQUAL(access(path_of("endless.json"), F_OK), -1);
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
	finish(sink);
	document = load("iter.json");
	CU_ASSERT_EQUAL(json_integer_value(
				json_object_get(json_object_get(document, "config"), "step_bytes")),
			1024);
	detail = json_object_get(result_at(document, 0), "out_of_place_per_iter");
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(detail, "skipped_iterations")), 1);
	/* Slowest ranks: 11, 13, 15; the first is skipped. */
	UNIT_ALL(json_array_size(json_object_get(detail, "times_us")) == 3,
		 json_real_value(json_array_get(json_object_get(detail, "times_us"), 0)) == 11,
		 json_real_value(json_object_get(detail, "min_us")) == 13,
		 json_real_value(json_object_get(detail, "avg_us")) == 14);
	ranks_times = json_object_get(detail, "per_process_max_times_us");
	UNIT_ALL(json_array_size(ranks_times) == 2,
		 json_real_value(json_array_get(json_array_get(ranks_times, 0), 2)) == 14,
		 json_object_get(result_at(document, 0), "in_place_per_iter") != NULL,
		 json_real_value(
			 json_object_get(json_object_get(result_at(document, 0), "in_place"),
					 "cpu_time")) == 4.5);
	json_decref(document);
}

static void test_nccl_json_suffixes(void)
{
	struct sink *sink[3];

	set_up();
	for (int i = 0; i < 3; i++)
		sink[i] = nccl_json_open("s.json");
	UNIT_ALL(access(path_of("s.json"), F_OK) == 0, access(path_of("s.json.0"), F_OK) == 0,
		 access(path_of("s.json.1"), F_OK) == 0);
	put(sink[2], make_row(8, false));
	for (int i = 0; i < 3; i++)
		finish(sink[i]);
	for (int i = 0; i < 2; i++) {
		json_t *document = load(i ? "s.json.1" : "s.json");

		CU_ASSERT_EQUAL(json_array_size(json_object_get(document, "results")), (size_t)i);
		json_decref(document);
	}
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
	finish(sink);
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

UNIT_MAIN_BY(sink_main, "sink JSON", { "JSON: header", test_json_header },
	     { "JSON: rows, comment, end", test_json_rows },
	     { "JSON: limit of samples", test_json_sample_limit },
	     { "JSON: cut anywhere", test_json_cut_anywhere },
	     { "nccl-tests' JSON", test_nccl_json },
	     { "nccl-tests' JSON: errors", test_nccl_json_errors },
	     { "nccl-tests' JSON: no end", test_nccl_json_endless },
	     { "nccl-tests' JSON: per iteration", test_nccl_json_per_iteration },
	     { "nccl-tests' JSON: suffixes", test_nccl_json_suffixes },
	     { "nccl-tests' JSON: environment", test_nccl_json_environment })
