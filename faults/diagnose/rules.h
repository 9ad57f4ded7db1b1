/* rules.h: the rules by name. rules.c puts them in their order; what each needs stands there. */
#pragma once

#include "diagnose/rule.h"

/* rule_process.c: how a rank's process and its device are. */
rule_fn rule_dead;	    /* ended without saying so */
rule_fn rule_stopped;	    /* by a signal or debugger */
rule_fn rule_device_memory; /* gave up because its device had no memory left */
rule_fn rule_stuck;	    /* its device does not come to a call that was enqueued */
rule_fn rule_inside;	    /* it does not come out of a call that all made */
rule_fn rule_device_fault;  /* a kernel broke its device's context */
rule_fn rule_reported;	    /* no more than the ranks said themselves */

/* rule_hosts.c: nobody can look at some hosts. */
rule_fn rule_lost_hosts;

/* rule_init.c: who did not come to init, who came otherwise, who left. */
rule_fn rule_init_arguments;
rule_fn rule_absent_from_init; /* others are inside it */
rule_fn rule_aborted;	       /* its communicator, by itself */

/* rule_network.c: all called init alike, and one lives in another network. */
rule_fn rule_cut_off;	/* some got an error for it */
rule_fn rule_namespace; /* all wait */

/* rule_deviation.c: ranks' calls are other than most ranks'; or no side is larger, and nobody is named. */
rule_fn rule_died_in_call; /* of a call whose arguments were others than the others' */
rule_fn rule_deviation;
rule_fn rule_replays; /* calls of a graph that others launched more often */
bool find_deviation(const struct rule_ctx *ctx, struct finding *finding);
/* A tie that nothing decides: both sides, no culprit. */
void report_tie(const struct rule_ctx *ctx, struct finding *finding);

/* rule_plan.c: of a strict alignment. */
#define PLAN_MIN 4 /* calls that are alike: ranks follow one plan */
rule_fn rule_plan; /* all follow one plan, and some left a send or receive out or made one too many */
rule_fn rule_split; /* two sides, and nobody can say which is right */
/* What the team at hand, whose alignment is strict, tells of its plan; `plan` is zero before. */
void plan_find(const struct rule_ctx *ctx, struct plan *plan);

/* rule_cycle.c: ranks wait for each other in a circle. */
rule_fn rule_cycle;    /* over several communicators */
rule_fn rule_deadlock; /* in sends alone, or receives alone, which they made outside of groups */

/* rule_missing.c: some made a call that others, not inside one, never did. */
rule_fn rule_missing;
rule_fn rule_missing_at_end; /* and all came to their end */
/* Returns true if all whose call is missing wait for partners that left them alone. Marks them. */
bool missing_explained(const struct rule_ctx *ctx, struct finding *finding);
/* Others than the culprits, alive, who did not make a call, as rule_missing has it: a line each. After
 * finding_conclude. */
void note_missing_too(const struct rule_ctx *ctx, struct finding *finding);

/* rule_pairs.c: sends and receives that cannot end. */
rule_fn rule_pairs;	   /* that have met and do not fit, or are with another partner */
rule_fn rule_counts;	   /* ranks of an alltoallv disagree about an amount */
rule_fn rule_unequal;	   /* the partner made its part with another amount; no culprit */
rule_fn remark_open_pairs; /* the partner has not made its part */

/* rule_settings.c: the ranks made the same calls, and their settings or libraries differ. */
rule_fn rule_settings;
/* A line of evidence for each difference that can matter, whatever the diagnosis is. */
/* Returns true if settings differ of which one alone that has another value breaks calls. */
bool settings_break(const struct rule_ctx *ctx);
void note_settings(const struct evidence *evidence, struct diagnosis *diagnosis);
/* rule_data.c: the ranks made the same calls, and data are wrong. */
rule_fn rule_own_data; /* a send buffer shows whose */
rule_fn rule_data;     /* what was received shows it */

/* rule_outside.c: all calls that were made have ended. */
rule_fn rule_not_come; /* the others wait for it between calls */
rule_fn rule_behind;   /* and a rank does not come to where the others wait for it */
rule_fn remark_nobody_called;
rule_fn rule_unseen;	  /* the others wait in one call, and of it nothing is known */
rule_fn rule_uncalled;	  /* data are wrong of a call that nobody made */
rule_fn rule_unexplained; /* a hang that no other rule explains */
