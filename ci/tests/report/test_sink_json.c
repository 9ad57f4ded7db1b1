/* test_sink_json.c: JSON lines and nccl-tests' JSON, read back: after a cut at every byte. */
#include "sink_rows.h"

#include <jansson.h>

/* Parses `len` bytes as lines into an array of objects. Complete lines must parse; the rest after
 * the last newline is ignored. */
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
	char *text = unit_read(path, &len);
	json_t *list = parse_lines(text, len);

	CU_ASSERT_EQUAL(text[len - 1], '\n');
	free(text);
	return list;
}

/* Returns the value at "a/2/b" as JSON; for "a/#" the number of items of a; "": none. */
static const char *at(const json_t *from, const char *path)
{
	static char text[512];
	char copy[128], *rest = copy, *key, *json = NULL;

	snprintf(copy, sizeof(copy), "%s", path);
	while (from && (key = strsep(&rest, "/")) && *key != '#')
		from = json_is_array(from) ? json_array_get(from, (size_t)atoi(key))
					   : json_object_get(from, key);
	if (from && strchr(path, '#'))
		snprintf(text, sizeof(text), "%zu", json_array_size(from) + json_object_size(from));
	else
		snprintf(text, sizeof(text), "%s",
			 from && (json = json_dumps(from, JSON_ENCODE_ANY | JSON_COMPACT)) ? json
											   : "");
	free(json);
	return text;
}

/* Pairs of a path and its expected value. */
static void check_all(const json_t *from, const char *const (*pairs)[2])
{
	for (; (*pairs)[0]; pairs++) {
		CU_ASSERT_STRING_EQUAL(at(from, (*pairs)[0]), (*pairs)[1]);
		if (strcmp(at(from, (*pairs)[0]), (*pairs)[1]) != 0)
			printf("\n    %s: %s\n", (*pairs)[0], at(from, (*pairs)[0]));
	}
}

#define CHECK_ALL(from, ...)                                                                       \
	check_all(from, (const char *const[][2]){ __VA_ARGS__, { NULL, NULL } })

static struct sink *json_open(const char *name)
{
	return sink_begun(sink_json_new(sink_path(name), &sink_err));
}

static struct sink *sink;
static json_t *lines, *document;

UNIT_TEST(test_json_header, "JSON: header")
{
	char *text;

	sink_set_up();
	setenv("NCCL_ALGO", "Ring", 1);
	setenv("NCCL_API_TOKEN", "s3cr3t", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t", 1);
	sink = json_open("header.json");
	sink->ops->free(sink);
	lines = parse_lines_of(sink_path("header.json"));
	CHECK_ALL(lines, { "#", "1" }, { "0/type", "\"header\"" }, { "0/schema", "1" },
		  { "0/seed", "42" }, { "0/command/#", "3" },
		  { "0/command/1", "\"--csv=a \\\"b\\\",c\"" }, { "0/command/2", "\"??\"" },
		  { "0/hosts/#", "2" }, { "0/ranks/1/host", "\"node?1\"" },
		  { "0/ranks/1/device", "\"NVIDIA H200\"" }, { "0/ranks/1/library_code", "22809" },
		  { "0/options/mode", "\"stream\"" }, { "0/options/dtype_first", "\"float\"" },
		  { "0/options/max_bytes", "1048576" }, { "0/options/budget", "null" },
		  { "0/env/NCCL_ALGO", "\"Ring\"" });
	json_decref(lines);
	text = unit_read(sink_path("header.json"), NULL);
	UNIT_ALL(strstr(text, "s3cr3t") == NULL, strstr(text, "\"PATH\"") == NULL);
	free(text);
}

UNIT_TEST(test_json_rows, "JSON: rows, comment, end")
{
	struct run_summary summary = sink_summary();
	struct row row;

	sink_set_up();
	row = sink_row(8, false);
	row.busbw_gbs = NAN;
	row.p99_us = INFINITY;
	sink = json_open("rows.json");
	sink_put(sink, row);
	lines = parse_lines_of(sink_path("rows.json"));
	for (size_t i = 0; i < row_column_count; i++)
		CU_ASSERT_PTR_NOT_NULL(
			json_object_get(json_array_get(lines, 1), row_columns[i].name));
	CHECK_ALL(lines, { "#", "2" }, { "1/type", "\"row\"" }, { "1/dtype", "\"float\"" },
		  { "1/time_us", "12.25" }, { "1/busbw_gbs", "null" }, { "1/p99_us", "null" },
		  { "1/wrong_kind", "null" }, { "1/per_rank/#", "2" },
		  { "1/per_rank/1/median_us", "13.0" }, { "1/per_rank/1/p99_us", "null" },
		  { "1/samples_us/#", "3" }, { "1/samples_us/2/1", "15.0" });
	json_decref(lines);

	sink_put(sink, sink_wrong_row(16, true));
	lines = parse_lines_of(sink_path("rows.json"));
	CHECK_ALL(lines, { "2/wrong_kind", "\"zero\"" }, { "2/wrong_element", "-4" },
		  { "2/wrong_got", "\"0,\\\"\\n\"" }, { "2/placement", "\"in-place\"" });
	json_decref(lines);

	CU_ASSERT_EQUAL(sink->ops->comment(sink, "a \"remark\"\n"), 0);
	summary.outcome = OUTCOME_SLOW;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	lines = parse_lines_of(sink_path("rows.json"));
	CHECK_ALL(lines, { "#", "5" }, { "3/type", "\"comment\"" },
		  { "3/text", "\"a \\\"remark\\\"\\n\"" }, { "4/type", "\"end\"" },
		  { "4/outcome", "\"slow\"" }, { "4/error", "null" }, { "4/avg_busbw_gbs", "2.5" });
	json_decref(lines);
}

UNIT_TEST(test_json_sample_limit, "JSON: limit of samples")
{
	static double many[4098];
	struct row row;

	sink_set_up();
	row = sink_row(8, false);
	row.sample_times_us = many;
	row.per_rank = NULL;
	sink = json_open("many.json");
	row.samples = 2048;
	sink_put(sink, row);
	row.samples = 2049;
	sink_put(sink, row);
	row.samples = 2047;
	row.skipped = 2;
	sink_put(sink, row);
	row.skipped = 1;
	sink_put(sink, row);
	sink->ops->free(sink);
	lines = parse_lines_of(sink_path("many.json"));
	CHECK_ALL(lines, { "1/samples_us/#", "2048" }, { "2/samples_us", "" },
		  { "3/samples_us", "" }, { "4/samples_us/#", "2048" },
		  { "4/samples_skipped", "1" }, { "2/per_rank", "" });
	json_decref(lines);
}

/* Killed during the write of the last row: the lines before it are whole. */
UNIT_TEST(test_json_cut_anywhere, "JSON: cut anywhere")
{
	size_t before, len;
	char *text;

	sink_set_up();
	sink = json_open("cut.json");
	sink_put(sink, sink_row(8, false));
	free(unit_read(sink_path("cut.json"), &before));
	sink_put(sink, sink_wrong_row(8, true));
	sink->ops->free(sink);
	text = unit_read(sink_path("cut.json"), &len);
	CU_ASSERT_TRUE_FATAL(len > before);
	for (size_t cut = before; cut <= len; cut++) {
		lines = parse_lines(text, cut);

		CU_ASSERT_EQUAL(json_array_size(lines), cut == len ? 3 : 2);
		json_decref(lines);
	}
	free(text);
}

static json_t *load(const char *name)
{
	document = json_load_file(sink_path(name), JSON_REJECT_DUPLICATES, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(document);
	return document;
}

static bool is_empty(const char *name)
{
	size_t len;

	free(unit_read(sink_path(name), &len));
	return len == 0;
}

static void finish(struct sink *one)
{
	const struct run_summary summary = sink_summary();

	CU_ASSERT_EQUAL(one->ops->end(one, &summary), 0);
	one->ops->free(one);
}

static struct sink *nccl_json_open(const char *name)
{
	return sink_begun(sink_nccl_json_new(sink_path(name), &sink_err));
}

UNIT_TEST(test_nccl_json, "nccl-tests' JSON")
{
	struct run_summary summary = sink_summary();
	struct row row = sink_row(32, false), in = sink_row(8, true);

	sink_set_up();
	sink = nccl_json_open("n.json");
	sink_put_point(sink, sink_row(8, false), &in);
	sink_put_point(sink, sink_wrong_row(16, false), NULL);
	row.time_us = NAN;
	row.wrong = -1;
	sink_put_point(sink, row, NULL);
	CU_ASSERT_TRUE(is_empty("n.json")); /* empty until the end */
	summary.wrong_checks = 7;
	CU_ASSERT_EQUAL(sink->ops->end(sink, &summary), 0);
	sink->ops->free(sink);
	document = load("n.json");
	CHECK_ALL(document, { "version", "3" }, { "nccl_version", "22809" },
		  { "start_time", "\"2026-07-01 10:00:00\"" }, { "args/#", "3" },
		  { "config/step_factor", "2" }, { "config/step_bytes", "" },
		  { "config/per_iter_timing", "\"false\"" }, { "config/devices/#", "2" },
		  { "config/devices/1/device_hex", "\"0000:18:00\"" },
		  { "config/devices/1/hostname", "\"node?1\"" }, { "out_of_bounds/count", "7" },
		  { "out_of_bounds/okay", "\"false\"" },
		  { "average_bus_bandwidth/okay", "\"unchecked\"" }, { "errors/#", "0" });
	CU_ASSERT_EQUAL(strlen(at(document, "end_time")), 21); /* in quotes */
	CHECK_ALL(document, { "results/#", "3" }, { "results/0/root", "\"    -1\"" },
		  { "results/0/type", "\"float\"" }, { "results/0/out_of_place/time", "12.25" },
		  { "results/0/in_place/bus_bw", "3.0" }, { "results/0/in_place/nwrong", "0.0" },
		  { "results/0/actual_iterations", "60" }, { "results/1/in_place", "null" },
		  { "results/2/out_of_place/time", "\"nan\"" },
		  { "results/2/out_of_place/nwrong", "null" });
	json_decref(document);
}

/* Without an end no file stays that looks like a document. */
UNIT_TEST(test_nccl_json_endless, "nccl-tests' JSON: no end")
{
	sink_set_up();
	sink = nccl_json_open("endless.json");
	sink_put_point(sink, sink_row(8, false), NULL);
	sink->ops->free(sink);
	CU_ASSERT_EQUAL(access(sink_path("endless.json"), F_OK), -1);
}

UNIT_TEST(test_nccl_json_per_iteration, "nccl-tests' JSON: per iteration")
{
	struct row row = sink_row(8, true), out = sink_row(8, false);

	sink_set_up();
	sink_options.per_iter = true;
	out.samples = 2;
	out.skipped = 1;
	sink_options.cputime = true;
	sink_options.step_factor = 0;
	sink_options.step_bytes = 1 << 10;
	sink = nccl_json_open("iter.json");
	sink_put_point(sink, out, &row);
	finish(sink);
	document = load("iter.json");
	/* Slowest ranks: 11, 13, 15; the first is skipped. */
#define DETAIL "results/0/out_of_place_per_iter/"
	CHECK_ALL(document, { "config/step_bytes", "1024" }, { DETAIL "skipped_iterations", "1" },
		  { DETAIL "times_us/#", "3" }, { DETAIL "times_us/0", "11.0" },
		  { DETAIL "min_us", "13.0" }, { DETAIL "avg_us", "14.0" },
		  { DETAIL "per_process_max_times_us/#", "2" },
		  { DETAIL "per_process_max_times_us/0/2", "14.0" },
		  { "results/0/in_place/cpu_time", "4.5" },
		  { "results/0/actual_iterations", "60" });
	CU_ASSERT_TRUE(at(document, "results/0/in_place_per_iter")[0] != '\0');
	json_decref(document);
}

UNIT_TEST(test_nccl_json_suffixes, "nccl-tests' JSON: suffixes")
{
	struct sink *three[3];

	sink_set_up();
	for (int i = 0; i < 3; i++)
		three[i] = nccl_json_open("s.json");
	UNIT_ALL(access(sink_path("s.json"), F_OK) == 0, access(sink_path("s.json.0"), F_OK) == 0,
		 access(sink_path("s.json.1"), F_OK) == 0);
	sink_put_point(three[2], sink_row(8, false), NULL);
	for (int i = 0; i < 3; i++)
		finish(three[i]);
	for (int i = 0; i < 2; i++) {
		document = load(i ? "s.json.1" : "s.json");

		CHECK_ALL(document, { "results/#", i ? "1" : "0" });
		json_decref(document);
	}
}

UNIT_TEST(test_nccl_json_environment, "nccl-tests' JSON: environment")
{
	json_t *env;
	bool found = false;
	char *text;

	sink_set_up();
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
	text = unit_read(sink_path("env.json"), NULL);
	CU_ASSERT_PTR_NULL(strstr(text, "s3cr3t"));
	free(text);
}

UNIT_MAIN(unit_main_folder(sink_folder))
