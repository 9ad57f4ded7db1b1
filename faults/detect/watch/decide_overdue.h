/* decide_overdue.h: which ranks are overdue. Internal to watch; pure. */
#pragma once

#include "watch/decide.h"

/* The one place where `overdue` is said of a view. `starved`: the host keeps some rank from
 * running. */
void overdue_mark(struct decide_state *state, const struct decide_input *in, bool starved);

/* Returns true if a rank here is past a deadline, and none has moved, ever since `since`; a busy
 * host may have given it more time for a moment. */
bool overdue_ever_since(const struct decide_state *state, uint64_t since);
