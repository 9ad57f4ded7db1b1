/* sink_json.c: JSON lines: a header, rows, comments and an end, each one object in one write. */
#include <jansson.h>

#include "base/json_value.h"
#include "options/options_table.h"
#include "report/sink.h"
#include "report/sink_shared.h"

/* Most single samples of a row: about 32 KiB of text. */
#define SAMPLES_MAX 4096

static json_t *option_value(const struct option_row *row, const struct options *options)
{
	const void *field = (const char *)options + row->offset;
	char text[4096];

	if (row->kind == &kind_int)
		return json_integer(option_int(row, field));
	if (row->kind == &kind_size)
		return json_integer((json_int_t) * (const size_t *)field);
	if (row->kind == &kind_bool)
		return json_boolean(*(const bool *)field);
	if (row->kind == &kind_real)
		return json_value_real(*(const double *)field);
	option_text(row, options, text, sizeof(text));
	return *text ? json_value_text(text) : json_null();
}

static json_t *options_object(const struct options *options)
{
	json_t *to = json_object();

	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].field && option_rows[i].group != GROUP_HELP)
			json_object_set_new(to, option_rows[i].field,
					    option_value(&option_rows[i], options));
	return to;
}

static json_t *rank_object(const struct rank_facts *rank, const struct options *options)
{
	const struct backend_facts *device = &rank->device;

	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:o, s:o, s:i, s:o, s:o, s:i, s:o, s:I, s:o}",
			 "rank", (int)rank->rank, "group", options_color(options, rank->rank),
			 "node", (int)rank->node, "local_rank", (int)rank->local_rank, "pid",
			 (int)rank->pid, "host", json_value_text(rank->host), "library",
			 json_value_text(device->library), "library_code", device->library_code,
			 "runtime", json_value_text(device->runtime), "device",
			 json_value_text(device->device), "device_index", device->device_index,
			 "bus_id", json_value_text(device->bus_id), "device_memory_bytes",
			 (json_int_t)device->device_memory, "config",
			 json_value_text(device->config));
}

/* Writes `object` as a line and releases it. */
static int write_object(struct sink *sink, json_t *object)
{
	char *text = must(json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)));
	size_t len = strlen(text);
	int rc;

	json_decref(object);
	/* The newline replaces the terminator, so text and newline are one write. */
	text[len] = '\n';
	rc = sink_lines_append(sink, text, len + 1);
	free(text);
	return rc;
}

/* Hosts: once each, in the order of their lowest rank. */
static int json_begin(struct sink *sink, const struct run_facts *facts)
{
	json_t *hosts = json_array(), *ranks = json_array();
	int next = 0;

	for (int i = 0; i < facts->nranks; i++) {
		json_array_append_new(ranks, rank_object(&facts->ranks[i], facts->options));
		if (facts->ranks[i].node == next && ++next)
			json_array_append_new(hosts, json_value_text(facts->ranks[i].host));
	}
	return write_object(
		sink,
		json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:I, s:o, "
			  "s:o}",
			  "type", "header", "schema", ROW_SCHEMA, "hangar_version",
			  json_value_text(facts->hangar_version), "program",
			  json_value_text(facts->program), "command",
			  json_value_texts(facts->argv, facts->argc), "started",
			  json_value_text(facts->started), "backend",
			  json_value_text(facts->backend), "mpi_library",
			  json_value_text(facts->mpi_library), "nranks", facts->nranks, "nnodes",
			  facts->nnodes, "hosts", hosts, "ranks", ranks, "seed",
			  (json_int_t)facts->options->seed, "options",
			  options_object(facts->options), "env", sink_environment(false)));
}

static void put_report(json_t *to, const struct row *row)
{
	bool failed = sink_row_failed(row);

	for (int i = 0; i < WRONG_COLUMNS; i++)
		json_object_set_new(to, wrong_columns[i].name,
				    failed ? sink_column_value(&wrong_columns[i], row)
					   : json_null());
	if (failed) {
		json_object_set_new(to, "wrong_culprit", json_integer(row->report.culprit));
		json_object_set_new(to, "wrong_shift", json_integer(row->report.shift));
	}
}

static json_t *per_rank_array(const struct row *row)
{
	json_t *list = json_array();

	for (int i = 0; i < row->nranks; i++) {
		const struct stats *stats = &row->per_rank[i];

		json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o, s:o}", "rank", i,
						      "median_us", json_value_real(stats->median),
						      "min_us", json_value_real(stats->min),
						      "max_us", json_value_real(stats->max),
						      "p99_us", json_value_real(stats->p99)));
	}
	return list;
}

/* One array per sample with a time per rank; samples that -K skips come first. */
static json_t *samples_array(const struct row *row)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < row->skipped + row->samples; i++) {
		json_t *sample = json_array();

		for (int r = 0; r < row->nranks; r++)
			json_array_append_new(sample,
					      json_value_real(
						      row->sample_times_us[i * row->nranks + r]));
		json_array_append_new(list, sample);
	}
	return list;
}

static int json_row(struct sink *sink, const struct row *row)
{
	json_t *to = json_pack("{s:s}", "type", "row");

	for (size_t i = 0; i < row_column_count; i++)
		json_object_set_new(to, row_columns[i].name,
				    sink_column_value(&row_columns[i], row));
	put_report(to, row);
	if (row->per_rank)
		json_object_set_new(to, "per_rank", per_rank_array(row));
	if (row->sample_times_us && row->nranks > 0 && row->samples > 0 &&
	    row->skipped + row->samples <= SAMPLES_MAX / row->nranks) {
		json_object_set_new(to, "samples_us", samples_array(row));
		json_object_set_new(to, "samples_skipped", json_integer(row->skipped));
	}
	return write_object(sink, to);
}

static int json_comment(struct sink *sink, const char *line)
{
	return write_object(sink, json_pack("{s:s, s:o}", "type", "comment", "text",
					    json_value_text(line)));
}

/* A run that fails or is interrupted has no end. */
static int json_end(struct sink *sink, const struct run_summary *summary)
{
	const struct memory_use *memory = &summary->memory;

	if (summary->interrupted)
		return 0;
	return write_object(sink,
			    json_pack("{s:s, s:s, s:b, s:I, s:o, s:n, s:{s:I, s:I, s:I}}", "type",
				      "end", "outcome", outcome_name(summary->outcome), "checked",
				      summary->checked, "wrong_checks",
				      (json_int_t)summary->wrong_checks, "avg_busbw_gbs",
				      json_value_real(summary->avg_busbw_gbs), "error",
				      "memory_bytes", "init", (json_int_t)memory->init, "buffers",
				      (json_int_t)memory->buffers, "collectives",
				      (json_int_t)memory->collectives));
}

static const struct sink_ops json_ops = {
	.begin = json_begin,
	.row = json_row,
	.comment = json_comment,
	.end = json_end,
	.free = sink_lines_free,
};

struct sink *sink_json_new(const char *path, struct error *err)
{
	return sink_lines_new(&json_ops, path, err);
}
