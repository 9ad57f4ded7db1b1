/* error.h: the first error of a process, kept where it was first known and carried to every
 * sink. */
#pragma once

#include "base/outcome.h"

struct error {
	enum outcome outcome; /* what the error means for the run: OUTCOME_OK while there is none */
	int code;	      /* negative errno */
	int rank;	      /* -1 while unknown */
	int line;
	const char *file;
	char text[600]; /* one line, no newline; names what failed and what would be right */
};

/* Keep the error if it is the first, and return `code` either way, so that callers can `return
 * error_set(...)`. Prints nothing; whoever ends the process prints it once (error_print). `err`
 * is not NULL. */
#define error_set(err, outcome, code, ...)                                                         \
	error_set_at(err, outcome, code, __FILE__, __LINE__, __VA_ARGS__)
/* The same of input that is wrong. */
#define error_usage(err, ...) error_set(err, OUTCOME_USAGE, -EINVAL, __VA_ARGS__)

int error_set_at(struct error *err, enum outcome outcome, int code, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* One line on standard error: "PROGRAM: TEXT", plus rank and file:line where the outcome is no
 * usage error. */
void error_print(const struct error *err, const char *program);

/* Others' text for a line of a terminal or report: what is no printable ASCII becomes "?", in place.
 * Returns it. */
char *make_printable(char *text);

/* Write behind the text in `size` bytes; cut where there is no room. */
void text_add(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* `memory`, as malloc and its like returned it; on NULL the process ends here: "out of memory" on
 * standard error, exit OUTCOME_INTERNAL. For readers and printers, which have nothing to undo. */
void *must(void *memory);

/* Room for element n of an array whose capacity doubles: the array, perhaps elsewhere; as must. */
void *must_room(void *array, int n, size_t size);
