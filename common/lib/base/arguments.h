/* arguments.h: the command line of a small program, as a table over glibc's argp. */
#pragma once

#include <argp.h>

#include "base/error.h"

/* The kind of a row's field, and the field. */
#define ARGUMENT(kind_of, type, field) .kind = ARGUMENT_##kind_of, .at = offsetof(type, field)

/* A field is a bool, a const char *, an int or double from min to most, or what `take` parses. */
enum argument_kind { ARGUMENT_FLAG, ARGUMENT_TEXT, ARGUMENT_WHOLE, ARGUMENT_REAL, ARGUMENT_OWN };

/* An option, whose field lies `at` bytes into the struct. Its help is in arguments.txt, or none. */
struct argument {
	const char *name;
	char letter;	   /* 0: none */
	const char *value; /* its name in the help; NULL: the option has none */
	enum argument_kind kind;
	size_t at;
	double min, most;
	void (*take)(struct argp_state *state, void *into, const struct argument *row, char *text);
	int flags; /* flags of argp */
};

struct argument_table {
	const char *program, *values; /* values: the arguments after the options, in the help */
	const struct argument *rows;
	size_t n;
	/* Called for a word that is no option's (NULL: refused), and at the end. */
	void (*word)(struct argp_state *state, void *into, char *text);
	void (*check)(struct argp_state *state, void *into);
};

/* Answers --help, in the order of the rows, and --version. Fills `into` in the order of the command
 * line. An error ends the process with OUTCOME_USAGE and a line on standard error. Guards standard
 * output (output_guard). */
void arguments_read(const struct argument_table *table, int argc, char **argv, void *into);

/* Ends the process in that way. */
#define argument_refuse(state, ...) argp_failure(state, OUTCOME_USAGE, 0, __VA_ARGS__)

/* Returns the number in `text`, within the row's limits. */
double argument_number(struct argp_state *state, const struct argument *row, bool whole,
		       const char *text);
