/* pace_watch.h: reads the samples of this host's ranks while they run, and says who is slow, once while it lasts. */
#pragma once

#include "pace/meter.h"
#include "pace/pace.h"
#include "answer/classes.h"
#include "record/record.h"

#include <sched.h>

#define PACE_NAMED 16  /* ranks that are named at most */
#define PACE_SENT  512 /* samples that are handed on at most, from one look to the next */

/* A rank that was named. */
struct pace_named {
	struct pace_finding finding;
	uint64_t comm;
	int member;
	bool printed, ended; /* that it is slow; that it is slow no more */
};

struct pace_watch {
	struct pace pace;
	bool metered; /* the caller sets it */
	struct meter meter;
	uint64_t settle_ns;
	bool sends; /* a leader elsewhere: `sent` is for the root, which judges; the caller sets it */
	uint64_t *read;			    /* of each memory, samples that were read */
	uint64_t *starved, *starved_before; /* of each, ns without a processor: now, and first */
	size_t n;
	struct record_memory *const *memories;	/* of the last look; borrowed */
	uint64_t account_ns, judge_ns, rate_ns; /* when they are next looked at */
	int cores;	    /* that the ranks may use; this process, while these are not known */
	cpu_set_t cores_of; /* of the first ncores_of ranks */
	size_t ncores_of;
	bool crowded;		  /* ranks outnumber them: nothing is certain */
	struct pace_sample *sent; /* samples for the root; the caller sets nsent to 0 */
	size_t nsent;
	size_t met;	/* samples since rate_ns */
	unsigned shift; /* 1 of 2^shift samples is handed on */
	struct pace_named named[PACE_NAMED];
	size_t nnamed;
	char (*hosts)[64]; /* names */
	int nhosts;
	int *host_of; /* of each rank, from 0: its host's number + 1; 0: not known */
	int nranks;
};

/* `percent`, `lasting`: as in struct pace; 0 percent: nothing is judged. */
void pace_watch_open(struct pace_watch *w, double percent, double lasting);
void pace_watch_release(struct pace_watch *w);

/* Takes the samples that came since the last look, and prints on standard output which ranks are slow, or no longer.
 * `memories`: of the n ranks of this host, which stay in their places. */
void pace_watch_look(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		     uint64_t now);

/* Brings the meters up to date, as at the end, with totals. */
void pace_watch_meter(struct pace_watch *w, struct record_memory *const *memories, size_t n);

/* Root: samples of a host's ranks, `bytes` of what its leader had in `sent`. Nothing in them is trusted. */
void pace_watch_take(struct pace_watch *w, const char *host, const void *samples, size_t bytes);

/* The name of a rank's host; "": not known. */
const char *pace_watch_host(const struct pace_watch *w, int32_t rank);

/* The run is over: prints the last figures of the ranks that were named, and what made all of them slow. Returns the
 * class, CLASS_OUTCOME where there is none, and the ranks "1,3" in `ranks`, "-" for none. */
enum answer_class pace_watch_end(struct pace_watch *w, struct record_memory *const *memories,
				 size_t n, char *ranks, size_t len);
