/* decide_hosts.h: which hosts are heard of, and what silence comes to. Internal to watch; pure. */
#pragma once

#include "decide/decide.h"

/* Says of each host, and of this host's views, what is lost of what watches them. */
void hosts_look(struct decide_state *state, const struct decide_input *in);

/* Says the same of a view of host number `host` of the input. */
void hosts_say(const struct decide_state *state, const struct decide_input *in, size_t host,
	       struct rank_view *view);

/* Returns true if a watcher of this host is lost. */
bool hosts_lost_here(const struct decide_state *state);
enum view_lost hosts_worst(const struct decide_state *state);

/* Returns true if hosts of the job have not been heard of at all, and have time for that left. */
bool hosts_absent(const struct decide_state *state, const struct decide_input *in);

/* Where hosts are lost, makes the verdict about them and about no rank. */
void hosts_verdict(const struct decide_state *state, const struct decide_input *in,
		   struct answer *verdict);

/* A hang of which no rank is named, while a watcher of this host is held, is put down to that. Returns true if so. */
bool hosts_blame_held(struct decide_state *state, const struct decide_input *in,
		      struct answer *verdict);
