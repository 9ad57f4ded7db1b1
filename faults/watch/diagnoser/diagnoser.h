/* diagnoser.h: the diagnoser's place in a run that went wrong: between monitor and verdict. */
#pragma once

#include "find/find.h"
#include "process/task.h"
#include "watch/monitor.h"

/* Another host's diagnoser says this of a rank, by enum evidence_kind: the saved form of its state
 * and newest calls, or text with a NUL; it is not checked yet. data NULL: nothing came. */
struct remote_evidence {
	struct {
		char *data; /* owned */
		size_t bytes;
	} kinds[EVIDENCE_KINDS];
};

/* Facts and functions of the program that starts the run. `arg` is handed to each function. */
struct diagnoser_site {
	void *arg;
	const char *name; /* of the program */
	const char *key;  /* of the run */
	const char *out;  /* folder for the evidence; NULL: DATE-NAME-KEY, which is made in */
	const char *root; /* this one; NULL: HANGAR_RUNS of the environment, else results/runs */
	bool gpus;	  /* counters of GPUs are read, too */
	bool preloaded;	  /* a program that knows nothing of hangar */
	/* Names the run in its evidence: command, options. */
	void (*describe)(void *arg, struct evidence *evidence);
	/* The command that starts the run again, faults and all: command.txt, for the report's
	 * reproducer alone. */
	void (*again)(void *arg, char *command, size_t len, int nranks);
};

struct diagnoser {
	struct diagnoser_site site;
	struct evidence evidence;
	struct evidence_probe probe; /* started when something seemed wrong */
	struct task counters;	     /* the host's reading when the run began; arg NULL: none */
	struct answer late; /* the newest that was printed as late; class 0: it came after all */
	struct answer differed;		/* ranks' first calls that differed; class 0: none */
	struct remote_evidence *remote; /* by rank; owned */
	int nremote;
	char root[160];	    /* where folders are made, "" nowhere */
	bool rooted;	    /* it was looked for */
	bool turned;	    /* from the site's root to TMPDIR */
	bool short_of_room; /* report or records could not be saved, which was said */
	char folder[200];   /* "" when none could be made */
	int made;      /* folders: a run that goes on has a verdict again, MAX_FOLDERS at most */
	char side[64]; /* this host's name, if it ends without the root; else "" */
	struct record_set compared; /* those of which lines_compare() has spoken */
};

/* The monitor's hooks. On the root's host refine() names class, ranks and place from all hosts'
 * evidence; save() writes it to a folder of its own below results/runs/ and says what to do. On
 * other hosts collect() tells the root of their ranks, and save_local() saves the same, with all
 * calls, in a folder of the same name. */
struct monitor_client diagnoser_client(struct diagnoser *self);

/* One per host, before its rank: have the host's counters read, by a child, as it takes time. */
void diagnoser_start(struct diagnoser *self);
void diagnoser_release(struct diagnoser *self);
/* monitor_config.watch of a diagnoser, `self`: it holds the run's folder as long as it watches. */
void diagnoser_watch(void *self, struct monitor *monitor);
/* lines.c: prints, once for a communicator, that ranks of this host have left the others' lines of code. */
void lines_compare(struct diagnoser *self, const struct rank_view *views,
		   const struct record_memory *const *memories, size_t n);
/* The ranks have left: what was late or differed among them says nothing of those that come. */
void diagnoser_forget(struct diagnoser *self);
/* The verdict did not stand: the newest folder says so, in this sentence. The next has its own. */
void diagnoser_withdraw(struct diagnoser *self, const char *sentence);
