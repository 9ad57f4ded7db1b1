/* summary.h: what people read below the verdict line: the culprit, what it lacks or changed, the others. Pure. */
#pragma once

#include "record/verdict.h"

#define SUMMARY_LINES 5	 /* of eight on the screen: a stack line and two where to look come later */
#define SUMMARY_WIDTH 98 /* characters, with "# " before them 100 */

struct summary {
	char lines[SUMMARY_LINES][SUMMARY_WIDTH + 1];
	size_t n;
};

/* Makes the lines of any number of ranks. Views may be those of a later look at evidence. */
void summary_make(struct summary *summary, const struct verdict *verdict,
		  const struct rank_view *views, size_t n);

/* Prints them, `prefix` before each. */
void summary_print(FILE *out, const char *prefix, const struct verdict *verdict,
		   const struct rank_view *views, size_t n);

/* Cuts a line of text to that width: its end becomes "...". Returns text. */
char *summary_cut(char *text);
