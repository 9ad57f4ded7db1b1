/* options_table.h: one row per option, walked by parser, help and the JSON of a run. For
 * options*.c and report/sink_json.c. */
#pragma once

#include "options/options.h"

enum { OPTION_ROWS_MAX = 96, OPTION_TEXT_MAX = 384 };

struct option_row;

/* A kind says what a value may look like. */
struct option_kind {
	size_t size; /* bytes of its field; 0: it knows its fields itself, and is handed the options */
	/* 0, or a negative errno when the text is not allowed; then nothing is written. */
	int (*parse)(const struct option_row *row, const char *text, void *field);
	/* What is allowed by a row's bounds; NULL: its rows say it themselves. Always terminated. */
	void (*allowed)(const struct option_row *row, char *buf, size_t len);
	/* The value as a user may type it, "" where there is none: two ranks have the same when their
	 * texts are the same. Always terminated. */
	void (*text)(const struct option_row *row, const void *field, char *buf, size_t len);
};

enum option_group {
	GROUP_SIZES = 1,
	GROUP_DATA,
	GROUP_REPEAT,
	GROUP_PROCESSES,
	GROUP_COMMUNICATOR,
	GROUP_REPORT,
	GROUP_WATCH,
	GROUP_HELP,
	GROUP_ENVIRONMENT,
	GROUP_END
};

/* An option makes sense only there. */
enum option_scope {
	SCOPE_ALL,
	SCOPE_REDUCES,	 /* collectives that reduce */
	SCOPE_ROOTED,	 /* collectives with a root */
	SCOPE_IRREGULAR, /* alltoallv; environment only, so it is never refused elsewhere */
	SCOPE_GPU	 /* anything but --backend mpi */
};

/* Each row decides whether ranks of one run may differ in it. */
enum option_agree { AGREE_UNDECIDED, AGREE_SAME, AGREE_FREE };

struct option_row {
	const char *name; /* long option, or the name of the environment variable */
	int letter;	  /* 0: none */
	bool env;	  /* set from the environment variable `name`, not from the command line */
	const char *arg;  /* what --help calls the value; NULL: the option takes none */
	const char *flag; /* arg NULL: the text that is parsed when the option is there */
	const char *initial; /* default as text, parsed like any other; NULL: all bytes zero */
	const char *help;
	const struct option_kind *kind;
	const char *field; /* its name in JSON, NULL: not told */
	size_t offset;	   /* in struct options */
	enum option_group group;
	enum option_scope scope;
	enum option_agree agree;
	double min, max; /* bounds of numbers and sizes, both allowed */
	/* What is allowed, as it continues "must be "; behind a blank at its end stand all words. NULL:
	 * the kind says it. */
	const char *allowed;
	/* What may stand there, NULL at the end; kind_int: one that stands for `word_value`. */
	const char *const *words;
	int word_value;
	const char *suffix;		/* kind_text: how it must end */
	int (*check)(const char *text); /* kind_text: in place of words, negative: refused */
};

extern const struct option_kind kind_size, kind_int, kind_bool, kind_real, kind_word, kind_text,
	kind_range, kind_fault, kind_split, kind_split_mask;

extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const char *const option_group_titles[GROUP_END];

/* A command line in the making. */
struct option_set {
	struct options *options;
	const struct option_target *target; /* borrowed, may be NULL: everything makes sense */
	struct error *err;
	const char *given[OPTION_ROWS_MAX]; /* per row the last text it was given, NULL: none */
};

/* The row's field of the options, by its kind. */
int option_parse(const struct option_row *row, const char *text, struct options *options);
void option_text(const struct option_row *row, const struct options *options, char *buf,
		 size_t len);

/* The number in a field of kind_int. */
int64_t option_int(const struct option_row *row, const void *field);

/* What the row allows, as it continues "must be ". */
void option_allowed(const struct option_row *row, char *buf, size_t len);

/* The row's index, or -1. */
int option_find(const char *name);

/* Sets every field to its default. */
void option_defaults(struct options *options);

/* Parse `text` into row `i`, remember it as given. 0, or -EINVAL with the error set. */
int option_take(struct option_set *set, int i, const char *text);

/* Keep a usage error "-b 0: TEXT" about row `i` as it was given, or as its default is. Returns
 * -EINVAL. */
int option_reject(struct option_set *set, int i, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Does what follows once all is parsed: derived fields, then contradictions. 0, or -EINVAL with the
 * error set. */
int options_check(struct option_set *set);
