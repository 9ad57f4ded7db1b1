/* describe.h: an answer in words: what people read below the verdict line, and what a rank does. Pure. */
#pragma once

#include "answer/answer.h"

/* Makes the lines of an answer, of any number of ranks: the culprit, what it lacks or changed, the others. The views
 * are those that the answer was made of. */
void answer_describe(struct answer *answer, const struct rank_view *views, size_t n);

/* Prints the lines, `prefix` before each. */
void answer_print_lines(FILE *out, const char *prefix, const struct answer *answer);

/* Cuts a line of text to ANSWER_WIDTH: its end becomes "...". Returns text. */
char *describe_cut(char *text);
