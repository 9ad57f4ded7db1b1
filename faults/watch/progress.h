/* progress.h: is a rank still getting anywhere, and does the host let it? Keeps a busy host from
 * looking like a hang. */
#ifndef HANGAR_PROGRESS_H
#define HANGAR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
	uint64_t heartbeat;	    /* last seen */
	uint64_t moved_ns;	    /* when it was first seen so */
	uint64_t sampled_ns;	    /* begin of the window for `starved` */
	uint64_t ran_ns, waited_ns; /* the scheduler's account then */
	uint64_t watched_ns;	    /* all windows since somebody waits */
	uint64_t queued_ns;	    /* in these it was ready, and not run */
	bool starved;		    /* as of the last window; read-only */
	uint64_t starved_ns;	    /* when a window last said so, 0: never; read-only */
};

/* Note a rank's heartbeat as of `now` (clock_ns). */
void progress_note(struct progress *progress, uint64_t heartbeat, uint64_t now);

/* Look at the scheduler's account of process `pid` (/proc/PID/schedstat), at most every tenth of
 * a second. Afterwards `starved` says of the last such window: was the process ready to run for
 * most of it, and ran for less than a fiftieth? False until a window has passed, and where the
 * kernel keeps no account. */
void progress_sample(struct progress *progress, pid_t pid, uint64_t now);

/* Since somebody waits, has the process not yet had 0.4 s for itself, in which it ran or did not want
 * to; or none of the last window? Then the host may be what keeps it. Also before anything is
 * known. */
bool progress_is_kept(const struct progress *progress);

/* Nobody waits: the next window begins with the next look. */
void progress_forget(struct progress *progress);

/* Nobody waits, and it is looked on all the same: what was seen counts for progress_is_kept no more. */
void progress_restart(struct progress *progress);

/* The same from two readings, for tests: nanoseconds run and waited in a window; `ready`: it
 * wants to run at its end. */
bool progress_is_starved(uint64_t ran_ns, uint64_t waited_ns, uint64_t window_ns, bool ready);

#endif
