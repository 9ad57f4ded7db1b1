/* finding.h: what a rule found: class, culprits, where timelines parted, and notes. For rules. */
#pragma once

#include "base/rank_list.h"
#include "answer/answer.h"
#include "evidence/evidence.h"
#include "finding/confidence.h"

struct rule_ctx;

struct finding {
	struct answer answer; /* but for outcome, ranks, side, facts about the culprit */
	bool collectives; /* its numbers of calls are ctx->comm's, which counts collectives alone */
	unsigned reasons; /* bits 1u << enum reason: it is less certain than d.confidence */
	struct rank_set culprits;
	int sides[2]; /* 1 + two ranks, either of which may be the one; 0: there are none */
};

/* A blank finding with room for as many culprits. */
void finding_reset(struct finding *finding);
/* A sentence of evidence, if there is room. */
#define note(finding, ...)	   answer_note(&(finding)->answer, __VA_ARGS__)
#define finding_note(finding, ...) note(finding, __VA_ARGS__)
/* Returns true if there is room for as many notes again: half are for what concludes a finding. */
static inline bool finding_has_room(const struct finding *finding)
{
	return finding->answer.nnotes < ANSWER_NOTES / 2;
}

/* Timelines parted at calls low..high of the communicator; the others stand in call `hang` of it (-1: none).
 * And in what: field, the culprits' value, the others'. */
void finding_place(struct finding *finding, uint32_t comm, uint64_t low, uint64_t high,
		   int64_t hang);
void finding_differ(struct finding *finding, const char *field, const char *theirs,
		    const char *majority);

/* No rank is named, and these two are told: what the one made is the culprits' value, what the other made the others'. */
void finding_tie(struct finding *finding, int one, int other);

/* Culprits as "1,3", "-" for none; false when not all of them fit. */
bool culprits_list(const struct evidence *evidence, const struct rank_set *culprits, char *buf,
		   size_t len);

/* A line: how the rank is, what it does, what calls it made; `tail` before the full stop. */
void note_rank(const struct rule_ctx *ctx, struct finding *finding, int rank, const char *tail);

/* The end of a rule: class and confidence, and notes of what the culprits and the others are doing. */
void finding_conclude(const struct rule_ctx *ctx, struct finding *finding, enum answer_class class,
		      enum confidence seen);

/* CLASS_BLOCKED or CLASS_BUSY where the process of a rank without the call shows so, else `idle`. */
enum answer_class host_class(const struct evidence_rank *rank, enum answer_class idle);

/* The class that several culprits share, else `mixed`. `so_far`: CLASS_OUTCOME for none yet. */
enum answer_class shared_class(enum answer_class so_far, enum answer_class one,
			       enum answer_class mixed);

/* The same of all culprits, by host_class; CLASS_OUTCOME where there are none. */
enum answer_class culprits_class(const struct rule_ctx *ctx, const struct rank_set *culprits,
				 enum answer_class idle);
