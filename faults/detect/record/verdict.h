/* verdict.h: from the views of all ranks to what happened. Pure; diagnose says what caused it. */
#pragma once

#include "base/outcome.h"
#include "record/classes.h"
#include "record/view.h"

struct verdict {
	enum outcome outcome;
	enum diagnosis_class class;
	char ranks[256];   /* culprits, "1,3"; "-": none */
	int64_t comm, seq; /* where the healthy ranks stand, or timelines parted; -1: unknown */
	int64_t hang_seq;  /* where they parted elsewhere, and the others stand here; else -1 */
	int64_t wrong_seq; /* and data were first found wrong in this one; else -1 */
	enum confidence confidence;
	char field[48]; /* in which arguments or settings differ, "" for none */
	enum fault_side side;
	char pair[136];	    /* of ranks, a send and its receive, "1>2"; of hosts; "" for none */
	char hosts[256];    /* whose monitor or launcher is lost, "node2,node3"; "" for none */
	char evidence[256]; /* folder, "-" for none */
	double detect_ms;   /* since the latest entry into a wait, a death or an error's end */
	/* For people alone, "" where unknown (struct diagnosis has the same): */
	int64_t seq_high; /* timelines parted between `seq` and this call */
	char differs[48], theirs[64], majority[64], lines_there[2][64], sides[2][48];
	char doing[256]; /* the first culprit's doing: "in train.py:88 (load)" */
	char said[200];	 /* of its end, the first culprit: "RuntimeError: loss is NaN" */
	char note[256];	 /* the first sentence of evidence, where it says more than the rest */
};

/* Returns true if this rank ended by itself, with an exit code that it had announced. */
bool view_finished(const struct rank_view *view);
/* Returns true if it ended in any other way. */
bool view_died(const struct rank_view *view);
/* Returns true if it left with an error of its own, which usage and unsupported are not. */
bool view_failed(const struct rank_view *view);

/* The outcome of this rank alone: OUTCOME_OK as long as it runs and is not overdue. */
enum outcome view_outcome(const struct rank_view *view);

/* Returns true if something is wrong that no waiting will repair: a rank died, reported an error
 * while others go on, or (only if `deadlines`) waits past its deadline. */
bool views_abnormal(const struct rank_view *views, size_t n, bool deadlines);

/* Returns true if one rank left with an error of its own, and all others ended well: no other one can be the cause. */
bool views_one_failed(const struct rank_view *views, size_t n);

/* Adds a rank to a list "1,3", "" at first. False: no room, and the list is as it was. */
bool ranks_add(char *list, size_t len, int rank);

/* Makes the verdict: the outcome that the run came to. The seconds say how long ago the first
 * death was observed, and the first rank that left with an error: 0 if none. */
void verdict_make(struct verdict *verdict, const struct rank_view *views, size_t n,
		  double death_seconds, double error_seconds);

/* The line for scripts. */
void verdict_print(FILE *out, const struct verdict *verdict);

/* The exit code of a verdict, as --expect has it (NULL: none). */
int verdict_exit_code(const struct verdict *verdict, const char *expect);

/* With --expect: what that code comes from. */
void verdict_print_expected(FILE *out, const struct verdict *verdict, const char *expect);

/* The verdict of a host, this one, that is lost (not LOST_NOT); of no rank, and without evidence. */
void verdict_make_lost(struct verdict *verdict, enum view_lost lost);
