/* sink_nccl_json.c: nccl-tests' JSON, version 3 (src/util.cu there), written at the end of the run.
 * Its oddities are part of the format: booleans are strings, root is a padded string. */
#include <jansson.h>

#include "base/clock.h"
#include "base/json_value.h"
#include "report/row.h"
#include "report/sink.h"
#include "report/sink_shared.h"

#define FILE_VERSION 3
#define DUMP_FLAGS   (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* Largest N of FILE.N. */
#define SUFFIXES 10000

struct sink_nccl_json {
	struct sink base;
	char *path; /* path of the created file */
	int fd;
	bool written;
	const struct run_facts *facts; /* borrowed */
	json_t *results;
};

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

/* nccl-tests writes "nan" as a string; infinity, which it cannot write, is one here. */
static json_t *number(double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value < 0 ? "-inf" : "inf");
	return json_real(value);
}

static json_t *device_object(const struct rank_facts *rank, const struct options *options)
{
	const struct backend_facts *device = &rank->device;
	char bus[sizeof(device->bus_id)];

	snprintf(bus, sizeof(bus), "%.*s", (int)strcspn(device->bus_id, "."), device->bus_id);
	return json_pack("{s:i, s:i, s:i, s:o, s:i, s:o, s:o}", "rank", (int)rank->rank, "group",
			 options_color(options, rank->rank), "pid", (int)rank->pid, "hostname",
			 json_value_text(rank->host), "device", device->device_index, "device_hex",
			 json_value_text(bus), "device_info", json_value_text(device->device));
}

static json_t *config_object(const struct run_facts *facts)
{
	const struct options *o = facts->options;
	bool factor = o->step_factor > 1;
	json_t *devices = json_array();

	for (int i = 0; i < facts->nranks; i++)
		json_array_append_new(devices, device_object(&facts->ranks[i], o));
	return json_pack(
		"{s:i, s:i, s:I, s:I, s:I, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:i, s:s, s:o}",
		"nthreads", 1, "ngpus", 1, "minimum_bytes", (json_int_t)o->min_bytes,
		"maximum_bytes", (json_int_t)o->max_bytes, factor ? "step_factor" : "step_bytes",
		factor ? (json_int_t)o->step_factor : (json_int_t)o->step_bytes, "warmup_iters",
		o->warmup, "iterations", o->iters, "aggregated_iterations", o->agg_iters,
		"validation", o->check, "graph", o->graph_launches, "blocking_collectives",
		truth(o->blocking), "per_iter_timing", truth(o->per_iter), "per_iter_skip",
		o->per_iter_skip, "parallel_init", truth(o->parallel_init), "devices", devices);
}

/* ---- a result ---- */

static json_t *place_object(const struct row *row, const struct options *options)
{
	return json_pack("{s:o, s:o, s:o, s:o}", options->cputime ? "cpu_time" : "time",
			 number(options->cputime ? row->enqueue_us : row->time_us), "alg_bw",
			 number(row->algbw_gbs), "bus_bw", number(row->busbw_gbs), "nwrong",
			 row->wrong < 0 ? json_null() : json_real((double)row->wrong));
}

static json_t *times_array(const double *times, int64_t n, int64_t stride)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < n; i++)
		json_array_append_new(list, number(times[i * stride]));
	return list;
}

/* Returns the slowest rank's time of every sample; the caller frees. */
static double *slowest_times(const struct row *row)
{
	int64_t n = row->skipped + row->samples;
	double *times = must(calloc((size_t)n, sizeof(*times)));

	for (int64_t i = 0; i < n; i++) {
		times[i] = row->sample_times_us[i * row->nranks];
		for (int r = 1; r < row->nranks; r++)
			times[i] = fmax(times[i], row->sample_times_us[i * row->nranks + r]);
	}
	return times;
}

static json_t *iterations_object(const struct stats *stats, int64_t skipped)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "skipped_iterations",
			 (json_int_t)skipped, "min_us", number(stats->min), "max_us",
			 number(stats->max), "avg_us", number(stats->mean), "p50_us",
			 number(stats->median), "p95_us", number(stats->p95), "p99_us",
			 number(stats->p99), "stdev_us", number(stats->stddev), "cv_pct",
			 number(stats->mean > 0 ? stats->stddev / stats->mean * 100 : 0));
}

/* -I: the single samples. */
static json_t *per_iteration_object(const struct row *row)
{
	double *times = slowest_times(row);
	int64_t n = row->skipped + row->samples;
	json_t *to, *ranks = json_array();
	struct stats stats;

	stats_compute(times + row->skipped, (size_t)row->samples, &stats);
	to = iterations_object(&stats, row->skipped);
	json_object_set_new(to, "times_us", times_array(times, n, 1));
	for (int r = 0; r < row->nranks; r++)
		json_array_append_new(ranks, times_array(row->sample_times_us + r, n, row->nranks));
	if (row->nranks > 1)
		json_object_set(to, "per_process_max_times_us", ranks);
	json_decref(ranks);
	free(times);
	return to;
}

/* `row` NULL: the collective lacks this placement. */
static void put_side(json_t *to, const struct options *options, const struct row *row,
		     const char *name, const char *detail)
{
	json_object_set_new(to, name, row ? place_object(row, options) : json_null());
	if (row && options->per_iter && row->sample_times_us && row->samples > 0 && row->nranks > 0)
		json_object_set_new(to, detail, per_iteration_object(row));
}

static json_t *result_object(const struct options *options, const struct row *row,
			     const struct row *in)
{
	int64_t calls = (row->skipped + row->samples) * (row->calls > 0 ? row->calls : 1);
	int grouped = options->agg_iters;
	char root[16];
	json_t *to;

	snprintf(root, sizeof(root), "%6d", (int)row->root);
	to = json_pack("{s:I, s:I, s:o, s:o, s:s}", "size", (json_int_t)row->size, "count",
		       (json_int_t)row->count, "type", json_value_text(row->type), "redop",
		       json_value_text(row->redop), "root", root);
	put_side(to, options, row, "out_of_place", "out_of_place_per_iter");
	put_side(to, options, in, "in_place", "in_place_per_iter");
	/* nccl-tests counts rounds of -m aggregated calls */
	json_object_set_new(to, "actual_iterations",
			    json_integer(grouped > 1 ? calls / grouped : calls));
	json_object_set_new(to, "experiment_name", json_string(""));
	return to;
}

static json_t *document(const struct sink_nccl_json *json, const struct run_summary *summary)
{
	const struct run_facts *facts = json->facts;
	double avg = summary->avg_busbw_gbs, wanted = facts->options->min_bw;
	char now[32], started[20];

	/* "2026-07-01T10:00:00+0200" as nccl-tests writes it: "2026-07-01 10:00:00" */
	snprintf(started, sizeof(started), "%.10s %.8s", facts->started,
		 strlen(facts->started) > 11 ? facts->started + 11 : "");
	clock_local(now, sizeof(now), "%Y-%m-%d %H:%M:%S");
	return json_pack(
		"{s:i, s:o, s:o, s:o, s:i, s:o, s:O, s:{s:I, s:s}, s:{s:o, s:s}, s:o, s:s}",
		"version", FILE_VERSION, "start_time", json_value_text(started), "args",
		json_value_texts(facts->argv, facts->argc), "env", sink_environment(true),
		"nccl_version", facts->ranks[0].device.library_code, "config", config_object(facts),
		"results", json->results, "out_of_bounds", "count",
		(json_int_t)summary->wrong_checks, "okay", truth(summary->wrong_checks == 0),
		"average_bus_bandwidth", "bandwidth", number(avg), "okay",
		wanted > 0 ? truth(avg >= 0.9 * wanted) : "unchecked", "errors", json_array(),
		"end_time", now);
}

/* ---- hooks ---- */

static int nccl_json_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	json->facts = facts;
	json->results = must(json_array());
	return 0;
}

static int nccl_json_point(struct sink *sink, const struct row *out, const struct row *in)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	json_array_append_new(json->results, result_object(json->facts->options, out, in));
	return 0;
}

static int nccl_json_end(struct sink *sink, const struct run_summary *summary)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;
	json_t *all = document(json, summary);
	int rc = sink_file_replace(json->base.err, json->path, must(json_dumps(all, DUMP_FLAGS)));
	json_decref(all);
	json->written = rc == 0;
	return rc;
}

static void nccl_json_free(struct sink *sink)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	json_decref(json->results);
	if (json->fd >= 0) {
		close(json->fd); /* the descriptor reserved the name */
		if (!json->written)
			unlink(json->path); /* half a document is worthless */
	}
	free(json->path);
	free(json);
}

static const struct sink_ops nccl_json_ops = {
	.begin = nccl_json_begin,
	.point = nccl_json_point,
	.end = nccl_json_end,
	.free = nccl_json_free,
};

/* Creates `path` or the first free PATH.N, *taken. The descriptor, or a negative errno. */
static int create_free_name(const char *path, char **taken)
{
	size_t room = strlen(path) + 8;
	int fd;

	*taken = must(malloc(room));
	strcpy(*taken, path);
	fd = sink_file_create(path);
	for (int i = 0; fd == -EEXIST && i < SUFFIXES; i++) {
		snprintf(*taken, room, "%s.%d", path, i);
		fd = sink_file_create(*taken);
	}
	return fd;
}

struct sink *sink_nccl_json_new(const char *path, struct error *err)
{
	struct sink_nccl_json *json = must(calloc(1, sizeof(*json)));

	json->base.ops = &nccl_json_ops;
	json->base.err = err;
	json->fd = create_free_name(path, &json->path);
	if (json->fd >= 0 && strcmp(json->path, path) != 0)
		fprintf(stderr, "hangar: -J %s: exists already; writing %s\n", path, json->path);
	if (json->fd >= 0)
		return &json->base;
	sink_file_refused(err, path, json->fd);
	nccl_json_free(&json->base);
	return NULL;
}
