/* report_stacks.c: native stacks as a section of the post-mortem, and as single lines. */
#include "postmortem/report_stacks.h"

#include "base/rank_list.h"
#include "probe/stacks.h"

#define LINES_SHOWN    64
#define CULPRITS_SHOWN 4

int report_stuck(FILE *out, const char *prefix, const struct evidence *evidence,
		 const char *culprits, int most)
{
	char line[300];
	int found = 0;

	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < evidence->nranks; i++) {
			if (rank_list_has(culprits, i) != (turn == 0) ||
			    !stacks_stuck_on(evidence->ranks[i].stack, line, sizeof(line)))
				continue;
			if (found++ < most)
				fprintf(out, "%srank %d is stuck on %s\n", prefix, i, line);
		}
	return found > most ? found - most : 0;
}

/* Indented: a code block that its own content cannot end. */
static void print_stack(FILE *out, int number, const char *how, const char *text)
{
	fprintf(out, "\n#### Rank %d, %s\n\n", number, how);
	while (*text) {
		size_t n = strcspn(text, "\n");

		fprintf(out, "    %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

/* A rank without guilt that has stacks, one that waits if there is one; -1: none. */
static int find_waiting(const struct evidence *e, const char *culprits)
{
	int found = -1;

	for (int i = 0; i < e->nranks; i++) {
		if (!e->ranks[i].stack || rank_list_has(culprits, i))
			continue;
		if (e->ranks[i].view.waiting)
			return i;
		if (found < 0)
			found = i;
	}
	return found;
}

void report_stacks(FILE *out, const struct evidence *evidence, const char *culprits)
{
	int waiting = find_waiting(evidence, culprits), shown = 0;
	bool any = waiting >= 0;

	for (int i = 0; i < evidence->nranks; i++)
		any = any || evidence->ranks[i].stack;
	fprintf(out, "\n### Stacks\n\n");
	if (!any) {
		fprintf(out, "None were taken.\n");
		return;
	}
	report_stuck(out, "- ", evidence, culprits, LINES_SHOWN);
	for (int i = 0; i < evidence->nranks && shown < CULPRITS_SHOWN; i++)
		if (evidence->ranks[i].stack && rank_list_has(culprits, i)) {
			print_stack(out, i, "culprit", evidence->ranks[i].stack);
			shown++;
		}
	if (waiting >= 0)
		print_stack(out, waiting,
			    evidence->ranks[waiting].view.waiting ? "waiting" : "not a culprit",
			    evidence->ranks[waiting].stack);
}
