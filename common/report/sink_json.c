/* sink_json.c: JSON lines: a header, rows, comments and an end, each one object in one write. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_value.h"
#include "report/sink.h"
#include "report/sink_shared.h"

/* Single samples are written up to this many per row: 32 KiB of text or so. */
#define SAMPLES_MAX 4096

/* The fields of struct options below are printed as they are; names for numbers are added by
 * put_option_names(). */
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

static int put_option_names(json_t *to, const struct options *options)
{
	static const char *const splits[] = { "none", "and", "or", "mod", "div" };
	static const char *const allocs[] = { "nccl", "cuda" };
	static const char *const averages[] = { "rank0", "mean", "min", "max" };
	static const char *const records[] = { "off", "calls", "full" };
	int rc = 0;

	rc |= json_object_set_new(to, "backend", json_value_text(options->backend));
	rc |= json_object_set_new(to, "mode", json_value_text(mode_name(options->mode)));
	rc |= json_object_set_new(to, "dtype_first",
				  json_value_text(dtype_name(options->dtype_first)));
	rc |= json_object_set_new(to, "dtype_last",
				  json_value_text(dtype_name(options->dtype_last)));
	rc |= json_object_set_new(to, "op_first", json_value_text(redop_name(options->op_first)));
	rc |= json_object_set_new(to, "op_last", json_value_text(redop_name(options->op_last)));
	rc |= json_object_set_new(to, "split_kind", NAME(splits, options->split_kind));
	rc |= json_object_set_new(to, "split_value",
				  json_integer((json_int_t)options->split_value));
	rc |= json_object_set_new(to, "alloc", NAME(allocs, options->alloc));
	rc |= json_object_set_new(to, "table_plain",
				  json_boolean(options->table == TABLE_NCCL_TESTS));
	rc |= json_object_set_new(to, "average", NAME(averages, options->average));
	rc |= json_object_set_new(to, "record", NAME(records, options->record));
	return rc;
}

static json_t *options_object(const struct options *options)
{
	json_t *to = json_object();
	int rc = to ? put_option_names(to, options) : -1;

	for (size_t i = 0; rc == 0 && i < sizeof(option_fields) / sizeof(option_fields[0]); i++)
		rc = json_object_set_new(to, option_fields[i].name, option_value(options, i));
	return json_value_if(to, rc);
}

static json_t *rank_object(const struct rank_facts *rank, const struct options *options)
{
	const struct backend_facts *device = &rank->device;
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "rank", json_integer(rank->rank));
	rc |= json_object_set_new(to, "group", json_integer(options_color(options, rank->rank)));
	rc |= json_object_set_new(to, "node", json_integer(rank->node));
	rc |= json_object_set_new(to, "local_rank", json_integer(rank->local_rank));
	rc |= json_object_set_new(to, "pid", json_integer(rank->pid));
	rc |= json_object_set_new(to, "host", json_value_text(rank->host));
	rc |= json_object_set_new(to, "library", json_value_text(device->library));
	rc |= json_object_set_new(to, "library_code", json_integer(device->library_code));
	rc |= json_object_set_new(to, "runtime", json_value_text(device->runtime));
	rc |= json_object_set_new(to, "device", json_value_text(device->device));
	rc |= json_object_set_new(to, "device_index", json_integer(device->device_index));
	rc |= json_object_set_new(to, "bus_id", json_value_text(device->bus_id));
	rc |= json_object_set_new(to, "device_memory_bytes",
				  json_integer((json_int_t)device->device_memory));
	rc |= json_object_set_new(to, "config", json_value_text(device->config));
	return json_value_if(to, rc);
}

static json_t *ranks_array(const struct run_facts *facts)
{
	json_t *list = json_array();
	int rc = 0;

	for (int i = 0; rc == 0 && i < facts->nranks; i++)
		rc = json_array_append_new(list, rank_object(&facts->ranks[i], facts->options));
	return json_value_if(list, rc);
}

/* Each host once, in the order of their lowest rank. */
static json_t *hosts_array(const struct run_facts *facts)
{
	json_t *list = json_array();
	int next = 0, rc = list ? 0 : -1;

	for (int i = 0; rc == 0 && i < facts->nranks; i++) {
		if (facts->ranks[i].node != next)
			continue;
		rc = json_array_append_new(list, json_value_text(facts->ranks[i].host));
		next++;
	}
	return json_value_if(list, rc);
}

/* Takes `object`, which may be NULL, as a line. */
static int write_object(struct sink *sink, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
	size_t len;
	int rc;

	json_decref(object);
	if (!text)
		return sink_lines_no_memory(sink);
	/* The terminator's place takes the newline, so that text and newline are one write. */
	len = strlen(text);
	text[len] = '\n';
	rc = sink_lines_append(sink, text, len + 1);
	free(text);
	return rc;
}

/* An object of that type, or NULL; later additions to NULL fail and leave it NULL. */
static json_t *typed_object(const char *type)
{
	json_t *object = json_object();

	return json_value_if(object, json_object_set_new(object, "type", json_string(type)));
}

static json_t *header_object(const struct run_facts *facts)
{
	json_t *to = typed_object("header");
	int rc = 0;

	rc |= json_object_set_new(to, "schema", json_integer(ROW_SCHEMA));
	rc |= json_object_set_new(to, "hangar_version", json_value_text(facts->hangar_version));
	rc |= json_object_set_new(to, "program", json_value_text(facts->program));
	rc |= json_object_set_new(to, "command", json_value_texts(facts->argv, facts->argc));
	rc |= json_object_set_new(to, "started", json_value_text(facts->started));
	rc |= json_object_set_new(to, "backend", json_value_text(facts->backend));
	rc |= json_object_set_new(to, "mpi_library", json_value_text(facts->mpi_library));
	rc |= json_object_set_new(to, "nranks", json_integer(facts->nranks));
	rc |= json_object_set_new(to, "nnodes", json_integer(facts->nnodes));
	rc |= json_object_set_new(to, "hosts", hosts_array(facts));
	rc |= json_object_set_new(to, "ranks", ranks_array(facts));
	rc |= json_object_set_new(to, "seed", json_integer(facts->options->seed));
	rc |= json_object_set_new(to, "options", options_object(facts->options));
	rc |= json_object_set_new(to, "env", sink_environment(false));
	return json_value_if(to, rc);
}

static int json_begin(struct sink *sink, const struct run_facts *facts)
{
	return write_object(sink, header_object(facts));
}

static int put_report(json_t *to, const struct row *row)
{
	const struct check_report *report = &row->report;
	char text[64];
	int rc = 0;

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
		rc |= json_object_set_new(to, sink_wrong_names[i], value);
	}
	if (sink_row_failed(row)) {
		rc |= json_object_set_new(to, "wrong_culprit", json_integer(report->culprit));
		rc |= json_object_set_new(to, "wrong_shift", json_integer(report->shift));
	}
	return rc;
}

static json_t *per_rank_object(int rank, const struct stats *stats)
{
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "rank", json_integer(rank));
	rc |= json_object_set_new(to, "median_us", json_value_real(stats->median));
	rc |= json_object_set_new(to, "min_us", json_value_real(stats->min));
	rc |= json_object_set_new(to, "max_us", json_value_real(stats->max));
	rc |= json_object_set_new(to, "p99_us", json_value_real(stats->p99));
	return json_value_if(to, rc);
}

static json_t *per_rank_array(const struct row *row)
{
	json_t *list = json_array();
	int rc = 0;

	for (int i = 0; rc == 0 && i < row->nranks; i++)
		rc = json_array_append_new(list, per_rank_object(i, &row->per_rank[i]));
	return json_value_if(list, rc);
}

/* One array per sample, in it one time per rank. */
static json_t *samples_array(const struct row *row)
{
	json_t *list = json_array();
	int rc = 0;

	for (int64_t i = 0; rc == 0 && i < row->samples; i++) {
		json_t *sample = json_array();

		for (int r = 0; r < row->nranks; r++)
			rc |= json_array_append_new(
				sample, json_value_real(row->sample_times_us[i * row->nranks + r]));
		rc |= json_array_append_new(list, sample);
	}
	return json_value_if(list, rc);
}

static bool samples_wanted(const struct row *row)
{
	return row->sample_times_us && row->nranks > 0 && row->samples > 0 &&
	       row->samples <= SAMPLES_MAX / row->nranks;
}

static int json_row(struct sink *sink, const struct row *row)
{
	json_t *to = typed_object("row");
	int rc = 0;

	for (size_t i = 0; i < row_column_count; i++)
		rc |= json_object_set_new(to, row_columns[i].name,
					  sink_column_value(&row_columns[i], row));
	rc |= put_report(to, row);
	if (row->per_rank)
		rc |= json_object_set_new(to, "per_rank", per_rank_array(row));
	if (samples_wanted(row))
		rc |= json_object_set_new(to, "samples_us", samples_array(row));
	return write_object(sink, json_value_if(to, rc));
}

static int json_comment(struct sink *sink, const char *line)
{
	json_t *to = typed_object("comment");
	int rc = json_object_set_new(to, "text", json_value_text(line));

	return write_object(sink, json_value_if(to, rc));
}

static json_t *error_object(const struct error *err)
{
	json_t *to;
	int rc = 0;

	if (!err || err->outcome == OUTCOME_OK)
		return json_null();
	to = json_object();
	rc |= json_object_set_new(to, "outcome", json_value_text(outcome_name(err->outcome)));
	rc |= json_object_set_new(to, "code", json_integer(err->code));
	rc |= json_object_set_new(to, "rank", json_integer(err->rank));
	rc |= json_object_set_new(to, "file", json_value_text(err->file));
	rc |= json_object_set_new(to, "line", json_integer(err->line));
	rc |= json_object_set_new(to, "text", json_value_text(err->text));
	return json_value_if(to, rc);
}

static json_t *memory_object(const struct run_summary *summary)
{
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "init", json_integer((json_int_t)summary->memory_init));
	rc |= json_object_set_new(to, "buffers", json_integer((json_int_t)summary->memory_buffers));
	rc |= json_object_set_new(to, "collectives",
				  json_integer((json_int_t)summary->memory_collectives));
	return json_value_if(to, rc);
}

static int json_end(struct sink *sink, const struct run_summary *summary)
{
	json_t *to = typed_object("end");
	int rc = 0;

	rc |= json_object_set_new(to, "outcome", json_value_text(outcome_name(summary->outcome)));
	rc |= json_object_set_new(to, "checked", json_boolean(summary->checked));
	rc |= json_object_set_new(to, "wrong_checks", json_integer(summary->wrong_checks));
	rc |= json_object_set_new(to, "avg_busbw_gbs", json_value_real(summary->avg_busbw_gbs));
	rc |= json_object_set_new(to, "error", error_object(summary->err));
	rc |= json_object_set_new(to, "memory_bytes", memory_object(summary));
	return write_object(sink, json_value_if(to, rc));
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
