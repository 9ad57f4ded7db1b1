/* rule.h: what the rules of a diagnosis share. Internal to faults/diagnose/. */
#ifndef HANGAR_RULE_H
#define HANGAR_RULE_H

#include <stdbool.h>

#include "diagnose/align.h"
#include "diagnose/diagnose.h"

struct inquiry {
	const struct evidence *evidence;
	struct diagnosis *d;
	struct align align; /* of the communicator at hand */
	bool closely;	    /* how `align` is to be made */
	/* Compared closely, by communicator (1u << comm): ... no rank's calls are other than the
	 * others' but for some left out or added; ... two sides as large as each other differ */
	uint32_t planned, split;
	bool *guilty; /* nranks */
	size_t nguilty;
};

/* One more line of evidence, if there is room. */
void inquiry_say(struct diagnosis *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void inquiry_accuse(struct inquiry *q, int rank);

/* A rank's number for people: in the run, where the evidence is of a group. */
int inquiry_number(const struct inquiry *q, int rank);

/* Marked ranks with these numbers, as rank_list_words has them. Returns buf. */
const char *inquiry_words(const struct inquiry *q, const bool *in, char *buf, size_t len);

/* The guilty as the diagnosis' list of ranks. */
void inquiry_name_guilty(struct inquiry *q);

/* A call in words, "no call" for NULL. Returns buf. */
const char *inquiry_call(const struct record *record, char *buf, size_t len);

/* A rank's number of calls on the communicator that are known to have completed. */
uint64_t inquiry_completed(const struct inquiry *q, int rank);

/* The first call that not all ranks completed, -1 when nobody waits for one. */
int64_t inquiry_hang_point(const struct inquiry *q);

/* The end of a rule: class, confidence, the names of the guilty, and what they and the others
 * are doing. */
void inquiry_conclude(struct inquiry *q, enum diagnosis_class class, const char *confidence);

/* A line: how the rank is, what it does, what calls it made; `tail` before the full stop. */
void inquiry_say_rank(struct inquiry *q, int rank, const char *tail);

/* Which call the guilty ranks did not make though others did. */
void inquiry_place_missing(struct inquiry *q);

/* Has its process ended without saying so? */
bool inquiry_died(const struct rank_view *v);

/* CLASS_BLOCKED or CLASS_BUSY where the host's evidence shows a rank that lacks a call so, else
 * `idle`. */
enum diagnosis_class inquiry_host_class(const struct evidence_rank *rank,
					enum diagnosis_class idle);

/* diagnose_init.c: does a guilty rank lack communicator init itself, while others are inside it?
 * Then that is the place. */
bool inquiry_place_init(struct inquiry *q);

/* diagnose_init.c: rules. Each returns whether it has found the answer. */

/* Ranks called init with different arguments. */
bool blame_init_arguments(struct inquiry *q);
/* Some are inside init, others never called it. */
bool blame_absent_from_init(struct inquiry *q);
/* All called init alike, and one lives in another network. */
bool blame_unreachable(struct inquiry *q);
/* A rank aborted its communicator by itself. */
bool blame_aborted(struct inquiry *q);
/* A rank gave up because its device had no memory left. */
bool blame_device_memory(struct inquiry *q);

/* diagnose_deviation.c: rules. Ranks' calls are other than most ranks', or no side is larger. */
bool blame_deviation(struct inquiry *q);
/* Of an alignment that was done closely, where all ranks follow one plan: some left out a send or
 * receive, or made one too many. Marks the communicator in `planned` and `split`. */
bool blame_plan(struct inquiry *q);
/* Two sides, marked in `split`, and nobody can say which is right. */
bool blame_split(struct inquiry *q);
/* Are sends and receives among what the ranks wait for? */
bool is_in_pairs(struct inquiry *q);

/* diagnose_missing.c: some made a call that others, not inside one, never did. */
bool blame_missing(struct inquiry *q);
/* Every rank has made and completed the same calls and is outside of any: that, and where each is.
 * Returns whether it is so. */
bool say_nobody_called(struct inquiry *q);
/* Others than the guilty, alive, who lack a call as blame_missing has it: a line each. After
 * inquiry_conclude. */
void say_missing_too(struct inquiry *q);

/* diagnose_outside.c: all calls that were made have ended, and a rank does not come to where the others
 * wait for it since. */
bool blame_behind(struct inquiry *q);

/* diagnose_pairs.c: is this a send or a receive? False for NULL. */
bool call_in_pairs(const struct record *record);
/* Does the rank wait for sends or receives that it made? A group of them returns one by one and
 * waits at its end. */
bool waits_in_pairs(const struct inquiry *q, int rank);
/* Do all of the guilty? */
bool all_wait_in_pairs(const struct inquiry *q);
/* Can it be told what became of all that the rank waits for? Not where calls are no longer known, or
 * ranks are split into groups with numbers of their own. */
bool partners_known(const struct inquiry *q, int rank);
/* What of the ranks' sends and receives cannot end, a line each: the partner has not made its
 * part, or one of another amount; the latter is the answer (class mismatch, nobody guilty).
 * Returns whether it is. */
bool blame_unequal(struct inquiry *q);
/* Each of the guilty waits for such a partner: then they are not, and what blame_unequal finds
 * is said. Returns whether they are acquitted. */
bool acquit_pairs(struct inquiry *q);
/* Does another rank wait for a part of this one's that it has not made, or made otherwise; or
 * (`extra`) this one for another's? */
bool pairs_point_at(const struct inquiry *q, int rank, bool extra);
/* Does somebody wait for each of the guilty so? False only where that is certain. */
bool guilty_awaited(const struct inquiry *q);
/* A send or receive too few leaves others waiting for it, one too many the rank itself. Is it the other
 * way round for this deviation of `rank`, in a hang; or is one call all that it has in common with
 * others? False for other deviations. */
bool pairs_contradict(const struct inquiry *q, const struct deviation *deviation, int rank);
/* Is there a send or receive that the partner has no part of, or another amount, or a collective that
 * not all made, in the same order? True also where that cannot be told. Linear in the calls. */
bool lacks_meeting(struct inquiry *q);

#endif
