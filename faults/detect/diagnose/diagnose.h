/* diagnose.h: from recorded evidence to class, culprits, and where timelines parted. */
#pragma once

#include "evidence/evidence.h"
#include "base/outcome.h"
#include "record/classes.h"

#define DIAGNOSIS_LINES 16

struct diagnosis {
	enum outcome outcome;
	enum diagnosis_class class;
	char ranks[256]; /* culprits, "1,3"; "-" when no rank is named */
	/* Timelines parted here: at the first call on `comm` that not all made alike. An
	 * interval where identical calls leave it open; 0: communicator init; -1: nowhere. */
	int64_t comm, seq_low, seq_high;
	/* "call" (missing or extra) "kind" "count" "dtype" "op" "peer"; at init "nranks" "id" or the
	 * name of a setting; "" for none */
	char field[48];
	char theirs[64], majority[64];
	char lines_there[2][64]; /* of that call: the first culprit's, another's; or "" */
	char sides[2][48];	 /* "rank 0": made `theirs` and `majority`, in a tie; "" */
	uint64_t agreed;	 /* lines of code that parted: calls that bear it out */
	char hosts[256];	 /* with lost monitor or launcher, "node2,node3"; "" none */
	char pair[136];	  /* a send and its receive are between these: "1>2" from 1 to 2; "" none */
	int64_t hang_seq; /* the call in which the others stand, 0: init; -1: none */
	int64_t wrong_seq; /* the first call with wrong data on any rank, -1: none is known */
	uint64_t said_ns;  /* CLOCK_MONOTONIC of the verdict; 0: diagnosed later */
	enum confidence confidence;
	char lines[DIAGNOSIS_LINES][256]; /* evidence, sentences */
	size_t nlines;
	enum fault_side side;
	char cause[400], fix[400], prevention[400]; /* a paragraph each, of meanings.txt */
};

/* Never fails: what does not fit is "unexplained", with the evidence; without known ranks or calls, and
 * nothing else wrong, "internal". Cost linear in ranks x calls. */
void diagnose(const struct evidence *evidence, struct diagnosis *diagnosis);

/* Fills in cause, fix, prevention and side of the diagnosis' class, from meanings.txt. */
void class_explain(struct diagnosis *diagnosis);

/* Asks alone whether ranks' lines of code part, or their calls differ, of a run that goes on. False: they do not. */
bool diagnose_lines(const struct evidence *evidence, struct diagnosis *diagnosis);

/* One more line of evidence, if there is room. */
void diagnosis_note(struct diagnosis *diagnosis, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
