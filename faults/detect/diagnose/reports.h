/* reports.h: findings that several rules report. Internal to diagnose. */
#pragma once

#include "diagnose/finding.h"
#include "progress/comm.h"

/* differences.c: ranks' calls are other than most ranks'; or no side is larger, and no rank is named. */
bool report_differences(const struct rule_ctx *ctx, struct finding *finding);

/* confidence.c: returns true if the others may be the ones that differ where `first` is, the deviation of `rank`, one of
 * the culprits. `tied`: no side of it is larger. */
bool is_doubtful_deviation(const struct rule_ctx *ctx, const struct rank_set *culprits,
			   const struct deviation *first, int rank, bool tied);
/* Returns true if those that did not make call `seq` may be no culprits. */
bool is_doubtful_missing(const struct rule_ctx *ctx, const struct rank_set *behind, uint64_t seq);
/* The most that missing evidence leaves: `absent` ranks left none. `well`: nothing is wrong in what is known. */
enum confidence confidence_of_run(const struct evidence *evidence, size_t absent, bool well);

/* unequal.c: a send and its receive of other amounts met, or one was left out at the end of a group. */
bool report_unequal(const struct rule_ctx *ctx, struct finding *finding);
/* A line for each rank that waits for a partner. Returns the first call that met one which does not fit, NULL: none. */
const struct record *note_open_pairs(const struct rule_ctx *ctx, struct finding *finding,
				     const struct record **met);
/* A line about one such call and what met it. */
void note_open_pair(const struct rule_ctx *ctx, struct finding *finding, int rank,
		    const struct record *own, const struct record *theirs);
/* Places the finding at two calls that have met, of which `odd` is, or may be, the wrong one. */
void place_mismatch(const struct rule_ctx *ctx, struct finding *finding, const struct record *odd,
		    const struct record *other, bool sure);

/* rule_missing.c: a line for each live rank that is no culprit and did not make a call, as rule_missing
 * has it. After finding_conclude. */
void note_missing_too(const struct rule_ctx *ctx, struct finding *finding);

/* rule_settings.c: returns true if settings differ of which one alone that has another value breaks calls. */
bool settings_break(const struct rule_ctx *ctx);
/* A line of evidence for each difference that can matter, whatever the diagnosis is. */
void note_settings(const struct evidence *evidence, struct diagnosis *diagnosis);
