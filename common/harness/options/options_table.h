/* options_table.h: one row per option, for parser, help, JSON (options*.c, sink_json.c). */
#pragma once

#include "options/options.h"

enum { OPTION_ROWS_MAX = 96, OPTION_TEXT_MAX = 384 };

struct option_row;

struct option_kind {
	size_t size; /* bytes of the field; 0: the kind accesses the whole struct options */
	/* Returns 0, or a negative errno without a write for an invalid text. */
	int (*parse)(const struct option_row *row, const char *text, void *field);
	/* Writes the valid values by the row's bounds; NULL: rows have a text of their own. */
	void (*allowed)(const struct option_row *row, char *buf, size_t len);
	/* Writes the value in typed form, "" without one. Ranks agree if their texts are equal. */
	void (*text)(const struct option_row *row, const void *field, char *buf, size_t len);
};

/* In the order of --help; rows of a group stand in it as in the table, the most used first. */
enum option_group {
	GROUP_SIZES = 1,
	GROUP_PROCESSES,
	GROUP_DATA,
	GROUP_REPEAT,
	GROUP_WATCH,
	GROUP_REPORT,
	GROUP_COMMUNICATOR,
	GROUP_ENVIRONMENT,
	GROUP_HELP,
	GROUP_END
};

enum option_scope {
	SCOPE_ALL,
	SCOPE_REDUCES,	 /* collectives that reduce */
	SCOPE_ROOTED,	 /* collectives with a root */
	SCOPE_IRREGULAR, /* alltoallv; environment only, so it is never refused elsewhere */
	SCOPE_GPU	 /* any backend but mpi */
};

/* The programs that take an option, as bits. */
enum option_part {
	PART_ALL,
	PART_SWEEP = 1, /* programs that measure a collective */
	PART_PAIRS = 2, /* p2p_matrix_perf */
	PART_STEP = 4,	/* step_perf */
};

/* Each row states whether ranks of one run may differ in it. */
enum option_agree { AGREE_UNDECIDED, AGREE_SAME, AGREE_FREE };

struct option_row {
	const char *name; /* long option, or the name of the environment variable */
	int letter;	  /* 0: none */
	bool env;	  /* set from the environment variable `name`, not from the command line */
	const char *arg;  /* the value's name in --help; NULL: no value */
	const char *flag; /* what an option without a value means; with `arg` optional */
	const char *initial; /* default as text, parsed like any other; NULL: all bytes zero */
	const struct option_kind *kind;
	const char *field; /* name in JSON, NULL: not in JSON */
	size_t offset;	   /* in struct options */
	enum option_group group;
	enum option_scope scope;
	unsigned part; /* bits of enum option_part */
	enum option_agree agree;
	double min, max; /* inclusive bounds of numbers and sizes */
	/* The valid values, in the form after "must be "; a blank at the end appends all words.
	 * NULL: the kind's text. */
	const char *allowed;
	/* Valid words, NULL at the end; kind_int: the word for `word_value`. */
	const char *const *words;
	int word_value;
	const char *suffix;		/* kind_text: the required ending */
	int (*check)(const char *text); /* kind_text: replaces words; negative: refused */
};

extern const struct option_kind kind_size, kind_int, kind_bool, kind_real, kind_word, kind_text,
	kind_range, kind_sizes, kind_fault, kind_split, kind_split_mask;

extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const char *const option_group_titles[GROUP_END];

/* A command line during parsing. */
struct option_set {
	struct options *options;
	const struct option_target *target; /* borrowed; NULL: all options are valid */
	struct error *err;
	const char *given[OPTION_ROWS_MAX]; /* per row its last text, NULL: not set */
};

/* Calls of the row's kind on the row's field. */
int option_parse(const struct option_row *row, const char *text, struct options *options);
void option_text(const struct option_row *row, const struct options *options, char *buf,
		 size_t len);

/* The number in a field of kind_int. */
int64_t option_int(const struct option_row *row, const void *field);

/* Writes the row's help, its line of options.txt. Returns `buf`, "" where there is none. */
const char *option_help(const struct option_row *row, char *buf, size_t len);

/* Writes the valid values, in the form after "must be ". */
void option_allowed(const struct option_row *row, char *buf, size_t len);

/* The row's index, or -1. */
int option_find(const char *name);

/* Returns the bit of a program. */
enum option_part option_part_of(const struct option_target *target);

/* Returns NULL if the program has this option, else "has no meaning for p2p_matrix_perf" and the like. */
const char *option_misplaced(const struct option_row *row, const struct option_target *target);

/* Sets every field to its default. */
void option_defaults(struct options *options);

/* Parses `text` into row `i` and marks it as set. Returns 0, or -EINVAL with the error set. */
int option_take(struct option_set *set, int i, const char *text);

/* Sets a usage error "-b 0: TEXT" about row `i`, with its value. Returns -EINVAL. */
int option_reject(struct option_set *set, int i, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Derives fields and checks for contradictions, at the end. 0, or -EINVAL with the error. */
int options_check(struct option_set *set);
