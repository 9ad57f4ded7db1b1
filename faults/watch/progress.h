/* progress.h: is a rank still getting anywhere, and does the host let it? Keeps a busy host from looking like a hang. */
#ifndef HANGAR_PROGRESS_H
#define HANGAR_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct progress {
	uint64_t heartbeat;   /* last seen */
	uint64_t moved_ns;    /* when it was first seen so */
	uint64_t sampled_ns;  /* begin of the window for `starved` */
	uint64_t ran_ns, waited_ns; /* the scheduler's account then */
	bool starved;
};

/* Note a rank's heartbeat as of `now` (clock_ns). */
void progress_note(struct progress *progress, uint64_t heartbeat, uint64_t now);

/* Has the scheduler kept process `pid` from running: was it ready to run for most of the last tenth of
 * a second or more, and ran for less than a fiftieth of it? From /proc/PID/schedstat, looked at anew
 * once such a window has passed; false where the kernel keeps no such account. */
bool progress_starved(struct progress *progress, pid_t pid, uint64_t now);

/* The same from two readings, for tests: nanoseconds run and waited in a window. */
bool progress_is_starved(uint64_t ran_ns, uint64_t waited_ns, uint64_t window_ns);

#endif
