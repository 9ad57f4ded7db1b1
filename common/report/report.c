/* report.c: open, feed and close the sinks. */
#include "report/report.h"

#include <fcntl.h>
#include <sys/stat.h>

static int add(struct report *report, struct sink *sink)
{
	if (!sink)
		return -EIO; /* its maker has set the error */
	report->sinks[report->n++] = sink;
	return 0;
}

static int add_table(struct report *report, FILE *out, const struct options *options,
		     const struct collective *collective, struct error *err)
{
	return add(report, sink_table_new(out, options->table, collective->in_place,
					  options->check > 0, options->timestamps, err));
}

/* --out DIR: a folder of its own per run. */
static int add_folder(struct report *report, const struct options *options,
		      const struct collective *collective, struct error *err)
{
	char path[4096];
	int rc;

	if (mkdir(options->out, 0777) < 0 && errno != EEXIST) {
		rc = -errno;
		return error_set(err, OUTCOME_USAGE, rc, "--out %s: %s", options->out,
				 strerror(-rc));
	}
	snprintf(path, sizeof(path), "%.4000s/rows.csv", options->out);
	rc = add(report, sink_csv_new(path, err));
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%.4000s/rows.jsonl", options->out);
	rc = add(report, sink_json_new(path, err));
	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "%.4000s/table.txt", options->out);
	report->table_file = fopen(path, "wxe");
	if (!report->table_file) {
		rc = -errno;
		return error_set(err, OUTCOME_USAGE, rc, "%s: %s", path, strerror(-rc));
	}
	return add_table(report, report->table_file, options, collective, err);
}

int report_open(struct report *report, const struct options *options,
		const struct collective *collective, const struct run_facts *facts,
		struct error *err)
{
	int rc;

	memset(report, 0, sizeof(*report));
	rc = add_table(report, stdout, options, collective, err);
	if (rc == 0 && options->out)
		rc = add_folder(report, options, collective, err);
	if (rc == 0 && options->csv)
		rc = add(report, sink_csv_new(options->csv, err));
	if (rc == 0 && options->json)
		rc = add(report, sink_json_new(options->json, err));
	if (rc == 0 && options->nccl_json)
		rc = add(report, sink_nccl_json_new(options->nccl_json, err));
	if (rc == 0 && options->metrics)
		rc = add(report, sink_metrics_new(options->metrics, err));
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

static int writable(const char *folder)
{
	return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* Whether the folder that `path` lies in takes a new entry. */
static int takes_entry(const char *path)
{
	size_t len = strlen(path);
	char folder[PATH_MAX];

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	if (len + 2 > sizeof(folder))
		return -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "%.*s.", (int)len, path);
	return writable(folder);
}

/* `may_exist`: then one beside it is made, or it is replaced. */
static int check_file(const char *option, const char *path, bool may_exist, struct error *err)
{
	int rc;

	if (!path)
		return 0;
	if (!may_exist && exists(path))
		return error_set(err, OUTCOME_USAGE, -EEXIST,
				 "%s %.400s: exists already; name a file that does not", option,
				 path);
	rc = takes_entry(path);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_USAGE, rc,
				   "%s %.400s: can't be created: %s; name a file in a folder that "
				   "can be written to",
				   option, path, strerror(-rc));
}

static int check_folder(const char *out, struct error *err)
{
	char path[PATH_MAX];
	int rc;

	if (!out)
		return 0;
	snprintf(path, sizeof(path), "%.4000s/rows.csv", out);
	if (exists(path))
		return error_set(err, OUTCOME_USAGE, -EEXIST,
				 "--out %.400s: holds a run already; name a folder that does not",
				 out);
	snprintf(path, sizeof(path), "%.4000s/.", out);
	rc = exists(out) ? writable(path) : takes_entry(out);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_USAGE, rc, "--out %.400s: %s", out, strerror(-rc));
}

int report_check(const struct options *options, struct error *err)
{
	int rc = check_folder(options->out, err);

	if (rc == 0)
		rc = check_file("--csv", options->csv, false, err);
	if (rc == 0)
		rc = check_file("--spec", options->spec, true, err);
	if (rc == 0)
		rc = check_file("--json", options->json, false, err);
	if (rc == 0)
		rc = check_file("--metrics", options->metrics, true, err);
	if (rc == 0)
		rc = check_file("--trace", options->trace, false, err);
	return rc < 0 ? rc : check_file("-J", options->nccl_json, true, err);
}

int report_row(struct report *report, const struct row *row)
{
	int rc = 0;

	report->busbw_sum += row->busbw_gbs;
	report->rows++;
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
	for (size_t i = 0; i < report->n && rc == 0; i++)
		if (report->sinks[i]->ops->comment)
			rc = report->sinks[i]->ops->comment(report->sinks[i], line);
	return rc;
}

int report_end(struct report *report, struct run_summary *summary)
{
	int rc = 0;

	summary->wrong_checks = report->wrong_checks;
	summary->avg_busbw_gbs = report->rows > 0 ? report->busbw_sum / (double)report->rows : 0;
	for (size_t i = 0; i < report->n; i++) {
		int failed = 0;

		if (report->sinks[i]->ops->end)
			failed = report->sinks[i]->ops->end(report->sinks[i], summary);
		rc = rc < 0 ? rc : failed;
	}
	return rc;
}

void report_release(struct report *report)
{
	for (size_t i = 0; i < report->n; i++)
		report->sinks[i]->ops->free(report->sinks[i]);
	if (report->table_file)
		fclose(report->table_file);
	memset(report, 0, sizeof(*report));
}
