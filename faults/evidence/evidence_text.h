/* evidence_text.h: one folder of evidence, and its texts: rank-N.stack.txt, ras.txt and
 * rank-N.counters.json. */
#pragma once

#include "evidence/evidence.h"

enum {
	EVIDENCE_STACK_BYTES = 16384 + 256, /* of a rank's stacks, and why there are no more */
	EVIDENCE_RAS_BYTES = 4 << 20,	    /* RAS writes about 700 bytes of JSON for a rank */
};

/* Reads what lies in one folder, with remarks on its files; the caller says who is missing, and
 * whether anything is there at all. Returns 0, or a negative errno with the error set: -ENOENT. */
int evidence_read_folder(struct evidence *evidence, const char *dir, struct error *err);

/* N of a name "rank-N" + suffix (".fr") as the files of a folder have it, else -1. */
int evidence_file_rank(const char *name, const char *suffix);

/* Nothing but printable ASCII and newlines, in place: tabs become blanks, anything else '?'. */
void evidence_clean(char *text);

/* Write the stacks, the counters and the answer of RAS that there are. 0 or a negative errno with the
 * error set. evidence_save does not: texts may come later than the rest. */
int evidence_save_texts(const struct evidence *evidence, const char *dir, struct error *err);

/* Read those of ranks 0 to nranks - 1. What is missing stays NULL; of longer files the beginning
 * is taken; hostile content becomes printable text; counters that are torn or not ours are left out
 * with a remark. */
void evidence_load_texts(struct evidence *evidence, const char *dir);

/* Keep with `rank` what its host counted; what is in `delta` is the rank's from now on. */
void evidence_take_counters(struct evidence_rank *rank, struct reading *delta);

/* The same, of a text as evidence_counters_text gave it, here or on another host. Nothing in it is
 * trusted: false where it is not sound, and nothing is saved. */
bool evidence_parse_counters(struct evidence_rank *rank, const char *text);

/* rank-N.counters.json; the caller frees; NULL: nothing is saved with this rank. */
char *evidence_counters_text(const struct evidence_rank *rank);
