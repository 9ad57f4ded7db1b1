/* perf_diagnose.h: the diagnoser's place in a run that went wrong: behind the monitor, before
 * the verdict. */
#ifndef HANGAR_PERF_DIAGNOSE_H
#define HANGAR_PERF_DIAGNOSE_H

#include "diagnose/diagnose.h"
#include "probe/task.h"
#include "watch/monitor.h"
#include "perf_rank.h"

/* What another host's judge said of a rank, by enum monitor_word: saved form of its state and
 * newest calls, or text with a NUL behind it; checked when it is used. data NULL: nothing came. */
struct heard {
	struct {
		char *data; /* owned */
		size_t bytes;
	} words[MONITOR_WORDS];
};

struct judge {
	const struct program *program;
	struct evidence evidence;
	struct evidence_probe probe; /* begun when something seemed wrong */
	struct task counters;	     /* the host's reading when the run began; arg NULL: none */
	bool gpus;		     /* it is for GPUs, too */
	struct diagnosis diagnosis;
	struct heard *heard; /* by rank; owned */
	int nheard;
	char folder[200]; /* "" when none could be made */
};

/* The monitor's hooks. On the root's host sharpen() names class, ranks and place from all hosts'
 * evidence; save() writes it to a folder of its own below results/runs/ and says what to do. On
 * other hosts testify() tells the root of their ranks, and keep() saves the same, with all calls,
 * in a folder of the same name. */
struct monitor_judge judge_hooks(struct judge *judge);

/* One per host, before its rank is there: have the host's counters read, by a child, which takes
 * its time. */
void judge_start(struct judge *judge);
void judge_release(struct judge *judge);

#endif
