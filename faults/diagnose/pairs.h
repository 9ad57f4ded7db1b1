/* pairs.h: sends and receives, whose signatures leave out kind, partner and size: what the records
 * themselves tell. */
#pragma once

#include "diagnose/rule.h"

#define PAIR_RANKS_MAX 1024 /* ranks of a run that are looked at */

/* Returns true if this is a send or a receive; false for NULL. */
bool call_in_pairs(const struct record *record);

/* Returns true if the rank waits for sends or receives that it made. A group of them returns one
 * by one and waits at its end. */
bool waits_in_pairs(const struct rule_ctx *ctx, int rank);
/* Returns true if all of the culprits do; false for none. */
bool all_wait_in_pairs(const struct rule_ctx *ctx, const struct culprits *culprits);
/* Returns true if there are sends and receives among the calls. */
bool ranks_in_pairs(const struct rule_ctx *ctx);

/* Returns true if it can be told what became of all that the rank waits for. It cannot where
 * calls are no longer known, or ranks are split into groups with numbers of their own. */
bool partners_known(const struct rule_ctx *ctx, int rank);

/* Sends and receives between two ranks meet in the order in which they are made. The first that the
 * rank waits for and that cannot end: NULL where there is none or too little is known. `theirs`: what
 * its partner made of it, NULL: nothing. */
const struct record *open_pair(const struct rule_ctx *ctx, int rank, const struct record **theirs);

/* Returns true if all of the culprits wait for such a partner: then they are none. True also of
 * more ranks than are looked at: to name some of them would be a guess. */
bool pairs_explain(const struct rule_ctx *ctx, const struct culprits *culprits);
/* Returns true if another rank waits for a part of this one's that it has not made, or made
 * otherwise; or (`extra`) this one for another's. */
bool pairs_point_at(const struct rule_ctx *ctx, int rank, bool extra);
/* Returns true if somebody waits for each of the culprits so. False only where that is certain. */
bool culprits_awaited(const struct rule_ctx *ctx, const struct culprits *culprits);
/* A send or receive too few leaves others waiting for it, one too many the rank itself. Returns
 * true if it is the other way round for this deviation of `rank`, in a hang, or if one call is
 * all that it has in common with others. False for other deviations. */
bool pairs_contradict(const struct rule_ctx *ctx, const struct culprits *culprits,
		      const struct deviation *deviation, int rank);

/* The partner of the rank's call `seq`, where most ranks make a send (receive) there to one equally far
 * from them, or with a number as many bits away; -1: they do not. */
int plan_peer(const struct rule_ctx *ctx, int rank, uint64_t seq, int kind);

/* Writes between whom a send or receive of `rank` is, as the verdict says it ("1>2": from 1 to 2). */
void name_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, int kind, int peer);

/* The same of a call `seq` that `rank` left out, as `like` is in its place: by who waits for it, else by
 * most ranks' partners. */
void name_lacking_pair(const struct rule_ctx *ctx, struct finding *finding, int rank, uint64_t seq,
		       const struct record *like);

/* Returns true if there is a send or receive that the partner has no part of, or
 * another amount, or a collective that not all made, in the same order. True also where that
 * cannot be told. Linear in the calls. */
bool pairs_unmet(const struct rule_ctx *ctx);
/* Returns true if all calls of the rank on the communicator are known. */
bool knows_all_calls(const struct rule_ctx *ctx, int rank);
