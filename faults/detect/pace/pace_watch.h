/* pace_watch.h: reads the samples of this host's ranks while they run, and says who is slow, once while it lasts. */
#pragma once

#include "pace/pace.h"
#include "record/classes.h"
#include "record/record.h"

#define PACE_NAMED 16 /* ranks that are named at most */

/* A rank that was named. */
struct pace_named {
	struct pace_finding finding;
	uint64_t comm;
	int member;
	char place[80];
	bool ended; /* it is slow no more, as was printed */
};

struct pace_watch {
	struct pace pace;
	uint64_t *read; /* of each memory, samples that were read */
	uint64_t *starved,
		*starved_before; /* of each, ns without a processor: now, and when it came */
	size_t n;
	uint64_t began_ns, account_ns, judge_ns; /* when they are next looked at */
	int cores;				 /* that this process may use */
	bool crowded;				 /* ranks outnumber them: nothing is certain */
	struct pace_named named[PACE_NAMED];
	size_t nnamed;
};

/* `percent`: as in struct pace; 0: nothing is judged. */
void pace_watch_open(struct pace_watch *w, double percent);
void pace_watch_release(struct pace_watch *w);

/* Takes the samples that came since the last look, and prints on standard output which rank is slow, or no longer.
 * `memories`: of the n ranks of this host, which stay in their places. */
void pace_watch_look(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		     uint64_t now);

/* The run is over: prints the last figures of the ranks that were named. Returns their class, CLASS_OUTCOME where
 * there is none, and their numbers "1,3" in `ranks`. */
enum diagnosis_class pace_watch_end(struct pace_watch *w, struct record_memory *const *memories,
				    size_t n, char *ranks, size_t len);
