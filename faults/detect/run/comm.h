/* comm.h: the calls of one communicator's members side by side: the reference (the sequence that
 * most ranks made), how one rank's differs, and how far each has come. Ranks are numbered as in the
 * communicator. */
#pragma once

#include "base/call_value.h"
#include "run/flows.h"

/* One rank's calls on the communicator: sequence numbers first..last; last 0: none. */
struct track {
	uint64_t first, last;
	const uint32_t *sig; /* of calls first..last, 0: not known; in the arena or the index */
	const struct record *oldest; /* of the rank, on any communicator */
	const struct record *final; /* the last call; looking there costs a page of a mapped file */
	bool plain;	   /* the rank's index has it all, and final - i is call last - i */
	bool inside;	   /* the last call has not returned */
	uint8_t last_kind; /* of the last call, enum call_kind */
	bool whole;	   /* no call between first and last is missing */
	bool known;	   /* there is evidence, and `last` can be relied on */
	uint64_t *own;	   /* where collectives alone count: the number among all calls, or NULL */
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

struct progress_comm {
	const struct progress *progress; /* of the run; borrowed, like `members` */
	const struct members *members;
	const struct progress_rank *ranks; /* of the members, in their order */
	struct progress_rank *own_ranks;   /* the same, where owned; else NULL */
	uint32_t comm;
	int nranks;
	bool strict;
	bool collectives;     /* these alone are counted */
	bool any_program;     /* nothing says that all ranks follow one plan */
	struct track *tracks; /* nranks */
	uint32_t *arena;
	uint64_t base; /* sequence number of reference[0] */
	size_t span;
	uint64_t *reference; /* what most ranks made; 0: not known */
	uint64_t *work;	     /* 2 * span words of scratch */
	uint64_t tie;	     /* first call with no majority, 0: none */
	uint64_t top;	     /* most calls of any rank */
	bool tie_side;	     /* the sequences themselves say which side of the tie is right */
};

/* Sends and receives are all one call; or told apart by kind, amount and type, which do not differ
 * from rank to rank where all follow one plan; or left out, and collectives have numbers of their
 * own: where ranks may have plans of their own, of any program or as some members make none. */
enum compare { COMPARE_CALLS, COMPARE_STRICT, COMPARE_COLLECTIVES };

/* Lay out the calls on `comm`. */
void progress_comm_init(struct progress_comm *comm, const struct progress *progress,
			const struct members *members, enum compare how);
void progress_comm_release(struct progress_comm *comm);

/* Tells how `rank` differs from the reference. */
struct deviation progress_deviation(const struct progress_comm *comm, int rank);

/* The first call in which any rank differs from the reference, as one of them does. Ranks that
 * differ there so are marked in `same`, ranks that differ there in another way in `other`. Returns
 * that rank, -1: none differs. */
int progress_differs(const struct progress_comm *comm, struct deviation *first,
		     struct rank_set *same, struct rank_set *other);

#define PLAN_MIN  4  /* calls that are alike: ranks follow one plan */
#define PLAN_LONG 12 /* the same where some ranks' numbers are others by right */

/* Sends and receives, compared strictly, tell this of a communicator. */
struct plan {
	bool followed; /* no rank's calls differ from the others' but for some left out or added */
	bool few;      /* and fewer than half of the ranks did that */
};
struct plan progress_plan(const struct progress_comm *comm);

/* Returns true if the sequences themselves, whatever the number of ranks, speak for the rank's call
 * `at` and against the reference's: what came before goes on with it, or the reference lacks it, or
 * has made another one twice. */
bool progress_speaks_for(const struct progress_comm *comm, int rank, uint64_t at);

/* `rank` and `other` (-1: the reference) differ at `at`. How many calls later each has what the
 * other has there, all else alike; 0: they have not. */
uint64_t progress_swapped(const struct progress_comm *comm, int rank, int other, uint64_t at);

/* Signature of rank's call `seq`, 0 when not known. */
uint64_t progress_sig(const struct progress_comm *comm, int rank, uint64_t seq);

/* The record of rank's call `seq`; of a rank that made the reference's. NULL when not known. */
const struct record *progress_call(const struct progress_comm *comm, int rank, uint64_t seq);
const struct record *progress_reference(const struct progress_comm *comm, uint64_t seq);

/* The arguments of a collective, in the order in which differences are reported. */
enum call_field { FIELD_KIND, FIELD_COUNT, FIELD_DTYPE, FIELD_OP, FIELD_ROOT, CALL_FIELDS };

/* Returns true if the two have other values there; calls of other kinds differ in their kind alone.
 */
bool field_differs(enum call_field field, const struct record *a, const struct record *b);
/* The first in which they do, CALL_FIELDS: none. */
enum call_field field_first(const struct record *a, const struct record *b);

/* Writes to *most what more than half of the ranks gave each field of call `seq`: a call that
 * perhaps no rank made. False where a field has no majority. Looks at a record of every rank. */
bool progress_fieldwise(const struct progress_comm *comm, uint64_t seq, struct record *most);

/* Returns true if the rank made the call before `seq` once more, with the same partner. */
bool progress_again(const struct progress_comm *comm, int rank, uint64_t seq);
/* The same of a send or receive of the exchange that call `seq` is of. */
bool progress_again_in_pairs(const struct progress_comm *comm, int rank, uint64_t seq);

/* First number of the stretch of identical reference calls that ends with call `seq`. */
uint64_t progress_run_start(const struct progress_comm *comm, uint64_t seq);

/* The signature of a call as `comm` compares it. */
uint64_t progress_signed(const struct progress_comm *comm, const struct record *record);

/* ---- arrivals.c: the first call that not all members came to ---- */

/* The rank's own number, among all its calls on the communicator, of its call `seq`, or of the one
 * where that would be. */
uint64_t progress_own_number(const struct progress_comm *comm, int rank, uint64_t seq);

/* A rank's number of calls on the communicator that are known to have completed. */
uint64_t progress_completed(const struct progress_comm *comm, int rank);

/* The first call that not all ranks completed, -1 when no rank waits for one. */
int64_t progress_hang_point(const struct progress_comm *comm);

/* Returns true if the rank is alive inside init. How many are. */
bool progress_in_init(const struct progress_comm *comm, int rank);
size_t progress_count_in_init(const struct progress_comm *comm);

/* The first call that not all members made, for progress_missing: the ranks that made fewest calls
 * and are not inside one never come; a rank that waits for a partner may be behind the one that
 * left it alone. Number 0: all made all, or what keeps them is told of another communicator. */
struct awaited progress_first_missing(const struct progress_comm *comm);

/* Returns true if the rank's own account puts it past the calls that the ranks that came are still
 * in. */
bool missing_passed(const struct missing *missing, const struct rank_view *view);

/* ---- pairs.c: sends and receives between two ranks ---- */

/* Returns true if this is a send or a receive; false for NULL. */
static inline bool call_in_pairs(const struct record *record)
{
	return record && call_is_pair(record->kind);
}

/* Returns true if the rank waits for sends or receives that it made, perhaps at a group's end. */
bool progress_in_pairs(const struct progress_comm *comm, int rank);

bool progress_knows_all(const struct progress_comm *comm, int rank);

/* Returns true if it can be told what became of all that the rank waits for. It cannot where
 * calls are no longer known, or ranks are split into groups with numbers of their own. */
bool progress_partners_known(const struct progress_comm *comm, int rank);

/* Sends and receives between two ranks meet in the order in which they are made. The first that the
 * rank waits for and that cannot end: NULL where there is none or too little is known. `theirs`:
 * what its partner made of it, NULL: nothing. */
const struct record *progress_open_pair(const struct progress_comm *comm, int rank,
					const struct record **theirs);

/* Returns true if another rank waits for a part of this one's that it has not made, or made
 * otherwise; or (`extra`) this one for another's. */
bool progress_points_at(const struct progress_comm *comm, int rank, bool extra);
/* Returns true if a rank waits for each of these so. False only where that is certain. */
bool progress_all_awaited(const struct progress_comm *comm, const struct rank_set *ranks);

/* The partner of the rank's call `seq`, if those of most ranks are equally far away, or in bits;
 * -1: they are not. */
int progress_planned_peer(const struct progress_comm *comm, int rank, uint64_t seq, int kind);

/* Returns true if a send and a receive have met that do not fit; *at: the first of them, or 0. */
bool progress_mismatch(const struct progress_comm *comm, const struct link *link, size_t *at);

/* Returns true if nothing is open: all made the same collectives, each send has met a receive. */
bool progress_settled(const struct progress_comm *comm);

/* The amounts of the rank's alltoallv `nth` on the communicator at hand; NULL: they are not kept.
 */
const struct record_counts *progress_counts(const struct progress_comm *comm, int rank,
					    uint64_t nth);
/* The first alltoallv behind the `nth` of which some rank's amounts are kept, 0: there is none. */
uint64_t progress_next_counts(const struct progress_comm *comm, uint64_t nth);

/* Returns true if the rank made call `seq`, and no otherwise than `ours` as far as is known. */
bool progress_made_alike(const struct progress_comm *a, int rank, uint64_t seq,
			 const struct record *ours);

/* Returns true if no more than half of all ranks made call `seq` as the reference has it. */
bool progress_made_by_few(const struct progress_comm *a, uint64_t seq);

/* Returns true if the partner of `own`, an open send or receive of `rank`, came to the end of a
 * group with, as its last call, the other half of the one before `own`, and comes no further: it
 * left its part of `own` out, or that is one too many. */
bool progress_out_of_group(const struct progress_comm *a, int rank, const struct record *own);
