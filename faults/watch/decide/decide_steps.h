/* decide_steps.h: how the ranks of this host get on, and which are overdue. Internal to watch; pure. */
#pragma once

#include "decide/decide.h"

/* Takes in one look at all ranks: steps, and what the host lets them run. Nothing was looked at
 * since `paused_from`. Says of the views what those who decide from views alone need. Returns
 * whether the host keeps some rank from running. */
bool steps_look(struct decide_state *state, const struct decide_input *in, uint64_t paused_from);

/* Returns true if it made a step within the last half second. */
bool steps_lately(const struct rank_state *rank, uint64_t now);

/* Seconds in which no rank of this host made a step. */
double steps_still(const struct decide_state *state, const struct decide_input *in);

/* Returns true if no rank of this host did within the last half second. */
bool steps_quiet(const struct decide_state *state, const struct decide_input *in);

/* Returns true if, since some rank waits, this one has not yet had 0.4 s for itself, in which it
 * ran or did not want to, or none of the last window: then the host may be what keeps it. True
 * also before anything is known. */
bool steps_descheduled(const struct rank_state *rank);

/* Returns true if, in the last five to ten seconds, it wanted to run and did so for less than a 25th of the time. */
bool steps_hardly_ran(const struct rank_state *rank);

/* Returns true if it was starved, by two readings of its account: nanoseconds run and queued in
 * a window; `ready`: it wants to run at its end. */
bool steps_starved(uint64_t ran_ns, uint64_t queued_ns, uint64_t window_ns, bool ready);

/* The one place where `overdue` is said of a view. `starved`: the host keeps a rank waiting. */
void overdue_mark(struct decide_state *state, const struct decide_input *in, bool starved);
