/* align.h: the calls of all ranks on one communicator, side by side: the sequence most ranks
 * made, and how one rank's differs. For faults/detect/diagnose/. Cost linear in ranks x calls. */
#pragma once

#include "evidence/evidence.h"

/* One rank's calls on the communicator: sequence numbers first..last; last 0: none. */
struct track {
	uint64_t first, last;
	const uint64_t
		*sig; /* of calls first..last, 0: not known; in the arena or the rank's index */
	const struct record *oldest; /* of the rank, on any communicator */
	const struct record *final; /* the last call; looking there costs a page of a mapped file */
	bool plain;	   /* the rank's index has it all, and final - i is call last - i */
	bool inside;	   /* the last call has not returned */
	uint8_t last_kind; /* of the last call, enum call_kind */
	bool whole;	   /* no call between first and last is missing */
	bool known;	   /* there is evidence, and `last` can be relied on */
	uint64_t *own; /* of a rank that has no part in the others' sends and receives, so that its
	                    * calls are counted as theirs: its own number of each of first..last, 0: a
	                    * call of theirs; else NULL */
};

enum deviation_kind {
	DEVIATION_NONE,	   /* as the reference, as far as both go */
	DEVIATION_SKIPPED, /* the reference without `shift` calls */
	DEVIATION_EXTRA,   /* the reference with `shift` more */
	DEVIATION_FIELD,   /* same place, other arguments */
	DEVIATION_SWAPPED, /* a call and the one `shift` behind it in each other's place */
	DEVIATION_UNCLEAR  /* differs, and none of these fits */
};

struct deviation {
	enum deviation_kind kind;
	uint64_t low, high; /* sequence numbers between which it lies */
	uint64_t shift;
	uint64_t agreed; /* calls before and behind it that are the reference's */
};

struct align {
	uint32_t comm;
	int nranks;
	bool strict;
	struct track *tracks; /* nranks */
	uint64_t *arena;
	uint64_t base; /* sequence number of reference[0] */
	size_t span;
	uint64_t *reference;  /* what most ranks made; 0: nobody knows */
	uint64_t *work;	      /* 2 * span words of scratch */
	uint64_t tie;	      /* first call with no majority, 0: none */
	uint64_t top, second; /* most calls of any rank, and of the ranks but `top_rank` */
	int top_rank;
	bool sided; /* which side of the tie is right follows from the sequences themselves */
};

/* Lay out the calls on `comm`. Sends and receives are all one call, or (`strict`) told apart by
 * kind, amount and type, which do not differ from rank to rank where all follow one plan. */
void align_init(struct align *align, const struct evidence *evidence, uint32_t comm, bool strict);
void align_release(struct align *align);

/* Tells how `rank` differs from the reference. */
struct deviation align_compare(const struct align *align, int rank);

/* Returns true if the sequences themselves, whatever the number of ranks, speak for the rank's call `at`
 * and against the reference's: what came before goes on with it, or the reference lacks it, or has
 * made another one twice. */
bool align_speaks_for(const struct align *align, int rank, uint64_t at);

/* `rank` and `other` (-1: the reference) differ at `at`. How many calls later each has what the other has
 * there, all else alike; 0: they have not. */
uint64_t align_swapped(const struct align *align, int rank, int other, uint64_t at);

/* Signature of rank's call `seq`, 0 when not known. */
uint64_t align_sig(const struct align *align, int rank, uint64_t seq);

/* The record of rank's call `seq`; of a rank that made the reference's. NULL when not known. */
const struct record *align_record(const struct align *align, int rank, uint64_t seq);
const struct record *align_reference(const struct align *align, uint64_t seq);

/* What a collective is called with, in the order in which differences are told. */
enum call_field { FIELD_KIND, FIELD_COUNT, FIELD_DTYPE, FIELD_OP, FIELD_ROOT, CALL_FIELDS };

/* "kind" "count" "dtype" "op" "root"; of a send or receive "peer". */
const char *field_name(enum call_field field, const struct record *record);
/* Returns true if the two have other values there; calls of other kinds differ in their kind alone. */
bool field_differs(enum call_field field, const struct record *a, const struct record *b);
/* The first in which they do, CALL_FIELDS: none. */
enum call_field field_first(const struct record *a, const struct record *b);

/* Writes to *most what more than half of the ranks gave each field of call `seq`: a call that perhaps
 * nobody made. False where a field has no majority. Looks at a record of every rank. */
bool align_fieldwise(const struct align *align, uint64_t seq, struct record *most);

/* Returns true if the rank made the call before `seq` once more, with the same partner. */
bool align_again(const struct align *align, int rank, uint64_t seq);
/* The same of a send or receive of the exchange that call `seq` is of. */
bool align_again_in_pairs(const struct align *align, int rank, uint64_t seq);

/* First number of the stretch of identical reference calls that ends with call `seq`. */
uint64_t align_run(const struct align *align, uint64_t seq);

/* The signature of a call that `align` compares: evidence_signature or evidence_signature_strict. */
uint64_t align_signed(const struct align *align, const struct record *record);
