/* confidence.h: reasons why a finding is less certain than what its rule saw. For rules. */
#pragma once

#include "run/comm.h"
#include "answer/classes.h"

struct evidence;
struct rule_ctx;

/* Each reason, and the most that a finding is for which it holds. */
/* clang-format off */
#define REASONS(row) \
	row(REASON_NO_MAJORITY, INCONCLUSIVE) /* as many ranks, or none, speak for each side */ \
	row(REASON_ORDER_SPEAKS, INCONCLUSIVE) /* more ranks made the one, the sequences speak for the other */ \
	row(REASON_FEW_MADE, INCONCLUSIVE) /* the call that most made was not made by half of all ranks */ \
	row(REASON_UNCLEAR, INCONCLUSIVE) /* calls differ in no known way */ \
	row(REASON_OWN_PLANS, INCONCLUSIVE) /* ranks may have other sends and receives by right */ \
	row(REASON_PAIRS_OPPOSE, INCONCLUSIVE) /* the ranks that wait for a partner are others */ \
	row(REASON_NOT_AWAITED, INCONCLUSIVE) /* no rank waits for what is missing */ \
	row(REASON_SURPLUS, INCONCLUSIVE) /* the ranks that made the call may have made one too many */ \
	row(REASON_FIRST_CALL, INCONCLUSIVE) /* nothing shows that a first call is not made twice */ \
	row(REASON_LAST_CALL, MAJORITY) /* one call left out at the end, or all from there on */ \
	row(REASON_OWN_PAIRS, MAJORITY) /* the culprits' own sends or receives are pending */ \
	row(REASON_PARTNERS_UNKNOWN, INCONCLUSIVE) /* the same, and what became of them is not known */ \
	row(REASON_MIXED, MAJORITY) /* the culprits do different things */ \
	row(REASON_OTHER_IDLE, INCONCLUSIVE) /* another rank is in no call, and others wait for it */ \
	row(REASON_OTHER_CAUSE, INCONCLUSIVE) /* what another rank did would leave the same evidence */ \
	row(REASON_SAME_LINE, INCONCLUSIVE) /* a culprit is in the framework's call that others wait in */ \
	row(REASON_UNDATED, INCONCLUSIVE) /* a culprit's record may end before what it did next */ \
	row(REASON_UNTOLD, MAJORITY) /* NCCL may not have told of a call that a culprit is in, or has made */ \
	row(REASON_UNTOLD_TOGETHER, INCONCLUSIVE) /* the same of several, and of half of the ranks or more */ \
	row(REASON_SOME_UNKNOWN, MAJORITY) /* something of fewer than half of the ranks is not known */ \
	row(REASON_MOST_UNKNOWN, INCONCLUSIVE) /* the same of half of the ranks or more */
/* clang-format on */

#define REASON_ENTRY(name, most) name,
enum reason { REASONS(REASON_ENTRY) REASON_COUNT };

static inline unsigned reason_if(bool holds, enum reason reason)
{
	return holds ? 1u << reason : 0;
}

/* Lowers what a rule saw by the reasons: bits 1u << enum reason. */
enum confidence confidence_of(enum confidence seen, unsigned reasons);

/* Reasons against `first`, the deviation of `rank`, one of the culprits. `tied`: no side of it
 * is larger. */
unsigned reasons_of_deviation(const struct rule_ctx *ctx, const struct rank_set *culprits,
			      const struct deviation *first, int rank, bool tied);

/* The same against a culprit that stands where another rank does: at one line of Python, in a
 * framework's communication. Such a rank has come, as far as its program goes: it may wait for
 * the set-up of the call. */
unsigned reasons_of_place(const struct rule_ctx *ctx, const struct rank_set *culprits);

/* Reasons against those being culprits that did not make call `seq`. */
unsigned reasons_of_missing(const struct rule_ctx *ctx, const struct rank_set *behind,
			    uint64_t seq);

/* Reasons that lie in missing evidence: `absent` ranks left none. `well`: nothing is wrong in
 * what is known. */
unsigned reasons_of_run(const struct evidence *evidence, size_t absent, bool well);
