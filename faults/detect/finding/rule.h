/* rule.h: a rule's input, its result, and the table of rules. For rules and their driver.
 *
 * A rule reads a const context and writes into its finding alone. The driver (diagnose.c) forgets the finding of a
 * rule that says no, and makes the diagnosis of the finding of a rule that says yes. */
#pragma once

#include "finding/reports.h"
#include "evidence/words.h"

struct rule_ctx {
	const struct evidence *run; /* all of it */
	/* of the members at hand, numbered within it; in a row for the whole run that of the run */
	const struct evidence *evidence;
	enum outcome outcome;		 /* of the run, by the state of its ranks */
	bool in_pairs;			 /* sends and receives are among what ranks wait for */
	bool settled;			 /* all came to their end, all that was sent arrived */
	const struct progress *progress; /* the model of the run */
	const struct progress
		*played; /* the same, where it was played: not where all calls are collectives of
	                                * one communicator; else NULL */
	const struct members
		*members;	 /* at hand; this and the next are NULL in a row for the run */
	const struct plan *plan; /* its; nothing unless in_pairs */
	const struct progress_comm *comm;
};

static inline const struct rank_view *view_of(const struct rule_ctx *ctx, int rank)
{
	return &ctx->evidence->ranks[rank].view;
}

/* "call", or "collective" where these alone are counted. */
static inline const char *call_noun(const struct rule_ctx *ctx)
{
	return ctx->comm->collectives ? "collective" : "call";
}

/* Returns whether it has found something. */
typedef bool rule_fn(const struct rule_ctx *ctx, struct finding *finding);

/* Outcomes of a run, by which a row is asked or passed over. */
enum rule_outcomes {
	ON_HANG = 1,
	ON_ERROR = 2,
	ON_DIED = 4,
	ON_OTHER = 8, /* it ended: well, with wrong data... */
	ON_ANY = 15
};

enum rule_comms {
	COMMS_EACH = 1, /* one after the other, all that have calls, with the ranks of each */
	COMMS_FIRST,	/* the first of these alone that is of all ranks */
	COMMS_INIT,	/* communicator 0, which init makes */
	COMMS_NONE	/* once for the run, without a look at calls */
};

enum rule_flags {
	RULE_STRICT = 1,   /* sends and receives told apart; only where ctx->in_pairs */
	RULE_DIVERGED = 2, /* what it finds makes the outcome diverged at least */
	RULE_JOINS = 4,	   /* culprits of the same on further communicators are named, too */
	RULE_REMARK = 8 /* never the answer: its notes are taken over, and the next row is asked */
};

struct rule {
	rule_fn *f;
	unsigned outcomes; /* bits of rule_outcomes */
	enum rule_comms comms;
	unsigned flags;
};

/* All rules, in the order in which they are asked. Why it is this one: README.md.
 *
 * Rows that look alike stay apart where other rows have to be asked between them, or where they ask other evidence. Left alone
 * as a case of missing names ranks absent from init that made a call too many. Awaited is left open with nothing against it.
 * Behind is about ranks that made calls, not come about ranks without. Lines, sequences, habits and amounts are four searches of
 * the model. */
/* clang-format off */
#define RULES(row) \
	row(rule_lost_hosts, ON_HANG | ON_DIED, COMMS_NONE, 0) /* some hosts cannot be looked at */ \
	row(rule_init_arguments, ON_ANY, COMMS_INIT, RULE_DIVERGED) /* of a communicator */ \
	row(rule_died_in_call, ON_DIED, COMMS_EACH, 0) /* with arguments of its own */ \
	row(rule_dead, ON_DIED, COMMS_FIRST, 0) /* ended without saying so */ \
	row(rule_stopped, ON_HANG, COMMS_FIRST, 0) /* by a signal or debugger */ \
	row(rule_device_memory, ON_ERROR, COMMS_FIRST, 0) /* none was left: it gave up */ \
	row(rule_device_fault, ON_ERROR, COMMS_FIRST, 0) /* a kernel broke its context */ \
	row(rule_unanswered, ON_HANG, COMMS_NONE, 0) /* another host's kernel is silent */ \
	row(rule_absent_from_init, ON_HANG | ON_ERROR, COMMS_INIT, 0) /* others are in it */ \
	row(rule_cut_off, ON_HANG | ON_ERROR, COMMS_INIT, 0) /* some got an error for it */ \
	row(rule_namespace, ON_HANG | ON_ERROR, COMMS_INIT, 0) /* cut off, all wait */ \
	row(rule_aborted, ON_HANG | ON_ERROR, COMMS_INIT, 0) /* its communicator, by itself */ \
	row(rule_stuck, ON_HANG, COMMS_EACH, 0) /* ahead of a call on its device */ \
	row(rule_sites, ON_HANG | ON_ERROR, COMMS_EACH, RULE_DIVERGED) /* calls alike, lines not */ \
	row(rule_plan, ON_ANY, COMMS_EACH, RULE_STRICT | RULE_DIVERGED) /* all but few follow */ \
	row(rule_deviation, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* from most ranks' calls */ \
	row(rule_counts, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* of an alltoallv disagree */ \
	row(rule_habit, ON_HANG, COMMS_EACH, RULE_DIVERGED) /* its own, one rank's alone */ \
	row(rule_pairs, ON_ANY, COMMS_EACH, RULE_STRICT | RULE_DIVERGED) /* met, do not fit */ \
	row(rule_replays, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* fewer, of a graph */ \
	row(rule_awaited, ON_HANG, COMMS_EACH, 0) /* in no call, by a partner */ \
	row(rule_circle, ON_HANG, COMMS_NONE, 0) /* all send first, or over communicators */ \
	row(rule_left_alone, ON_HANG, COMMS_EACH, 0) /* in a call on what others gave up */ \
	row(rule_absent_from_group, ON_HANG, COMMS_FIRST, 0) /* others are in a later init */ \
	row(rule_inside, ON_HANG, COMMS_EACH, 0) /* a call that all made */ \
	row(rule_missing, ON_HANG, COMMS_EACH, RULE_JOINS) /* a call that others made */ \
	row(report_group_end, ON_ERROR, COMMS_EACH, 0) /* lacks a send or receive */ \
	row(rule_missing_at_end, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* and all ended */ \
	row(rule_behind, ON_HANG, COMMS_FIRST, 0) /* where others wait, between calls */ \
	row(rule_not_come, ON_HANG, COMMS_FIRST, 0) /* there, before all calls */ \
	row(rule_other_wait, ON_HANG, COMMS_FIRST, 0) /* none is in a call, in unlike places */ \
	row(rule_lagging, ON_HANG, COMMS_EACH, 0) /* in a call that is over on the others */ \
	row(rule_left_open, ON_HANG, COMMS_EACH, 0) /* that others wait for, or may wrongly */ \
	row(remark_open_pairs, ON_HANG | ON_ERROR, COMMS_EACH, RULE_REMARK) /* no part made */ \
	row(remark_no_calls, ON_HANG, COMMS_FIRST, RULE_REMARK) \
	row(rule_unseen, ON_HANG, COMMS_EACH, 0) /* no evidence of some ranks */ \
	row(rule_own_data, ON_OTHER, COMMS_EACH, 0) /* a wrong send buffer */ \
	row(rule_settings, ON_HANG | ON_ERROR | ON_OTHER, COMMS_EACH, 0) /* or libraries differ */ \
	row(rule_uncalled, ON_OTHER, COMMS_FIRST, 0) /* wrong data of no call */ \
	row(rule_data, ON_OTHER, COMMS_EACH, 0) /* wrong received data */ \
	row(rule_open_pairs, ON_HANG, COMMS_EACH, 0) /* among ranks that wait in a circle */ \
	row(rule_unexplained, ON_HANG, COMMS_FIRST, 0) /* that no other row explains */ \
	row(rule_reported, ON_ERROR | ON_DIED | ON_OTHER, COMMS_NONE, 0) /* by the ranks */
/* clang-format on */

#define RULE_DECLARE(name, ...) rule_fn name;
RULES(RULE_DECLARE)
extern const struct rule rules[];
extern const size_t rules_count;
