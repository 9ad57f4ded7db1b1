/* answer.h: what happened to a run, which rank brought it about, and how sure that is. One value: views or rules
 * make it, and the verdict line, its sentences, verdict.json, the page and --status print it. Pure. */
#pragma once

#include "answer/classes.h"
#include "base/outcome.h"
#include "record/view.h"

#define ANSWER_NOTES 16 /* sentences of evidence */
#define ANSWER_LINES                                                                               \
	5 /* below the verdict line: of eight on the screen a stack and two where to look come later */
#define ANSWER_WIDTH 98 /* characters of such a line; with "# " before them 100 */

struct answer {
	enum outcome outcome;
	enum answer_class class;
	enum confidence confidence;
	enum fault_side side;
	char ranks[256]; /* culprits, "1,3"; "-": no rank is named */
	char hosts[256]; /* hosts whose monitor or launcher is lost, "node2,node3"; "" for none */
	char pair[136];	 /* of ranks, a send and its receive, "1>2"; of hosts; "" for none */
	char job[64];	 /* of which these are the ranks; "": the run has no other */

	/* Timelines parted here: at the first call on `comm` that not all made alike. An interval where identical
	 * calls leave it open; 0: communicator init; -1: nowhere. */
	int64_t comm, seq_low, seq_high;
	int64_t hang_seq;  /* the call in which the others stand, 0: init; -1: none */
	int64_t wrong_seq; /* the first call with wrong data on any rank, -1: none is known */
	int64_t last_comm,
		last_seq; /* the last call of the waiting rank that is furthest behind; -1: none waits */

	/* "call" (missing or extra) "kind" "count" "dtype" "op" "peer"; at init "nranks" "id" or the name of a
	 * setting; "" for none. Then the culprits' value and the others', and of that call the first culprit's line
	 * of code and another's. */
	char field[48];
	char theirs[64], majority[64];
	char lines_there[2][64];
	char sides[2][48]; /* in a tie "rank 0" made `theirs`, "rank 1" `majority`; else "" */
	uint64_t agreed;   /* lines of code that parted: calls that bear it out */

	/* Facts about the first culprit. */
	char doing[256]; /* where it stands: "in train.py:88 (load)" */
	char said[200];	 /* what it said of its end: "RuntimeError: loss is NaN" */

	char evidence[256]; /* the folder, "-" for none */
	bool undated;	    /* a culprit's evidence may be older than the others' */
	bool together;	    /* all ranks of which there is evidence wait in the same call */
	double detect_ms; /* since the latest entry into a wait, a death or an error's end; 0: unknown */
	uint64_t said_ns; /* CLOCK_MONOTONIC of the verdict line; 0: it was not printed yet */

	char notes[ANSWER_NOTES][256]; /* evidence, sentences */
	size_t nnotes;
	char lines[ANSWER_LINES][ANSWER_WIDTH + 1]; /* what people read (answer/describe.h) */
	size_t nlines;
};

/* An answer that says nothing: OUTCOME_OK, no rank, no place. */
void answer_blank(struct answer *answer);

/* One more sentence of evidence, if there is room. */
void answer_note(struct answer *answer, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Makes the answer of what is seen of the ranks alone: the outcome that the run came to, and the ranks that died or
 * failed. The seconds say how long ago the first death was observed, and the first rank left with an error: 0 if none. */
void answer_of_views(struct answer *answer, const struct rank_view *views, size_t n,
		     double death_seconds, double error_seconds);

/* The answer about this host, which is lost (not LOST_NOT); of no rank, and without evidence. */
void answer_of_lost(struct answer *answer, enum view_lost lost);

/* Joins an answer of views with that of the evidence, `found`, which becomes the whole one. A class that was found
 * stands; where the evidence lacks what was seen (a process without a rank, a host that is lost), the latter stands. */
void answer_settle(struct answer *found, const struct answer *seen);

/* Returns true if the answer says why: a run that it does not explain gets more time. */
bool answer_explains(const struct answer *answer);

/* The verdict line, for scripts. */
void answer_print(FILE *out, const struct answer *answer);

/* The exit code of an answer, as --expect has it (NULL: none). */
int answer_exit_code(const struct answer *answer, const char *expect);

/* With --expect: prints what that code comes from. */
void answer_print_expected(FILE *out, const struct answer *answer, const char *expect);
