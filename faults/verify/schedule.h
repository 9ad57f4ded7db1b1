/* schedule.h: the calls that the ranks of a program make, of which none has been carried out: what a text, dumps, logs or
 * evidence say of them, in one form. */
#pragma once

#include "base/call_value.h"
#include "evidence/evidence.h"

/* A call of a rank. */
struct step {
	uint64_t count;
	int32_t peer;	      /* root or partner: its place in the group; -1: none */
	uint16_t group, site; /* entries of the schedule; site 0: not known */
	uint8_t kind, dtype;
	int8_t op;
	uint8_t stream; /* where each call has one */
	uint8_t flags;	/* RECORD_ALONE: of no group of calls; RECORD_HEADS: such a group begins */
};

struct schedule_rank {
	struct step *steps; /* owned */
	size_t n;
	bool known;
	uint32_t undated; /* struct record_header: these may not be all */
};

/* Ranks that share a communicator, by their places. */
struct schedule_group {
	char name[48];
	int *ranks; /* owned */
	int n;
};

/* The streams that a rank's calls are on. */
enum schedule_streams {
	STREAMS_GIVEN, /* as each call says */
	STREAMS_ONE,   /* one for all */
	STREAMS_EACH   /* one a group */
};

struct schedule {
	int nranks;
	struct schedule_rank *ranks;   /* owned */
	struct schedule_group *groups; /* owned */
	size_t ngroups;
	char **sites; /* lines of code; owned, entry 0 is NULL */
	size_t nsites;
	int ahead;		       /* struct play_rules */
	enum schedule_streams streams; /* unless others are asked for */
	char remarks[1024];	       /* sentences */
};

enum {
	SCHEDULE_RANKS = 1 << 18,
	SCHEDULE_GROUPS = 1 << 15,
	SCHEDULE_SITES = UINT16_MAX,
};

void schedule_init(struct schedule *schedule, int nranks);
void schedule_release(struct schedule *schedule);

/* Adds a group of these ranks and returns its number; `ranks` is the schedule's from now on. */
size_t schedule_add_group(struct schedule *schedule, const char *name, int *ranks, int n);
struct step *schedule_add_step(struct schedule *schedule, int rank, struct step step);
/* The entry of a line of code, added where it is new; 0: "", or there is no room. */
uint16_t schedule_site(struct schedule *schedule, const char *text);

/* The place of a rank in a group, -1: it is no member. */
int schedule_place(const struct schedule_group *group, int rank);

size_t schedule_calls(const struct schedule *schedule);

/* The first rank of which nothing is known; -1: there is none. */
int schedule_unknown(const struct schedule *schedule);

/* Gives ranks of which nothing is known the calls of a peer: a rank that makes collectives alone, and all on groups
 * of which the unknown one is a member too. Returns how many ranks still lack calls. */
int schedule_assume(struct schedule *schedule);

/* ---- schedule_text.c: the form that a person writes ---- */

/* Reads a text. Lines, words between blanks; `#` begins a comment:
 *
 *   ranks 4
 *   stream group                 (or one: all calls of a rank are on one stream) [group]
 *   ahead -1                     a rank makes a call while so many of its calls are not over [-1: any number]
 *   group tp0 0,1                a communicator: its ranks, in the order of their numbers in it
 *   rank 0-2 CALL...             calls of each of these ranks, behind those of earlier lines
 *
 * CALL is KIND[/GROUP[/COUNT[/PEER[/TYPE[/OP]]]]][@LINE]: all_reduce, all_gather, reduce_scatter, broadcast, reduce,
 * alltoall, alltoallv, gather, scatter, send, recv. PEER is a root or partner by its place in the group. An empty part or
 * "-" stands for what is left out: the group of all ranks, 1 element, root 0, float, sum. "(" and ")" begin and end a group
 * of calls that start together. `truth` begins a line for tests. A rank without a line has no known calls.
 * 0, or -EINVAL with the error set: "FILE:LINE: ...", OUTCOME_USAGE. */
int schedule_read(struct schedule *schedule, const char *path, struct error *err);

/* "all_reduce" ... "recv": the words of that form. */
const char *schedule_kind_name(enum call_kind kind);

/* Writes it so that schedule_read reads the same. */
void schedule_print(FILE *out, const struct schedule *schedule);

/* ---- schedule_taken.c: from and to evidence ---- */

/* Takes the calls that evidence holds of a run, whatever became of them. Calls that not all members of a communicator still
 * have in their windows are left out. 0, or -EINVAL with the error set, OUTCOME_UNSUPPORTED: why they make no schedule. */
int schedule_take(struct schedule *schedule, const struct evidence *evidence, struct error *err);

/* Makes the evidence of a run that stands in front of its first call, and of whose calls all are to be carried out. */
int schedule_evidence(const struct schedule *schedule, enum schedule_streams streams,
		      struct evidence *evidence, struct error *err);
