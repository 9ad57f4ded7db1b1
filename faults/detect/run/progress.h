/* progress.h: how far the ranks of a run have come through the calls of their communicators. Live
 * views and saved evidence fill the input; the questions stand here and in the headers beside this
 * one. */
#pragma once

#include "base/rank_list.h"
#include "run/index.h"
#include "record/view.h"

enum progress_answer {
	PROGRESS_NO,
	PROGRESS_YES,
	PROGRESS_UNKNOWN /* records have left the ring, or a view does not hold the communicator */
};

enum arrivals {
	ARRIVALS_OPEN,	    /* not all ranks are known, or a missing one may yet come */
	ARRIVALS_COMPLETE,  /* all have come to init, with arguments that fit */
	ARRIVALS_MISSING,   /* some did not come to init, though they could */
	ARRIVALS_MISMATCH,  /* all have come to init, some with arguments that do not fit */
	ARRIVALS_ABSENT,    /* some did not come to the first call, though they could */
	ARRIVALS_CALLED,    /* all came to communicator 0's first call, too */
	ARRIVALS_DISMISSED, /* the diagnoser saw no cause in it: deadlines alone count */
};

/* Returns true if some ranks wait for others that never come. */
static inline bool arrivals_never(enum arrivals how)
{
	return how >= ARRIVALS_MISSING && how <= ARRIVALS_ABSENT;
}

/* The state of one rank as far as it is known; everything is borrowed. */
struct progress_rank {
	const struct rank_view *view;	    /* its state, and how many calls it has made */
	const struct record_memory *memory; /* live, of this host: marks and ring; else NULL */
	const struct record *calls;	/* its records, oldest first; NULL: they are not loaded */
	const struct call_times *times; /* of each record; NULL: none */
	size_t ncalls;
	const struct record_header *recorder; /* NULL: not known */
	const struct call_index *index;	      /* of the records; NULL: not loaded */
	const struct record_site *sites;      /* of the calls; nsites entries, 0: none are known */
	size_t nsites;
	bool present; /* anything at all is known */
	bool mapped;  /* a look at a record costs a page of a file */
};

/* Returns true if the rank has records of sends or receives on the communicator. */
static inline bool progress_has_pairs(const struct progress_rank *rank, uint32_t comm)
{
	return rank->index && record_set_has(&rank->index->pairs, comm);
}

/* A communicator's members, or ranks with the same id of init: numbers of the run by number in the
 * communicator. */
struct members {
	uint32_t comm;
	int nranks;
	int *ranks; /* -1: no rank says to be that one. NULL: all of the run, by their own numbers
		     */
};

struct members_list {
	struct members *list; /* owned, like the ranks of each */
	size_t n;
};

enum call_stand {
	CALL_QUEUED, /* behind another one */
	CALL_STARTED,
	CALL_ENDED
};

/* A call that is not known to have completed. */
struct pending_call {
	const struct record *call;
	const struct members *members; /* of its communicator */
	int rank;		       /* of the run */
	uint64_t nth; /* of a collective: from 1; of a send or receive: how many of these */
	int partner;  /* of a send or receive: rank of the run, -1: unknown */
	const struct record *theirs; /* the partner's half; NULL: not made */
	struct pending_call *match;  /* the same, as long as it has not completed there */
	enum call_stand state;
};

struct rank_comm {
	const struct members *members;
	int place;	  /* its number there */
	uint64_t made;	  /* collectives */
	uint64_t started; /* of these, all that have ended included */
};

struct rank_calls {
	bool known; /* else it may have made any call */
	struct pending_call *calls;
	size_t n;
	size_t first, end; /* the first that has not ended; behind the last that has started */
	int streams;	   /* that these are on */
	bool moves;	   /* one has ended since others were started */
	struct rank_comm *comms; /* by communicator */
	size_t ncomms;
};

/* How far the members of a communicator have come together: all have started so many collectives.
 */
struct common_start {
	uint64_t least;
	uint64_t unlike; /* the first whose members' arguments do not fit; UINT64_MAX: not known */
	bool stale;
};

/* How calls are carried out of which nothing is known but their order: none has been seen. */
struct play_rules {
	uint64_t eager; /* bytes up to which what is sent is buffered: the sender goes on */
	int ahead; /* so many calls that are not over a rank makes before the next; -1: any number */
};

struct progress {
	struct progress_rank *ranks; /* owned by the caller */
	int nranks;
	bool blocks; /* calls return when they are over, not when they are enqueued */
	const struct play_rules *rules; /* of a schedule; NULL: of a run that was seen */

	/* derived by progress_play; zero before */
	struct rank_calls *pending;
	struct rank_comm *comms;
	struct pending_call *arena;	    /* the calls of all ranks */
	const struct members_list *members; /* borrowed */
	struct common_start *common;	    /* of each of these */
	size_t npending;
};

/* The model of `n` views, `stride` bytes apart, the first of them here. The caller frees its ranks.
 */
struct progress progress_of(const struct rank_view *first, size_t stride, size_t n);

/* Returns true if the rank waits until its device has done what it enqueued: it is in no host code
 * of its own. */
static inline bool view_awaits_device(const struct rank_view *view)
{
	return view->device_wait == RECORD_DEVICE_AWAITED && view->completed < view->issued;
}

/* ---- members.c ---- */

/* The members of all communicators with calls, as the recorder of each rank says of its init.
 * Halves of a run share a number and have two ids: two entries. A communicator of which no recorder
 * says anything has all ranks. The first entry is always communicator 0 with all ranks. */
void progress_members(const struct progress *progress, struct members_list *members);

/* The groups that ranks form by the id given to communicator 0's init (NCCL_TESTS_SPLIT): none
 * unless they are several, all complete, and no rank died outside of them. */
void progress_groups(const struct progress *progress, struct members_list *groups);
void members_list_release(struct members_list *members);

/* Returns true if any of the members has made a call on their communicator. */
bool members_called(const struct members *members, const struct progress *progress);

/* The number in the run of the member `place`, -1: unknown. */
int members_rank(const struct members *members, int place);

/* The arguments of one rank to the init of a communicator, which is number `comm` to it. */
struct claim {
	uint64_t id;
	int place, nranks, rank;
	uint32_t comm;
	uint32_t number; /* for evidence_number_comms */
};

/* All claims to communicator `comm`, -1: to any; by id and rank. The list is the caller's. */
struct claim *progress_claims(const struct progress *progress, int64_t comm, size_t *n);
/* The end of the claims with the id of claim `first`. */
size_t claims_end(const struct claim *claims, size_t n, size_t first);

/* Ranks in init form groups by id. A group is right if it has as many ranks as each of them
 * announced. Returns how many ranks are in other groups; `views`, of room for all ranks, gets them
 * by id and number, NULL: it does not. */
size_t progress_init_unequal(const struct progress *progress, const struct rank_view **views);

/* ---- play.c: the run, carried out on paper ---- */

/* Plays all pending calls as far as they can have come. A call starts when no other one stands
 * before it: on its stream, where calls return at once; sends and receives in a row start together
 * unless they are known to be no group. A collective ends when all members have started it, a send
 * with its receive, the nth with the nth. By rules (struct play_rules) a collective ends only where
 * kind, amount and root are alike as well, and any number of calls is played. */
void progress_play(struct progress *progress, const struct members_list *members);
/* Forgets what progress_play derived. */
void progress_release(struct progress *progress);
static inline bool progress_played(const struct progress *progress)
{
	return progress->pending != NULL;
}

/* Returns true if the call is over because it has returned: where calls block, and no group starts
 * it later. */
bool progress_over(const struct progress *progress, const struct record *call);

/* Returns how many of its calls a rank has made by the rules, once they were played. */
size_t progress_made(const struct progress *progress, int rank);

/* The first call that the rank waits in, NULL: in none. The next one of those that it waits in at
 * the same time: of another stream, or of a group. */
const struct pending_call *progress_at(const struct progress *progress, int rank);
const struct pending_call *progress_also(const struct progress *progress,
					 const struct pending_call *in);

/* Returns true if the rank's calls are known; else, and with -1, it may have come anywhere. */
static inline bool progress_known(const struct progress *progress, int rank)
{
	return rank >= 0 && progress->pending[rank].known;
}

/* A rank's part in a communicator; NULL: it has none. */
struct rank_comm *progress_part(const struct progress *progress, int rank, uint32_t comm);

/* Returns whether `rank` waits for `other`'s part in a call: of all where played, else of its
 * oldest open one. */
enum progress_answer progress_waits_for(const struct progress *progress, int rank, int other);
/* Returns true if the partner's half has another amount or type: the two never end. */
bool pending_unequal(const struct pending_call *in);
/* Returns true if the call `in` does: then that rank has not started its part. */
bool pending_waits_for(const struct progress *progress, const struct pending_call *in, int rank);

/* A call of another rank's that waits for a part of this one's that it has not made; NULL: there is
 * none. How many sends and receives there are of these, those included that have not started. */
const struct pending_call *progress_owed(const struct progress *progress, int rank);
size_t progress_count_owed(const struct progress *progress, int rank);

/* Returns true if what `in` waits for stands behind `other`, in which the rank that owes it waits.
 */
bool progress_stands_behind(const struct progress *progress, const struct pending_call *in,
			    const struct pending_call *other);

/* The rank's collective `nth` on the communicator: its record, NULL: not made or no longer known.
 */
const struct record *progress_collective(const struct progress *progress, int rank, uint32_t comm,
					 uint64_t nth);

/* Returns true if this rank lives and is in no call, another one waits for its part in one, and it
 * is not known to be at something else. */
bool progress_is_awaited(const struct progress *progress, int rank);

/* The rank's first call, of any communicator, that is not known to be done; NULL: there is none. */
const struct record *progress_first_open(const struct progress_rank *rank);

/* The call in which a rank left what it had always done before, where the counts of what its
 * partners made bear that out. */
struct habit_break {
	enum {
		HABIT_KEPT,
		HABIT_SKIPPED, /* `usual` and what follows it, `shift` calls in all */
		HABIT_EXTRA,   /* `shift` calls, `made` the first of them */
		HABIT_FIELD,   /* the same call with other arguments */
		HABIT_OTHER
	} kind;
	const struct record *made, *usual; /* and the call that came there, so often, each time */
	size_t times, shift;
	bool steady;	  /* it nearly always does what it did */
	bool asked_usual; /* the call that is asked about came where it had always come */
};
struct habit_break progress_habit(const struct progress *progress, int rank,
				  const struct record *asked);

/* Returns true if such a call came, before, after the calls that the rank made last, and is another
 * one than the last. */
bool progress_expects(const struct progress *progress, int rank, const struct record *call);

/* ---- circle.c ---- */

/* Returns true if this rank waits in a call, as do all for which it waits, and so on. */
bool progress_closed(const struct progress *progress, int rank);

/* Returns true if this rank waits for one that does not wait for it, neither itself nor by others: that one, or a circle that it
 * is in, holds this rank. */
bool progress_waits_beyond(const struct progress *progress, int rank);

/* Calls each of which waits for the rank that is in the next one, the last for the first's:
 * of sends and receives alone (`pairs`), or such that the calls in another order have none: on two
 * communicators at least, or with the other half of each send and receive. Begins with the lowest
 * rank. Returns how many, 0: there is no such circle of at most `max`. */
size_t progress_circle(const struct progress *progress, bool pairs,
		       const struct pending_call **circle, size_t max);

/* 1: `v` made `first` before `second`, calls of another rank or their like on its own
 * communicators; -1: the other way round; 0: it made neither, or that is not known. */
int progress_order(const struct progress *progress, int v, const struct pending_call *first,
		   const struct pending_call *second, int rank, bool alike);

/* The communicator with this id in the view; NULL: no member, or not in the view. */
const struct view_comm *progress_member(const struct rank_view *view, uint64_t id);

/* The communicator of the oldest open call; NULL: none is open, or not in the view. */
const struct view_comm *progress_open_comm(const struct rank_view *view);

/* Returns true for a rank that lives and has not called init; not for a surplus one. */
bool progress_lacks_init(const struct rank_view *view);

/* Which ranks of a run of `nranks` have come to init: OPEN to MISMATCH. */
enum arrivals progress_init(const struct progress *progress, int nranks);

/* ---- a call ---- */

struct progress_comm;

/* A rank's coming to a call. */
enum presence {
	PRESENCE_APART, /* it is no member, or its calls are not known */
	PRESENCE_CAME,
	PRESENCE_STOPPED, /* it came, and its process is stopped there */
	PRESENCE_OPEN,	  /* it may yet come */
	PRESENCE_ABSENT	  /* it never does: idle or stopped */
};

/* A call that members of a communicator come to; by its records where `records` are laid out, else
 * by call counts and states. */
struct awaited {
	const struct progress *progress;
	const struct progress_comm *records;
	uint64_t id; /* of the communicator, and its size */
	int nranks;
	uint64_t n; /* its number, with records among all calls; 0: there is none */
	bool pair;  /* a send or receive: only `peer` is awaited, and has come if it made any */
	int peer;
	bool idle; /* with records: ranks in sends or receives of their own may yet come */
};

/* The members that came to it, and those that did not. */
struct missing {
	uint64_t call; /* its number, 0: no rank keeps the others for ever */
	size_t members, came, open;
	/* of the ranks that came, with records */
	uint32_t phase;	     /* the furthest */
	const char *what;    /* place of one whose calls have not completed, NULL: there is none */
	const char *through; /* the same of those whose calls all have */
};

/* The call in which a rank waits, and (comm.h) progress_first_missing: the first that not all
 * members made. */
struct awaited progress_awaited(const struct progress *progress, const struct rank_view *waiting);

/* With records `rank` is the communicator's, else the run's. */
enum presence progress_presence(const struct awaited *call, int rank);

/* Marks the ranks that never come in `absent`, unless that is NULL. YES: some never come, and no
 * other may yet; UNKNOWN: not all members are known. */
enum progress_answer progress_missing(const struct awaited *call, struct rank_set *absent,
				      struct missing *missing);

/* Returns true for a rank in one of its first two calls on a communicator: these have no warm
 * call before them that a deadline could be taken from. */
bool progress_in_first_call(const struct rank_view *view);

/* Arrivals at communicator 0's first call, where all came to init: COMPLETE, ABSENT, CALLED. */
enum arrivals progress_first_call(const struct progress *progress, int nranks);

/* Returns true if the rank waits for ranks that never come: inside of init; with MISMATCH also
 * behind it; with ABSENT in communicator 0's first call. */
bool progress_held_up(const struct rank_view *view, enum arrivals how);

/* Returns true if `in` waits for some ranks, and all of these are marked (by their number in the
 * run). */
bool progress_awaits_only(const struct progress *p, const struct pending_call *in,
			  const bool *marked);
