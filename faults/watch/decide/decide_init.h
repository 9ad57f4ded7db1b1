/* decide_init.h: communicator init, and first calls. Internal to watch; pure. */
#pragma once

#include "decide/decide.h"

/* Tells how the ranks of this host are held up at init, if some never come there: OPEN or
 * COMPLETE if they are not. Several hosts: whether a census is due. */
enum arrivals init_look(struct decide_state *state, const struct decide_input *in);

/* Returns true if it waits in the first call on a communicator, all of whose ranks are on this
 * host, for one that will not come to it. */
bool init_abandoned(const struct decide_state *state, const struct decide_input *in,
		    const struct rank_state *rank);

/* Root, while nothing is wrong: CENSUS or ARRIVALS when it is time. */
struct decision init_lead(struct decide_state *state, const struct decide_input *in);

/* Leader elsewhere: what the root says of it. */
void init_follow(struct decide_state *state, const struct decide_orders *orders);

/* The diagnoser saw no cause in arrivals. Returns whether a rank was overdue for that. */
bool init_dismiss(struct decide_state *state, const struct decide_input *in);
