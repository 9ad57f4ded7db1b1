/* report.c: opens, feeds and closes the sinks. */
#include "report/report.h"

#include <libgen.h>
#include <pthread.h>

#include "base/file.h"
#include "report/sink_shared.h"

static pthread_mutex_t writing = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void report_lock(void)
{
	pthread_mutex_lock(&writing);
}

void report_unlock(void)
{
	pthread_mutex_unlock(&writing);
}

static int add(struct report *report, struct sink *sink)
{
	if (!sink)
		return -EIO; /* the sink's constructor has set the error */
	report->sinks[report->n++] = sink;
	return 0;
}

static int add_table(struct report *report, FILE *out, const struct options *options,
		     struct error *err)
{
	return add(report, sink_table_new(out, options->table, options->check > 0,
					  options->timestamps, err));
}

/* Files of the options; `make` NULL: another module writes them. */
static const struct {
	const char *option;
	size_t offset; /* of the path in struct options */
	struct sink *(*make)(const char *path, struct error *err);
	bool may_exist; /* an existing file is replaced, or gets a sibling */
} files[] = {
	{ "--csv", offsetof(struct options, csv), sink_csv_new, false },
	{ "--json", offsetof(struct options, json), sink_json_new, false },
	{ "-J", offsetof(struct options, nccl_json), sink_nccl_json_new, true },
	{ "--metrics", offsetof(struct options, metrics), sink_metrics_new, true },
	{ "--spec", offsetof(struct options, spec), NULL, true },
};

#define FILES LENGTH(files)

static const char *path_of(const struct options *options, size_t i)
{
	return *(const char *const *)(const void *)((const char *)options + files[i].offset);
}

/* --out DIR: a folder per run. */
static int add_folder(struct report *report, const struct options *options, struct error *err)
{
	char path[4096];
	int rc;

	rc = file_folders(options->out);
	if (rc < 0)
		return error_set(err, OUTCOME_USAGE, rc, "--out %s: %s", options->out,
				 strerror(-rc));
	snprintf(path, sizeof(path), "%.4000s/rows.csv", options->out);
	rc = add(report, sink_csv_new(path, err));
	snprintf(path, sizeof(path), "%.4000s/rows.jsonl", options->out);
	if (rc == 0)
		rc = add(report, sink_json_new(path, err));
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%.4000s/table.txt", options->out);
	report->table_file = fopen(path, "wxe");
	if (!report->table_file)
		return error_set(err, OUTCOME_USAGE, -errno, "%s: %s", path, strerror(errno));
	return add_table(report, report->table_file, options, err);
}

FILE *report_table(const struct options *options)
{
	bool taken = (options->csv && sink_is_stdout(options->csv)) ||
		     (options->json && sink_is_stdout(options->json));

	return taken ? stderr : stdout;
}

int report_open(struct report *report, const struct options *options,
		const struct collective *collective, const struct run_facts *facts,
		struct error *err)
{
	int rc;

	*report = (struct report){ .in_place = collective->in_place };
	rc = add_table(report, report_table(options), options, err);
	if (rc == 0 && options->out)
		rc = add_folder(report, options, err);
	for (size_t i = 0; i < FILES && rc == 0; i++)
		if (files[i].make && path_of(options, i))
			rc = add(report, files[i].make(path_of(options, i), err));
	for (size_t i = 0; i < report->n && rc == 0; i++)
		if (report->sinks[i]->ops->begin)
			rc = report->sinks[i]->ops->begin(report->sinks[i], facts);
	return rc;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Returns 0 if the folder of `path` accepts a new entry, else a negative errno. */
static int takes_entry(const char *path)
{
	char copy[PATH_MAX], folder[PATH_MAX + 2];

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%s/.", dirname(strcpy(copy, path)));
	return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static int check_file(const char *option, const char *path, bool may_exist, struct error *err)
{
	int rc = sink_is_stdout(path)	      ? 0
		 : !may_exist && exists(path) ? -EEXIST
					      : takes_entry(path);
	char named[450];

	snprintf(named, sizeof(named), "%s %.400s", option, path);
	return rc == 0 ? 0 : sink_file_refused(err, named, rc);
}

static int check_folder(const char *out, struct error *err)
{
	char path[PATH_MAX + 2], there[PATH_MAX];
	int rc;

	if (!out)
		return 0;
	snprintf(path, sizeof(path), "%.4000s/rows.csv", out);
	if (exists(path))
		return error_set(err, OUTCOME_USAGE, -EEXIST,
				 "--out %.400s: holds a run already; name a folder that does not",
				 out);
	rc = file_ancestor(out, there);
	snprintf(path, sizeof(path), "%s/.", there);
	if (rc == 0)
		rc = takes_entry(path);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_USAGE, rc, "--out %.400s: %s", out, strerror(-rc));
}

int report_check(const struct options *options, struct error *err)
{
	int rc = check_folder(options->out, err);

	for (size_t i = 0; i < FILES && rc == 0; i++)
		if (path_of(options, i))
			rc = check_file(files[i].option, path_of(options, i), files[i].may_exist,
					err);
	return rc;
}

int report_row(struct report *report, const struct row *row, const struct row *out)
{
	bool whole = out || !report->in_place;
	int rc = 0;

	report_lock();
	report->busbw_sum += row->busbw_gbs;
	report->rows++;
	if (row->busbw_gbs > report->peak.busbw_gbs)
		report->peak = (struct row_peak){ row->busbw_gbs, row->size, row->placement };
	for (size_t i = 0; i < report->n && rc == 0; i++) {
		struct sink *sink = report->sinks[i];

		if (sink->ops->row)
			rc = sink->ops->row(sink, row);
		if (sink->ops->point && whole && rc == 0)
			rc = sink->ops->point(sink, out ? out : row, out ? row : NULL);
	}
	report_unlock();
	return rc;
}

int report_step(struct report *report, const struct row *row)
{
	int rc = 0;

	for (size_t i = 0; i < report->n && rc == 0; i++)
		if (report->sinks[i]->ops->row)
			rc = report->sinks[i]->ops->row(report->sinks[i], row);
	return rc;
}

int report_comment(struct report *report, const char *fmt, ...)
{
	char line[1024];
	va_list args;
	int rc = 0;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	report_lock();
	for (size_t i = 0; i < report->n && rc == 0; i++)
		if (report->sinks[i]->ops->comment)
			rc = report->sinks[i]->ops->comment(report->sinks[i], line);
	report_unlock();
	return rc;
}

int report_line(void *report, const char *text)
{
	return report_comment(report, "%s", text);
}

int report_end(struct report *report, struct run_summary *summary)
{
	int rc = 0;

	report_lock();
	report->ended = true;
	summary->peak = report->peak;
	summary->wrong_checks = report->wrong_checks;
	summary->avg_busbw_gbs = report->rows > 0 ? report->busbw_sum / (double)report->rows : 0;
	for (size_t i = 0; i < report->n; i++) {
		int failed = 0;

		if (report->sinks[i]->ops->end)
			failed = report->sinks[i]->ops->end(report->sinks[i], summary);
		rc = rc < 0 ? rc : failed;
	}
	report_unlock();
	return rc;
}

void report_release(struct report *report)
{
	report_lock();
	for (size_t i = 0; i < report->n; i++)
		report->sinks[i]->ops->free(report->sinks[i]);
	if (report->table_file)
		fclose(report->table_file);
	memset(report, 0, sizeof(*report));
	report->ended = true;
	report_unlock();
}
