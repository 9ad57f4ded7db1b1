/* sink_shared.h: shared by the sinks and report.c. Internal to report. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "options/options.h"
#include "report/row.h"
#include "report/sink.h"

/* "-" and /dev/stdout. */
bool sink_is_stdout(const char *path);

/* Creates `path`, which must not exist, in an existing folder; for standard output duplicates it.
 * Returns the descriptor, or a negative errno without an error set. */
int sink_file_create(const char *path);

/* Sets the error that `path` (of an option, if one is given) cannot be created; returns `code`. */
int sink_file_refused(struct error *err, const char *path, int code);

/* Replaces the file by `text`, as a whole or not at all; frees the text. */
int sink_file_replace(struct error *err, const char *path, char *text);

/* Makes a sink whose state is one file of lines. `new` creates `path`, which must not exist; it
 * returns NULL with the error set on failure. `free` is a hook. Functions with a `struct sink *`
 * argument need such a sink. */
struct sink *sink_lines_new(const struct sink_ops *ops, const char *path, struct error *err);
void sink_lines_free(struct sink *sink);

/* Appends all data with one write, or nothing: a partial write is cut off again. */
int sink_lines_append(struct sink *sink, const char *data, size_t len);

/* Returns every allowed variable of this process: an object, or (`list`) "NAME=value" texts. */
json_t *sink_environment(bool list);

/* Returns the cell of a column in its own type. */
json_t *sink_column_value(const struct column *column, const struct row *row);

/* Writes "# TEXT" and a newline; control characters become blanks. */
void sink_put_comment(FILE *out, const char *text);

bool sink_row_failed(const struct row *row);
