/* decide_extension.h: more time for a hang, and named at once, suspected, or a hang. Internal to watch; pure. */
#pragma once

#include "decide/decide.h"

/* Returns the end of the time in which a busy host may be the cause of `ranks`' wait; 0: none. */
uint64_t starvation_until(const struct decide_state *state, const struct decide_input *in,
			  const char *ranks);

/* Grants more time where no cause was found for a wait of `waited` seconds (0: one was), or
 * where the host starves the rank until `starved_until_ns` (0: it does not). Returns true if the
 * run goes on until until_ns, false if all has been given. */
bool extension_grant(struct extension *extension, double waited, uint64_t starved_until_ns,
		     uint64_t now);

/* Grants time to the next look where all ranks of the job have come, wait, and hardly ran in all that time. */
bool extension_grant_starved(struct decide_state *state, const struct decide_input *in);

/* Returns true if one of these ranks, where none is named any, made a step lately. Ranks of
 * other hosts count as of their answer to a query. */
bool extension_goes_on(const struct decide_state *state, const struct decide_input *in,
		       const char *ranks);

enum tier {
	TIER_WAIT,   /* what is waited for may come yet */
	TIER_LATE,   /* it may, but never took so long */
	TIER_VERDICT /* no waiting helps, or it took too long */
};

/* The tier of a wait of so many seconds that the diagnoser calls `class`. For the last `still` no
 * rank has made a step. Waits of its kind are late after `late` seconds. */
enum tier tier_of(const struct patience *patience, enum answer_class class, double waited,
		  double still, double late);
