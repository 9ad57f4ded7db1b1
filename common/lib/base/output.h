/* output.h: checks that written data arrived (a full disk shows late, at flush or close), and Prometheus text. */
#pragma once

#include "base/error.h"

/* Closes `f`. Returns 0 if all data arrived, else a negative errno: -ENOSPC on a full disk. If an
 * earlier write failed and the close succeeds, the result is errno at the call, so the last write
 * must come right before it. */
int output_close(FILE *f);

/* Flushes standard output. 0, or a negative errno with the error set if data did not arrive. */
int output_stdout(struct error *err);

/* Writes a file whole or not at all, also against concurrent writers: under a temporary name, then
 * renamed. A device or pipe takes the data as they come. Returns 0 or a negative errno. */
int output_whole(const char *path, const void *data, size_t bytes);

/* From here on a reader of standard error that leaves ends no process; one of standard output does, as ever. */
void output_keep(void);

/* Makes the end of this process, by exit() or from main(), call output_stdout(). A failure is
 * printed on standard error with the name of `program` and makes the exit code 1. With output_keep(). */
void output_guard(const char *program);

/* Checks, without writing, that standard output can take a line. For output by another process that
 * would not report a failure. Returns 0, or a negative errno with the error set for a closed
 * descriptor or a full disk. */
int output_room(struct error *err);

/* Writes "# HELP" and "# TYPE"; `help` is a phrase without a full stop. */
void prometheus_head(FILE *f, const char *name, const char *help);
/* Writes `name="value"` after `before`, '{' or ','; reserved characters become '?'. */
void prometheus_label(FILE *f, char before, const char *name, const char *value);
/* Converts the unit at a name's end to its base unit ("_us" to "_seconds"). Returns the factor. */
double prometheus_unit(char *name, size_t len);
