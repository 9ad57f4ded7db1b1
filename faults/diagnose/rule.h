/* rule.h: what a rule is given and what it returns, and the helpers that every rule uses. Internal to
 * faults/diagnose/.
 *
 * A rule looks at a const context and writes into its finding alone. What it wrote is forgotten where
 * it says no; where it says yes the driver (diagnose.c) makes the diagnosis of it. */
#pragma once

#include "align/align.h"
#include "diagnose/diagnose.h"
#include "waits/waits.h"

/* Sends and receives tell this of a team when they are compared strictly. */
struct plan {
	bool followed; /* no rank's calls differ from the others' but for some left out or added */
	bool few;      /* and fewer than half of the ranks did that */
	bool split;    /* two sides as large as each other differ */
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
	const struct waits *waits; /* of a hang that is not of one communicator's collectives alone;
	                            * else NULL */
	const struct team *team; /* at hand; this and the next ones are NULL in a row for the run */
	const struct plan *plan; /* its; nothing unless in_pairs */
	const struct align *align;
};

/* Ranks that a rule names as culprits. */
struct culprits {
	bool *in; /* nranks marks; owned by whoever made it */
	int nranks;
	size_t n;
};

struct finding {
	enum diagnosis_class class;
	const char *confidence;
	struct culprits culprits;
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
	const char *name;
	unsigned outcomes; /* bits of rule_outcomes */
	enum rule_comms comms;
	unsigned flags;
	rule_fn *f;
};

/* rules.c: all rules, in the order in which they are asked. */
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

void mark_culprit(struct culprits *culprits, int rank);
void clear_culprits(struct culprits *culprits);

/* Culprits as "1,3", "-" for none; false when not all of them fit. */
bool culprits_list(const struct evidence *evidence, const struct culprits *culprits, char *buf,
		   size_t len);

/* A line: how the rank is, what it does, what calls it made; `tail` before the full stop. */
void note_rank(const struct rule_ctx *ctx, struct finding *finding, int rank, const char *tail);

/* The end of a rule: class and confidence, and notes of what the culprits and the others are doing. */
void finding_conclude(const struct rule_ctx *ctx, struct finding *finding,
		      enum diagnosis_class class, const char *confidence);

/* ---- host.c: what the host's evidence shows of a rank's process ---- */

/* CLASS_BLOCKED or CLASS_BUSY where it shows so a rank whose call is missing, else `idle`. */
enum diagnosis_class host_class(const struct evidence_rank *rank, enum diagnosis_class idle);

/* Of several culprits: the class that they share, else `mixed`. `so_far`: CLASS_OUTCOME for none yet. */
enum diagnosis_class shared_class(enum diagnosis_class so_far, enum diagnosis_class one,
				  enum diagnosis_class mixed);

/* CLASS_STOPPED, CLASS_FROZEN or CLASS_TRACED of a process that does not run, else CLASS_OUTCOME. */
enum diagnosis_class held_class(const struct evidence_rank *rank);

/* ---- meaning.c: what each class means, from meanings.txt ---- */

/* Fill in cause, fix, prevention and side of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);
