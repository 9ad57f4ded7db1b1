/* sink.c: shared parts of the sinks: files that are never overwritten, sinks of lines,
 * columns and environment as JSON. */
#include "report/sink.h"

#include "base/json_value.h"
#include "base/output.h"
#include "report/sink_shared.h"
#include "settings/environment.h"

bool sink_is_stdout(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

int sink_file_create(const char *path)
{
	int fd = sink_is_stdout(path) ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
				      : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : fd;
}

int sink_file_refused(struct error *err, const char *path, int code)
{
	if (code == -EEXIST)
		return error_set(err, OUTCOME_USAGE, code,
				 "%s: exists already; name a file that does not", path);
	return error_set(err, OUTCOME_USAGE, code,
			 "%s: can't be created: %s; name a file in a folder that can be written to",
			 path, strerror(-code));
}

static int write_failed(struct error *err, const char *path, int code)
{
	return error_set(err, OUTCOME_INTERNAL, code, "writing %s: %s", path, strerror(-code));
}

int sink_file_replace(struct error *err, const char *path, char *text)
{
	int rc = output_whole(path, text, strlen(text));

	free(text);
	return rc < 0 ? write_failed(err, path, rc) : 0;
}

struct sink_lines {
	struct sink base;
	char *path;
	int fd;
};

void sink_lines_free(struct sink *sink)
{
	struct sink_lines *lines = (struct sink_lines *)sink;

	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->path);
	free(lines);
}

struct sink *sink_lines_new(const struct sink_ops *ops, const char *path, struct error *err)
{
	struct sink_lines *lines = must(calloc(1, sizeof(*lines)));

	lines->base.ops = ops;
	lines->base.err = err;
	lines->path = must(strdup(path));
	lines->fd = sink_file_create(path);
	if (lines->fd >= 0)
		return &lines->base;
	sink_file_refused(err, path, lines->fd);
	sink_lines_free(&lines->base);
	return NULL;
}

/* Cuts off the part of a line that a full disk accepted: the file stays readable. */
static int take_back(const struct sink_lines *lines, off_t start, int code)
{
	if (start >= 0 && ftruncate(lines->fd, start) == 0)
		lseek(lines->fd, start, SEEK_SET);
	return write_failed(lines->base.err, lines->path, code);
}

int sink_lines_append(struct sink *sink, const char *data, size_t len)
{
	const struct sink_lines *lines = (const struct sink_lines *)sink;
	off_t start = lseek(lines->fd, 0, SEEK_CUR); /* -1: a pipe or device, which cannot be cut */

	while (len > 0) {
		ssize_t n = write(lines->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return take_back(lines, start, n < 0 ? -errno : -EIO);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

bool sink_row_failed(const struct row *row)
{
	return row->wrong > 0 || row->report.wrong > 0;
}

json_t *sink_environment(bool list)
{
	json_t *to = list ? json_array() : json_object();

	for (char **variable = environ; variable && *variable; variable++) {
		size_t len = strcspn(*variable, "=");
		char *name = must(strndup(*variable, len));

		if (!(*variable)[len] || !environment_recorded(name))
			; /* no hangar file */
		else if (list)
			json_array_append_new(to, json_value_text(*variable));
		else
			json_object_set_new(to, name, json_value_text(*variable + len + 1));
		free(name);
	}
	return to;
}

json_t *sink_column_value(const struct column *column, const struct row *row)
{
	const void *field = (const char *)row + column->offset;

	switch (column->type) {
	case COLUMN_INT32:
		return json_integer(*(const int32_t *)field);
	case COLUMN_INT64:
		return json_integer(*(const int64_t *)field);
	case COLUMN_UINT64:
		return json_integer((json_int_t) * (const uint64_t *)field);
	case COLUMN_DOUBLE:
		return json_value_real(*(const double *)field);
	case COLUMN_STRING:
		return json_value_text(*(const char *const *)field);
	case COLUMN_TEXT:
		return json_value_text(field);
	case COLUMN_WRONG:
		return json_value_text(wrong_kind_name(*(const enum wrong_kind *)field));
	}
	return json_null();
}
