/* decide_parts.h: what the parts of decide() have of each other. Internal to watch; all of it pure. */
#pragma once

#include "watch/decide.h"

static inline double ns_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

/* The model of these views; the caller frees its ranks. */
struct progress progress_of(const struct rank_view *views, size_t n);

/* ---- decide_progress.c: how the ranks of this host get on ---- */

/* Takes in one look at all ranks: steps, and what the host lets them run. Nobody had looked since
 * `paused_from`; says of the views what those who decide from views alone need. Returns whether the host
 * keeps some rank from running. */
bool progress_look(struct decide_state *state, struct decide_input *in, uint64_t paused_from);

/* Returns true if it made a step within the last half second. */
bool progress_lately(const struct decide_rank *rank, uint64_t now);

/* Seconds in which no rank of this host made a step. */
double progress_still(const struct decide_input *in);

/* Returns true if nobody on this host did within the last half second. */
bool progress_quiet(const struct decide_input *in);

/* Returns true if, since somebody waits, it has not yet had 0.4 s for itself, in which it ran or
 * did not want to, or none of the last window: then the host may be what keeps it. True also
 * before anything is known. */
bool progress_descheduled(const struct decide_rank *rank);

/* Returns true if it was starved, of two readings of its account: nanoseconds run and queued in
 * a window; `ready`: it wants to run at its end. */
bool progress_starved(uint64_t ran_ns, uint64_t queued_ns, uint64_t window_ns, bool ready);

/* ---- decide_overdue.c: who is overdue ---- */

/* The one place where `overdue` is said of a view. `starved`: the host keeps some rank from running. */
void overdue_mark(struct decide_state *state, struct decide_input *in, bool starved);

/* Somebody here is past a deadline, and nobody has moved, ever since `since`; though a busy host may have
 * have given it more time for a moment. */
bool overdue_ever_since(const struct decide_state *state, uint64_t since);

/* ---- decide_hosts.c: which hosts are heard of ---- */

/* Says of each host, and of all views, what is lost of what watches them. */
void hosts_look(struct decide_state *state, struct decide_input *in);

/* Returns true if a watcher of this host is. */
bool hosts_lost_here(const struct decide_input *in);
/* The worst of it. */
enum view_lost hosts_worst(const struct decide_input *in);

/* Returns true if hosts of the job have not been heard of at all, and have time for that left. */
bool hosts_absent(const struct decide_state *state, const struct decide_input *in);

/* Where hosts are lost, makes the verdict about them and about no rank. */
void hosts_verdict(const struct decide_input *in, struct verdict *verdict);

/* ---- decide_init.c: communicator init, and first calls ---- */

/* Tells how the ranks of this host are held up at init, if they will never meet there: OPEN or
 * COMPLETE if they are not. Several hosts: whether a census is due. */
enum arrivals init_look(struct decide_state *state, const struct decide_input *in);

/* Returns true if it waits in the first call on a communicator, all of whose ranks are on this host, for
 * one that will not come to it. */
bool init_abandoned(const struct decide_state *state, const struct decide_input *in,
		    const struct decide_rank *rank);

/* Root, while nothing is wrong: CENSUS or RENDEZVOUS when it is time. */
struct decision init_lead(struct decide_state *state, const struct decide_input *in);

/* Leader elsewhere: what the root says of it. */
void init_follow(struct decide_state *state, const struct decide_orders *orders);

/* The diagnoser saw no cause in how they meet. Returns whether somebody was overdue for that, on any host;
 * then nobody is again. */
bool init_dismiss(struct decide_state *state, const struct decide_input *in);

/* ---- decide_extension.c: more time for a hang ---- */

/* Until when what keeps `ranks` ("1,3"; "-": nobody is named) from going on may be the host's doing, or
 * they may go on yet; 0: it is not. */
uint64_t starvation_until(const struct decide_state *state, const struct decide_input *in,
			  const char *ranks);

/* Grants more time where no cause was found for a wait of `waited` seconds (0: one was), or
 * where the host starves the rank until `starved_until_ns` (0: it does not). Returns true if the
 * run goes on until until_ns, false if all has been given. */
bool extension_grant(struct extension *extension, double waited, uint64_t starved_until_ns,
		     uint64_t now);

/* Returns true if it is still time that was given. */
bool extension_holds(const struct extension *extension, uint64_t now);

/* Returns true if time was given, and is over. */
bool extension_over(const struct extension *extension, uint64_t now);
/* Returns true if one of these ranks, where none is named any, made a step lately; of other hosts' as they said
 * when they were asked. */
bool extension_goes_on(const struct decide_input *in, const char *ranks);
