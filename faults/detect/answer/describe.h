/* describe.h: an answer in words: what people read below the verdict line, and what a rank does. Pure. */
#pragma once

#include "answer/answer.h"

/* Makes the lines of an answer, of any number of ranks: the culprit, what it lacks or changed, the others. The views
 * are those that the answer was made of. */
void answer_describe(struct answer *answer, const struct rank_view *views, size_t n);

/* Prints the lines, `prefix` before each. */
void answer_print_lines(FILE *out, const char *prefix, const struct answer *answer);

/* The state of a rank, by one look at it. Each text about a rank begins here: no two texts say unlike things of it. */
enum doing {
	DOING_HIDDEN, /* its host is lost */
	DOING_ENDED,  /* its process has ended, well or not */
	DOING_STOPPED,
	DOING_INIT, /* it is in communicator init */
	DOING_CALL,
	DOING_WAIT, /* in a wait that is no call */
	DOING_IDLE  /* in no call */
};

struct rank_doing {
	enum doing doing;
	const struct record
		*call;	/* CALL: that it is in; IDLE: its last one, NULL: none; in the view */
	double seconds; /* for which it does so; negative: not known */
};

/* A culprit that waits in no call is said to be in none: its wait is a place of its own code. */
struct rank_doing rank_doing(const struct rank_view *view, bool culprit);

/* Cuts a line of text to ANSWER_WIDTH: its end becomes "...". Returns text. */
char *describe_cut(char *text);
