/* sink_shared.h: what the sinks and report.c share; nobody else includes it. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "options/options.h"
#include "report/row.h"
#include "report/sink.h"

/* Create `path`, which must not exist; its parents must. The descriptor, or a negative errno
 * without an error set. */
int sink_file_create(const char *path);

/* Keep in `err` that `path`, an option before it or not, can not be created; returns `code`. */
int sink_file_refused(struct error *err, const char *path, int code);

/* The file becomes `text`, whole or not at all; frees it. */
int sink_file_replace(struct error *err, const char *path, char *text);

/* A sink whose only state is a file that gets lines. `new` creates `path`, which must not exist;
 * NULL with the error set when it can't. `free` is a hook; what takes a sink wants one of these. */
struct sink *sink_lines_new(const struct sink_ops *ops, const char *path, struct error *err);
void sink_lines_free(struct sink *sink);

/* Append everything with one write (more only where the kernel takes less), or nothing: what was
 * written before a failure is cut off again. */
int sink_lines_append(struct sink *sink, const char *data, size_t len);

/* Every allow-listed variable of this process: an object, or with `list` nccl-tests' array of
 * "NAME=value". A new reference. */
json_t *sink_environment(bool list);

/* The cell of a column, in its own type. */
json_t *sink_column_value(const struct column *column, const struct row *row);

/* "# TEXT" and a newline, with what would break the line replaced by blanks. */
void sink_put_comment(FILE *out, const char *text);

/* The lines before the table's headings. */
void sink_table_head(FILE *out, const struct run_facts *facts);

/* Returns true when the check of this row failed. */
bool sink_row_failed(const struct row *row);
