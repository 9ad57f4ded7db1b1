/* rule.h: what a rule is given and what it returns, the table of rules, and the helpers that they use.
 * Internal to diagnose.
 *
 * A rule looks at a const context and writes into its finding alone. What it wrote is forgotten where
 * it says no; where it says yes the driver (diagnose.c) makes the diagnosis of it. */
#pragma once

#include "diagnose/diagnose.h"
#include "progress/comm.h"

/* Sends and receives tell this of a team when they are compared strictly. */
struct plan {
	bool followed; /* no rank's calls differ from the others' but for some left out or added */
	bool few;      /* and fewer than half of the ranks did that */
};

struct rule_ctx {
	const struct evidence *run; /* all of it */
	/* of the team at hand, whose ranks are numbered within it; in a row for the whole run that
	 * of the run */
	const struct evidence *evidence;
	enum outcome outcome; /* what the run came to, by how its ranks are */
	bool in_pairs;	      /* sends and receives are among what ranks wait for */
	bool settled; /* all came to their end, and what was sent was received: more calls of one rank are
	               * its right */
	const struct progress *progress; /* the model of the run */
	const struct progress
		*played; /* the same, where it was played: not where all calls are collectives of
	                                * one communicator; else NULL */
	const struct members
		*members;	 /* at hand; this and the next ones are NULL in a row for the run */
	const struct plan *plan; /* its; nothing unless in_pairs */
	const struct progress_comm *comm;
};

struct finding {
	enum diagnosis_class class;
	const char *confidence;
	struct rank_set culprits;
	int64_t comm, seq_low, seq_high, hang_seq; /* as in struct diagnosis; -1: none */
	char field[48], theirs[64], majority[64];
	char hosts[256], pair[136]; /* as in struct diagnosis */
	char notes[DIAGNOSIS_LINES][256];
	size_t nnotes;
};

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
	RULE_JOINS = 4,	   /* who is guilty of the same on further communicators is named, too */
	RULE_REMARK = 8 /* never the answer: its notes are taken over, and the next row is asked */
};

struct rule {
	rule_fn *f;
	unsigned outcomes; /* bits of rule_outcomes */
	enum rule_comms comms;
	unsigned flags;
};

/* All rules, in the order in which they are asked. Why it is this one: README.md. */
/* clang-format off */
#define RULES(row) \
	row(rule_lost_hosts, ON_HANG | ON_DIED, COMMS_NONE, 0) /* nobody can look at some hosts */ \
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
	row(rule_plan, ON_ANY, COMMS_EACH, RULE_STRICT | RULE_DIVERGED) /* all but few follow */ \
	row(rule_deviation, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* from most ranks' calls */ \
	row(rule_counts, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* of an alltoallv disagree */ \
	row(rule_pairs, ON_ANY, COMMS_EACH, RULE_STRICT | RULE_DIVERGED) /* met, do not fit */ \
	row(rule_replays, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* fewer, of a graph */ \
	row(rule_deadlock, ON_HANG, COMMS_NONE, 0) /* all send, or receive, first */ \
	row(rule_cycle, ON_HANG, COMMS_NONE, 0) /* over several communicators */ \
	row(rule_inside, ON_HANG, COMMS_EACH, 0) /* a call that all made */ \
	row(rule_missing, ON_HANG, COMMS_EACH, RULE_JOINS) /* a call that others made */ \
	row(rule_unequal, ON_ERROR, COMMS_EACH, 0) /* partners' amounts; no culprit */ \
	row(rule_missing_at_end, ON_ANY, COMMS_EACH, RULE_DIVERGED) /* and all ended */ \
	row(rule_behind, ON_HANG, COMMS_FIRST, 0) /* where others wait, between calls */ \
	row(rule_not_come, ON_HANG, COMMS_FIRST, 0) /* there, before all calls */ \
	row(remark_open_pairs, ON_HANG | ON_ERROR, COMMS_EACH, RULE_REMARK) /* no part made */ \
	row(remark_nobody_called, ON_HANG, COMMS_FIRST, RULE_REMARK) \
	row(rule_unseen, ON_HANG, COMMS_EACH, 0) /* of whom nothing is known */ \
	row(rule_own_data, ON_OTHER, COMMS_EACH, 0) /* a send buffer shows whose */ \
	row(rule_settings, ON_HANG | ON_ERROR | ON_OTHER, COMMS_EACH, 0) /* or libraries differ */ \
	row(rule_uncalled, ON_OTHER, COMMS_FIRST, 0) /* wrong data of no call */ \
	row(rule_data, ON_OTHER, COMMS_EACH, 0) /* what was received shows it */ \
	row(rule_unexplained, ON_HANG, COMMS_FIRST, 0) /* that no other row explains */ \
	row(rule_reported, ON_ERROR | ON_DIED | ON_OTHER, COMMS_NONE, 0) /* by the ranks */
/* clang-format on */

#define RULE_DECLARE(name, ...) rule_fn name;
RULES(RULE_DECLARE)
extern const struct rule rules[];
extern const size_t rules_count;

/* diagnose.c: the driver. Asks the rows of a table in order until one that is no remark says yes. */
void rules_walk(const struct rule *table, size_t n, const struct evidence *evidence,
		struct diagnosis *diagnosis);

/* ---- finding.c: the finding, and lines in it ---- */

void finding_reset(struct finding *finding);
/* A sentence of evidence, if there is room. */
void finding_note(struct finding *finding, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns true if there is room for as many notes again. Half of them are left to what concludes
 * a finding. */
bool finding_has_room(const struct finding *finding);

/* Timelines parted at calls low..high of the communicator; the others stand in call `hang` of it (-1: none).
 * And in what: field, the culprits' value, the others'. */
void finding_place(struct finding *finding, uint32_t comm, uint64_t low, uint64_t high,
		   int64_t hang);
void finding_differ(struct finding *finding, const char *field, const char *theirs,
		    const char *majority);

/* Culprits as "1,3", "-" for none; false when not all of them fit. */
bool culprits_list(const struct evidence *evidence, const struct rank_set *culprits, char *buf,
		   size_t len);

/* A line: how the rank is, what it does, what calls it made; `tail` before the full stop. */
void note_rank(const struct rule_ctx *ctx, struct finding *finding, int rank, const char *tail);

/* The end of a rule: class and confidence, and notes of what the culprits and the others are doing. */
void finding_conclude(const struct rule_ctx *ctx, struct finding *finding,
		      enum diagnosis_class class, const char *confidence);

/* CLASS_BLOCKED or CLASS_BUSY where it shows so a rank whose call is missing, else `idle`. */
enum diagnosis_class host_class(const struct evidence_rank *rank, enum diagnosis_class idle);

/* Of several culprits: the class that they share, else `mixed`. `so_far`: CLASS_OUTCOME for none yet. */
enum diagnosis_class shared_class(enum diagnosis_class so_far, enum diagnosis_class one,
				  enum diagnosis_class mixed);

/* The same of all that are marked: by host_class, CLASS_OUTCOME for nobody. */
enum diagnosis_class culprits_class(const struct rule_ctx *ctx, const struct rank_set *culprits,
				    enum diagnosis_class idle);

/* ---- meaning.c: what each class means, from meanings.txt ---- */

/* Fill in cause, fix, prevention and side of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);

/* ---- words.c: ranks and calls in words ---- */

/* A rank's number for people: in the run, where the evidence is of a group. */
int rank_number(const struct evidence *evidence, int rank);

/* Marked ranks, NULL: all, with these numbers, as rank_list_words has them. Returns buf. */
const char *ranks_words(const struct evidence *evidence, const bool *in, char *buf, size_t len);

/* A call in words, its root or partner as people number it, "no call" for NULL. Returns buf. */
const char *call_words(const struct evidence *evidence, const struct record *record, char *buf,
		       size_t len);

/* The value of one field of a call. Returns buf. */
const char *field_words(const struct evidence *evidence, enum call_field field,
			const struct record *record, char *buf, size_t len);

/* ---- place.c: where timelines parted ---- */

/* Writes what all have in common, in words, that are no culprits and made call `seq` as the
 * reference has it; *n: how many they are. Ranks that made another one in its place are not
 * among them. Of sends and receives partner, amount and direction may be each rank's own.
 * Returns buf. */
const char *common_call(const struct rule_ctx *ctx, const struct rank_set *culprits, uint64_t seq,
			size_t *n, char *buf, size_t len);

/* Init stands before call 1. `hangs`: others are inside it. */
void place_init(struct finding *finding, bool hangs);

/* Returns true if init itself is missing of a culprit, while others are inside it; then that is
 * the place. */
bool place_missing_init(const struct rule_ctx *ctx, struct finding *finding);

/* Where the calls of culprits themselves end, whatever the others did. */
void place_own(const struct rule_ctx *ctx, struct finding *finding);

/* The call that culprits did not make though others did; init, where that is missing. */
void place_missing(const struct rule_ctx *ctx, struct finding *finding);

#define PAIR_RANKS_MAX 1024 /* ranks of a run whose pairs are looked at */

/* Writes between whom a send or receive of `rank` is, as the verdict says it ("1>2": from 1 to 2). */
void name_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, int kind, int peer);

/* The same of a call `seq` that `rank` left out, as `like` is in its place: by who waits for it, else by
 * most ranks' partners. */
void name_lacking_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, uint64_t seq,
		       const struct record *like);

/* ---- What rules share with each other and with the driver ---- */

/* rule_deviation.c: ranks' calls are other than most ranks'; or no side is larger, and nobody is named. */
bool find_deviation(const struct rule_ctx *ctx, struct finding *finding);

/* rule_plan.c: what the team at hand, whose alignment is strict, tells of its plan; `plan` is zero before. */
#define PLAN_MIN  4  /* calls that are alike: ranks follow one plan */
#define PLAN_LONG 12 /* and where some ranks' numbers are others by right */
void plan_find(const struct rule_ctx *ctx, struct plan *plan);

/* rule_missing.c: others than the culprits, alive, who did not make a call, as rule_missing has it: a line
 * each. After finding_conclude. */
void note_missing_too(const struct rule_ctx *ctx, struct finding *finding);

/* rule_settings.c: returns true if settings differ of which one alone that has another value breaks calls. */
bool settings_break(const struct rule_ctx *ctx);
/* A line of evidence for each difference that can matter, whatever the diagnosis is. */
void note_settings(const struct evidence *evidence, struct diagnosis *diagnosis);
