/* error.h: the first error of a process, stored where it is detected and carried to every sink. */
#pragma once

#include "base/outcome.h"

struct error {
	enum outcome outcome; /* the run's outcome by this error; OUTCOME_OK: no error */
	int code;	      /* negative errno */
	int rank;	      /* -1 while unknown */
	int line;
	const char *file;
	char text[760]; /* one line, no newline; names what failed and what would be valid */
};

/* Stores the error if it is the first, and returns `code` either way, so that callers can `return
 * error_set(...)`. error_print prints it once at the end of the process. */
#define error_set(err, outcome, code, ...)                                                         \
	error_set_at(err, outcome, code, __FILE__, __LINE__, __VA_ARGS__)
/* The same for invalid input. */
#define error_usage(err, ...) error_set(err, OUTCOME_USAGE, -EINVAL, __VA_ARGS__)

/* error_set with the place of its call. */
int error_set_at(struct error *err, enum outcome outcome, int code, const char *file, int line,
		 const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Prints a line on standard error: "PROGRAM: TEXT", with rank and file:line but for usage. */
void error_print(const struct error *err, const char *program);

/* True for a text of printable ASCII alone. */
bool is_printable(const char *text);

/* Replaces every byte that is not printable ASCII with "?", in place, and returns `text`. For
 * foreign text in one line of a terminal or report. */
char *make_printable(char *text);

/* Appends to the text in a buffer of `size` bytes; the text is cut where the buffer ends. */
void text_add(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Returns `memory` as malloc returned it. On NULL the process prints "out of memory" and exits with
 * OUTCOME_INTERNAL. For readers and printers, which have nothing to undo. */
void *must(void *memory);

/* Makes room for element n of an array whose capacity doubles. Returns the array, or exits. */
void *must_room(void *array, int n, size_t size);
