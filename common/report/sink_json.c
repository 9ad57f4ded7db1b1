/* sink_json.c: JSON lines: a header, rows, comments and an end, each one object in one write. */
#include <jansson.h>

#include "base/json_value.h"
#include "report/sink.h"
#include "report/sink_shared.h"

/* Single samples are written up to this many per row: 32 KiB of text or so. */
#define SAMPLES_MAX 4096

/* The fields of struct options below are printed as they are; options_object adds those that
 * are names. */
enum option_kind { OPTION_INT, OPTION_SIZE, OPTION_BOOL, OPTION_REAL, OPTION_SEED, OPTION_TEXT };
#define FIELD(option_kind, field)                                                                  \
	{                                                                                          \
		.name = #field, .kind = option_kind, .offset = offsetof(struct options, field)     \
	}
static const struct {
	const char *name;
	enum option_kind kind;
	size_t offset;
} option_fields[] = {
	FIELD(OPTION_SIZE, min_bytes),
	FIELD(OPTION_SIZE, max_bytes),
	FIELD(OPTION_SIZE, step_bytes),
	FIELD(OPTION_INT, step_factor),
	FIELD(OPTION_SIZE, align),
	FIELD(OPTION_INT, threads),
	FIELD(OPTION_INT, gpus),
	FIELD(OPTION_BOOL, share_gpu),
	FIELD(OPTION_INT, device_first),
	FIELD(OPTION_INT, root),
	FIELD(OPTION_INT, iters),
	FIELD(OPTION_INT, warmup),
	FIELD(OPTION_INT, agg_iters),
	FIELD(OPTION_INT, cycles),
	FIELD(OPTION_INT, graph_launches),
	FIELD(OPTION_REAL, budget),
	FIELD(OPTION_REAL, ci_percent),
	FIELD(OPTION_INT, check),
	FIELD(OPTION_BOOL, check_every),
	FIELD(OPTION_SEED, seed),
	FIELD(OPTION_INT, unalign),
	FIELD(OPTION_INT, blocking),
	FIELD(OPTION_INT, timeout),
	FIELD(OPTION_INT, parallel_init),
	FIELD(OPTION_INT, local_register),
	FIELD(OPTION_INT, cta_policy),
	FIELD(OPTION_BOOL, nvlink_centric),
	FIELD(OPTION_BOOL, stream_null),
	FIELD(OPTION_BOOL, cputime),
	FIELD(OPTION_BOOL, timestamps),
	FIELD(OPTION_BOOL, memory_report),
	FIELD(OPTION_BOOL, per_iter),
	FIELD(OPTION_INT, per_iter_skip),
	FIELD(OPTION_REAL, min_bw),
	FIELD(OPTION_TEXT, nccl_json),
	FIELD(OPTION_TEXT, csv),
	FIELD(OPTION_TEXT, json),
	FIELD(OPTION_TEXT, out),
	FIELD(OPTION_BOOL, watch),
	FIELD(OPTION_TEXT, expect),
	FIELD(OPTION_REAL, spread),
	FIELD(OPTION_TEXT, matrix_file),
	FIELD(OPTION_REAL, matrix_scale),
	FIELD(OPTION_BOOL, matrix_summary),
};

static json_t *option_value(const struct options *options, size_t i)
{
	const void *field = (const char *)options + option_fields[i].offset;

	switch (option_fields[i].kind) {
	case OPTION_INT:
		return json_integer(*(const int *)field);
	case OPTION_SIZE:
		return json_integer((json_int_t) * (const size_t *)field);
	case OPTION_BOOL:
		return json_boolean(*(const bool *)field);
	case OPTION_REAL:
		return json_value_real(*(const double *)field);
	case OPTION_SEED:
		return json_integer(*(const uint32_t *)field);
	case OPTION_TEXT:
		return json_value_text(*(const char *const *)field);
	}
	return json_null();
}

static json_t *name_or_null(const char *const *names, size_t n, unsigned int i)
{
	return i < n ? json_string(names[i]) : json_null();
}
#define NAME(names, i) name_or_null(names, sizeof(names) / sizeof((names)[0]), (unsigned int)(i))

static json_t *options_object(const struct options *o)
{
	static const char *const splits[] = { "none", "and", "or", "mod", "div" };
	static const char *const allocs[] = { "nccl", "cuda" };
	static const char *const averages[] = { "rank0", "mean", "min", "max" };
	static const char *const records[] = { "off", "calls", "full" };
	json_t *to =
		json_pack("{s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:o, s:b, s:o, s:o}", "backend",
			  json_value_text(o->backend), "mode", mode_name(o->mode), "dtype_first",
			  dtype_name(o->dtype_first), "dtype_last", dtype_name(o->dtype_last),
			  "op_first", redop_name(o->op_first), "op_last", redop_name(o->op_last),
			  "split_kind", NAME(splits, o->split_kind), "split_value",
			  (json_int_t)o->split_value, "alloc", NAME(allocs, o->alloc),
			  "table_plain", o->table == TABLE_NCCL_TESTS, "average",
			  NAME(averages, o->average), "record", NAME(records, o->record));

	for (size_t i = 0; i < sizeof(option_fields) / sizeof(option_fields[0]); i++)
		json_object_set_new(to, option_fields[i].name, option_value(o, i));
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

/* Takes `object` as a line. */
static int write_object(struct sink *sink, json_t *object)
{
	char *text = must(json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)));
	size_t len = strlen(text);
	int rc;

	json_decref(object);
	/* The terminator's place takes the newline, so that text and newline are one write. */
	text[len] = '\n';
	rc = sink_lines_append(sink, text, len + 1);
	free(text);
	return rc;
}

/* Hosts: each once, in the order of their lowest rank. */
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
	const struct check_report *report = &row->report;
	char text[64];

	for (int i = 0; i < SINK_WRONG_COLUMNS; i++) {
		json_t *value;

		if (!sink_row_failed(row))
			value = json_null();
		else if (i == SINK_WRONG_RANK)
			value = json_integer(report->rank);
		else if (i == SINK_WRONG_ELEMENT)
			value = json_integer(sink_wrong_element(report));
		else
			value = json_value_text(sink_wrong_text(row, i, text, sizeof(text)));
		json_object_set_new(to, sink_wrong_names[i], value);
	}
	if (sink_row_failed(row)) {
		json_object_set_new(to, "wrong_culprit", json_integer(report->culprit));
		json_object_set_new(to, "wrong_shift", json_integer(report->shift));
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

/* One array per sample, in it one time per rank. */
static json_t *samples_array(const struct row *row)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < row->samples; i++) {
		json_t *sample = json_array();

		for (int r = 0; r < row->nranks; r++)
			json_array_append_new(sample,
					      json_value_real(
						      row->sample_times_us[i * row->nranks + r]));
		json_array_append_new(list, sample);
	}
	return list;
}

static bool samples_wanted(const struct row *row)
{
	return row->sample_times_us && row->nranks > 0 && row->samples > 0 &&
	       row->samples <= SAMPLES_MAX / row->nranks;
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
	if (samples_wanted(row))
		json_object_set_new(to, "samples_us", samples_array(row));
	return write_object(sink, to);
}

static int json_comment(struct sink *sink, const char *line)
{
	return write_object(sink, json_pack("{s:s, s:o}", "type", "comment", "text",
					    json_value_text(line)));
}

static json_t *error_object(const struct error *err)
{
	if (!err || err->outcome == OUTCOME_OK)
		return json_null();
	return json_pack("{s:s, s:i, s:i, s:o, s:i, s:o}", "outcome", outcome_name(err->outcome),
			 "code", err->code, "rank", err->rank, "file", json_value_text(err->file),
			 "line", err->line, "text", json_value_text(err->text));
}

static int json_end(struct sink *sink, const struct run_summary *summary)
{
	return write_object(sink,
			    json_pack("{s:s, s:s, s:b, s:I, s:o, s:o, s:{s:I, s:I, s:I}}", "type",
				      "end", "outcome", outcome_name(summary->outcome), "checked",
				      summary->checked, "wrong_checks",
				      (json_int_t)summary->wrong_checks, "avg_busbw_gbs",
				      json_value_real(summary->avg_busbw_gbs), "error",
				      error_object(summary->err), "memory_bytes", "init",
				      (json_int_t)summary->memory_init, "buffers",
				      (json_int_t)summary->memory_buffers, "collectives",
				      (json_int_t)summary->memory_collectives));
}

static const struct sink_ops json_ops = {
	.name = "json",
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
