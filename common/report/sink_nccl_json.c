/* sink_nccl_json.c: nccl-tests' JSON, version 3 (src/util.cu there). One document, valid after
 * every row: each write replaces everything from the current result to the end of the file. Their
 * oddities are part of the shape: booleans are strings, root is a padded string. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/json_value.h"
#include "report/row_pair.h"
#include "report/sink.h"
#include "report/sink_shared.h"

#define FILE_VERSION 3
#define DUMP_FLAGS   (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* FILE.0, FILE.1, ... are tried up to here. */
#define SUFFIXES 10000

struct sink_nccl_json {
	struct sink base;
	char *path; /* the one that was created */
	int fd;
	const struct run_facts *facts; /* borrowed */
	struct row_pair pair;
	size_t start; /* of the result being written, bytes from the beginning of the file */
	size_t next;  /* where the result after it goes */
	size_t size;  /* of the file */
	int results;  /* before the current one */
	int64_t rows, failed;
	double busbw_sum;
};

static json_t *text_bool(bool value)
{
	return json_string(value ? "true" : "false");
}

/* Theirs writes "nan" as a string; infinity, which theirs can't write, goes the same way. */
static json_t *number(double value)
{
	if (isnan(value))
		return json_string("nan");
	if (isinf(value))
		return json_string(value < 0 ? "-inf" : "inf");
	return json_real(value);
}

static json_t *object_if(json_t *object, int rc)
{
	if (rc == 0)
		return object;
	json_decref(object);
	return NULL;
}

/* ---- the head ---- */

static json_t *device_object(const struct rank_facts *rank, const struct options *options)
{
	const char *function = strchr(rank->device.bus_id, '.');
	json_t *to = json_object();
	char bus[sizeof(rank->device.bus_id)];
	int rc = 0;

	snprintf(bus, sizeof(bus), "%s", rank->device.bus_id);
	if (function)
		bus[function - rank->device.bus_id] = '\0';
	rc |= json_object_set_new(to, "rank", json_integer(rank->rank));
	rc |= json_object_set_new(to, "group", json_integer(options_color(options, rank->rank)));
	rc |= json_object_set_new(to, "pid", json_integer(rank->pid));
	rc |= json_object_set_new(to, "hostname", json_value_text(rank->host));
	rc |= json_object_set_new(to, "device", json_integer(rank->device.device_index));
	rc |= json_object_set_new(to, "device_hex", json_value_text(bus));
	rc |= json_object_set_new(to, "device_info", json_value_text(rank->device.device));
	return object_if(to, rc);
}

static json_t *devices_array(const struct run_facts *facts)
{
	json_t *list = json_array();
	int rc = 0;

	for (int i = 0; rc == 0 && i < facts->nranks; i++)
		rc = json_array_append_new(list, device_object(&facts->ranks[i], facts->options));
	return object_if(list, rc);
}

static json_t *config_object(const struct run_facts *facts)
{
	const struct options *options = facts->options;
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "nthreads", json_integer(1));
	rc |= json_object_set_new(to, "ngpus", json_integer(1));
	rc |= json_object_set_new(to, "minimum_bytes",
				  json_integer((json_int_t)options->min_bytes));
	rc |= json_object_set_new(to, "maximum_bytes",
				  json_integer((json_int_t)options->max_bytes));
	if (options->step_factor > 1)
		rc |= json_object_set_new(to, "step_factor", json_integer(options->step_factor));
	else
		rc |= json_object_set_new(to, "step_bytes",
					  json_integer((json_int_t)options->step_bytes));
	rc |= json_object_set_new(to, "warmup_iters", json_integer(options->warmup));
	rc |= json_object_set_new(to, "iterations", json_integer(options->iters));
	rc |= json_object_set_new(to, "aggregated_iterations", json_integer(options->agg_iters));
	rc |= json_object_set_new(to, "validation", json_integer(options->check));
	rc |= json_object_set_new(to, "graph", json_integer(options->graph_launches));
	rc |= json_object_set_new(to, "blocking_collectives", text_bool(options->blocking));
	rc |= json_object_set_new(to, "per_iter_timing", text_bool(options->per_iter));
	rc |= json_object_set_new(to, "per_iter_skip", json_integer(options->per_iter_skip));
	rc |= json_object_set_new(to, "parallel_init", text_bool(options->parallel_init));
	rc |= json_object_set_new(to, "devices", devices_array(facts));
	return object_if(to, rc);
}

/* "2026-07-01T10:00:00+0200" as nccl-tests writes it: "2026-07-01 10:00:00". */
static json_t *plain_time(const char *iso)
{
	char text[20];

	snprintf(text, sizeof(text), "%.19s", iso);
	if (strlen(text) > 10 && text[10] == 'T')
		text[10] = ' ';
	return json_value_text(text);
}

static json_t *time_now(void)
{
	time_t now = time(NULL);
	char text[32] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	return json_string(text);
}

static json_t *head_object(const struct run_facts *facts)
{
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "version", json_integer(FILE_VERSION));
	rc |= json_object_set_new(to, "start_time", plain_time(facts->started));
	rc |= json_object_set_new(to, "args", json_value_texts(facts->argv, facts->argc));
	rc |= json_object_set_new(to, "env", sink_environment(true));
	rc |= json_object_set_new(to, "nccl_version",
				  json_integer(facts->ranks[0].device.library_code));
	rc |= json_object_set_new(to, "config", config_object(facts));
	return object_if(to, rc);
}

/* ---- a result ---- */

static json_t *place_object(const struct row *row, const struct options *options)
{
	json_t *to = json_object();
	int rc = 0;

	if (options->cputime)
		rc |= json_object_set_new(to, "cpu_time", number(row->enqueue_us));
	else
		rc |= json_object_set_new(to, "time", number(row->time_us));
	rc |= json_object_set_new(to, "alg_bw", number(row->algbw_gbs));
	rc |= json_object_set_new(to, "bus_bw", number(row->busbw_gbs));
	rc |= json_object_set_new(to, "nwrong",
				  row->wrong < 0 ? json_null() : json_real((double)row->wrong));
	return object_if(to, rc);
}

static json_t *times_array(const double *times, int64_t n, int64_t stride)
{
	json_t *list = json_array();
	int rc = 0;

	for (int64_t i = 0; rc == 0 && i < n; i++)
		rc = json_array_append_new(list, number(times[i * stride]));
	return object_if(list, rc);
}

static json_t *times_of_ranks(const struct row *row)
{
	json_t *list = json_array();
	int rc = 0;

	for (int r = 0; rc == 0 && r < row->nranks; r++)
		rc = json_array_append_new(list, times_array(row->sample_times_us + r, row->samples,
							     row->nranks));
	return object_if(list, rc);
}

/* The slowest rank's time of every sample; to be freed. */
static double *slowest_times(const struct row *row)
{
	double *times = calloc((size_t)row->samples, sizeof(*times));

	for (int64_t i = 0; times && i < row->samples; i++) {
		times[i] = row->sample_times_us[i * row->nranks];
		for (int r = 1; r < row->nranks; r++)
			times[i] = fmax(times[i], row->sample_times_us[i * row->nranks + r]);
	}
	return times;
}

static int put_iteration_stats(json_t *to, const struct stats *stats)
{
	int rc = 0;

	rc |= json_object_set_new(to, "min_us", number(stats->min));
	rc |= json_object_set_new(to, "max_us", number(stats->max));
	rc |= json_object_set_new(to, "avg_us", number(stats->mean));
	rc |= json_object_set_new(to, "p50_us", number(stats->median));
	rc |= json_object_set_new(to, "p95_us", number(stats->p95));
	rc |= json_object_set_new(to, "p99_us", number(stats->p99));
	rc |= json_object_set_new(to, "stdev_us", number(stats->stddev));
	rc |= json_object_set_new(to, "cv_pct",
				  number(stats->mean > 0 ? stats->stddev / stats->mean * 100 : 0));
	return rc;
}

/* -I: the single samples. */
static json_t *per_iteration_object(const struct row *row, int skip)
{
	double *times = slowest_times(row);
	int64_t skipped = skip < row->samples ? skip : row->samples;
	json_t *to = json_object();
	struct stats stats;
	int rc = -1;

	if (!times ||
	    stats_compute(times + skipped, (size_t)(row->samples - skipped), &stats) == -ENOMEM)
		goto out;
	rc = json_object_set_new(to, "skipped_iterations", json_integer(skipped));
	rc |= put_iteration_stats(to, &stats);
	rc |= json_object_set_new(to, "times_us", times_array(times, row->samples, 1));
	if (row->nranks > 1)
		rc |= json_object_set_new(to, "per_process_max_times_us", times_of_ranks(row));
out:
	free(times);
	return object_if(to, rc);
}

static int put_side(json_t *to, const struct sink_nccl_json *json, int side)
{
	static const char *const names[] = { [PAIR_OUT] = "out_of_place", [PAIR_IN] = "in_place" };
	static const char *const details[] = {
		[PAIR_OUT] = "out_of_place_per_iter", [PAIR_IN] = "in_place_per_iter"
	};
	const struct options *options = json->facts->options;
	const struct row *row = &json->pair.rows[side];
	int rc;

	if (!json->pair.has[side])
		return json_object_set_new(to, names[side], json_null());
	rc = json_object_set_new(to, names[side], place_object(row, options));
	if (options->per_iter && row->sample_times_us && row->samples > 0 && row->nranks > 0)
		rc |= json_object_set_new(to, details[side],
					  per_iteration_object(row, options->per_iter_skip));
	return rc;
}

/* nccl-tests counts rounds of -m aggregated calls. */
static json_int_t iterations_of(const struct row *row, const struct options *options)
{
	int64_t calls = row->samples * (row->calls > 0 ? row->calls : 1);

	return options->agg_iters > 1 ? calls / options->agg_iters : calls;
}

static json_t *result_object(const struct sink_nccl_json *json)
{
	const struct row *row = row_pair_any(&json->pair);
	json_t *to = json_object();
	char root[16];
	int rc = 0;

	snprintf(root, sizeof(root), "%6d", (int)row->root);
	rc |= json_object_set_new(to, "size", json_integer((json_int_t)row->size));
	rc |= json_object_set_new(to, "count", json_integer((json_int_t)row->count));
	rc |= json_object_set_new(to, "type", json_value_text(row->type));
	rc |= json_object_set_new(to, "redop", json_value_text(row->redop));
	rc |= json_object_set_new(to, "root", json_string(root));
	rc |= put_side(to, json, PAIR_OUT);
	rc |= put_side(to, json, PAIR_IN);
	rc |= json_object_set_new(to, "actual_iterations",
				  json_integer(iterations_of(row, json->facts->options)));
	rc |= json_object_set_new(to, "experiment_name", json_string(""));
	return object_if(to, rc);
}

/* ---- the tail ---- */

static json_t *errors_array(const struct run_summary *summary)
{
	json_t *list = json_array();

	if (!summary || !summary->err || summary->err->outcome == OUTCOME_OK)
		return list;
	return object_if(list, json_array_append_new(list, json_value_text(summary->err->text)));
}

static json_t *bandwidth_object(double avg, double least)
{
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "bandwidth", number(avg));
	rc |= json_object_set_new(to, "okay",
				  least > 0 ? text_bool(avg >= 0.9 * least)
					    : json_string("unchecked"));
	return object_if(to, rc);
}

static json_t *bounds_object(int64_t count)
{
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "count", json_integer(count));
	rc |= json_object_set_new(to, "okay", text_bool(count == 0));
	return object_if(to, rc);
}

/* Without a summary the run goes on: what is known so far, and null for the end. */
static json_t *tail_object(const struct sink_nccl_json *json, const struct run_summary *summary)
{
	double avg = json->rows ? json->busbw_sum / (double)json->rows : 0;
	json_t *to = json_object();
	int rc = 0;

	rc |= json_object_set_new(to, "out_of_bounds",
				  bounds_object(summary ? summary->wrong_checks : json->failed));
	rc |= json_object_set_new(to, "average_bus_bandwidth",
				  bandwidth_object(summary ? summary->avg_busbw_gbs : avg,
						   json->facts->options->min_bw));
	rc |= json_object_set_new(to, "errors", errors_array(summary));
	rc |= json_object_set_new(to, "end_time", summary ? time_now() : json_null());
	return object_if(to, rc);
}

/* ---- writing ---- */

static int no_memory(struct sink_nccl_json *json)
{
	return sink_file_refused(json->base.err, json->path, -ENOMEM);
}

/* Replace the file from `at` on by `text` and the tail, in one write. Blanks cover what was longer
 * before. `text` may be NULL: lack of memory. */
static int write_rest(struct sink_nccl_json *json, size_t at, const char *text,
		      const struct run_summary *summary)
{
	json_t *tail = text ? tail_object(json, summary) : NULL;
	char *tail_text = tail ? json_dumps(tail, DUMP_FLAGS) : NULL;
	char *all = NULL;
	int rc, len, pad = 0;

	json_decref(tail);
	if (!tail_text)
		return no_memory(json);
	/* The tail's own opening brace is not needed: it goes on with the document's object. */
	len = snprintf(NULL, 0, "%s\n],%s\n", text, tail_text + 1);
	if (at + (size_t)len < json->size)
		pad = (int)(json->size - at - (size_t)len);
	rc = asprintf(&all, "%s\n],%s%*s\n", text, tail_text + 1, pad, "");
	free(tail_text);
	if (rc < 0)
		return no_memory(json);
	len = rc;
	rc = sink_file_write_at(json->base.err, json->fd, json->path, all, (size_t)len, at);
	free(all);
	json->next = at + strlen(text);
	json->size = at + (size_t)len;
	return rc;
}

static int nccl_json_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;
	json_t *head = head_object(facts);
	char *text = head ? json_dumps(head, DUMP_FLAGS) : NULL;
	char *open = NULL;
	int rc;

	json->facts = facts;
	json_decref(head);
	if (!text)
		return no_memory(json);
	/* The document's object stays open for the results. */
	text[strlen(text) - 1] = '\0';
	if (asprintf(&open, "%s,\"results\":[", text) < 0)
		open = NULL;
	rc = write_rest(json, 0, open, NULL);
	free(open);
	free(text);
	json->start = json->next;
	return rc;
}

static int write_result(struct sink_nccl_json *json)
{
	json_t *result = result_object(json);
	char *text = result ? json_dumps(result, DUMP_FLAGS) : NULL;
	char *line = NULL;
	int rc;

	json_decref(result);
	if (text && asprintf(&line, "%s\n%s", json->results ? "," : "", text) < 0)
		line = NULL;
	rc = write_rest(json, json->start, line, NULL);
	free(line);
	free(text);
	return rc;
}

static int nccl_json_row(struct sink *sink, const struct row *row)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	if (!row_pair_takes(&json->pair, row)) {
		row_pair_clear(&json->pair);
		json->start = json->next;
		json->results++;
	}
	if (row_pair_put(&json->pair, row) < 0)
		return no_memory(json);
	json->rows++;
	json->busbw_sum += row->busbw_gbs;
	json->failed += sink_row_failed(row);
	return write_result(json);
}

static int nccl_json_end(struct sink *sink, const struct run_summary *summary)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	return write_rest(json, json->next, "", summary);
}

static void nccl_json_free(struct sink *sink)
{
	struct sink_nccl_json *json = (struct sink_nccl_json *)sink;

	row_pair_clear(&json->pair);
	if (json->fd >= 0)
		close(json->fd);
	free(json->path);
	free(json);
}

static const struct sink_ops nccl_json_ops = {
	.name = "nccl-json",
	.begin = nccl_json_begin,
	.row = nccl_json_row,
	.end = nccl_json_end,
	.free = nccl_json_free,
};

/* Creates `path` or the first free PATH.N. The descriptor, or a negative errno; *taken is the name,
 * to be freed. */
static int create_free_name(const char *path, char **taken)
{
	int fd;

	*taken = strdup(path);
	if (!*taken)
		return -ENOMEM;
	fd = sink_file_create(path);
	for (int i = 0; fd == -EEXIST && i < SUFFIXES; i++) {
		free(*taken);
		if (asprintf(taken, "%s.%d", path, i) < 0) {
			*taken = NULL;
			return -ENOMEM;
		}
		fd = sink_file_create(*taken);
	}
	return fd;
}

struct sink *sink_nccl_json_new(const char *path, struct error *err)
{
	struct sink_nccl_json *json = calloc(1, sizeof(*json));

	if (!json) {
		sink_file_refused(err, path, -ENOMEM);
		return NULL;
	}
	json->base.ops = &nccl_json_ops;
	json->base.err = err;
	json->fd = create_free_name(path, &json->path);
	if (json->fd < 0) {
		sink_file_refused(err, path, json->fd);
		nccl_json_free(&json->base);
		return NULL;
	}
	return &json->base;
}

const char *sink_nccl_json_path(const struct sink *sink)
{
	return ((const struct sink_nccl_json *)sink)->path;
}
