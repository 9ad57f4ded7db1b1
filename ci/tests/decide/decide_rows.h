/* decide_rows.h: a row of decide.txt: what happens at which millisecond, and what the run comes to. */
#pragma once

#include "base/outcome.h"
#include "answer/classes.h"

/* An event of a rank, or of a host. `a` and `b` are milliseconds unless said otherwise. */
enum act {
	ACT_NONE,
	BEATS,		/* makes a step every `a` until `b` */
	WAITS,		/* enters a wait with deadline `a` after its beginning; 0: none */
	WORKS,		/* the same for work of its own, announced */
	LEAVES,		/* the wait */
	CALLED,		/* has made and completed `a` calls */
	CALLING,	/* and is inside of one more, on communicator `a` */
	HASHED,		/* hash `a` of its calls */
	ENQUEUED,	/* one more, of `a` MB, has returned, and it waits for its device; -1: not
	                 * returned */
	SET,		/* has settings `a` */
	ENTERS,		/* communicator init for `a` ranks with id `b`: a wait of 10 s */
	READY,		/* it is through, and waits where calls are made, for 10 s */
	WAITS_BY_TURNS, /* leaves and enters a wait with deadline 100 every `a` until `b` */
	PHASE,		/* enum phase `a` */
	SPARE,		/* a surplus process, without a rank */
	SLEEPS,		/* does not want to run: as at first */
	STARVES,	/* wants to, and its host does not let it */
	SHARES,		/* runs half of the time, and is queued the other half */
	WATCHER,	/* its supervisor: enum proc_hold `a` */
	STOPS,
	TRACED,	  /* 1: a debugger is attached to it; 0: no more */
	FINISHES, /* with enum outcome `a`, which it had announced */
	DIES,	  /* killed */
	/* a host, in `rank` */
	PAUSES,	 /* its leader does not run until `a` */
	IS_MUTE, /* its leader answers nothing */
	/* a leader that is played alone: the root, ... */
	COLLECTS, /* takes in what is slow */
	IS_LOST,  /* its connection is closed */
	/* a host, in `rank` */
	IS_CUT, /* nothing passes between it and the root until `a`; b 1: kernels answer; b 2: repetitions
		   * of what is sent here arrive; 7: datagrams say that nothing comes there; 8: kernels
		   * answer, and datagrams come here; 9: enough of them; 10: and as many there */
	LAUNCHER, /* its launcher: enum proc_hold `a` */
	VANISHES, /* its leader: the connection has ended; `a` 1: there is another one; `b` 1: a signal told it to end */
	ENDS,	  /* the launcher tells its leader to end */
};

struct event {
	int at, rank;
	enum act act;
	int a, b;
};

/* Several ranks, or hosts, in `rank`. */
#define SOME(bits) (0x100 | (bits))
#define ALL	   SOME(0xff)

/* The expected end of the run. */
struct expectation {
	int from, to; /* it ends in this time; to 0: it does not */
	enum outcome outcome;
	const char *ranks;	    /* named by the verdict, NULL: any */
	int looks_min, looks_max;   /* of the diagnoser; max 0: once if it ends; -1: not at all */
	int detect_from, detect_to; /* detect_ms, 0: any */
	const char *overdue;	    /* ranks overdue at its last look, "013"; NULL: any */
	int censuses_max;	    /* 0: any */
	int reports; /* leader alone: how often it says that the root should look, after its first tick */
	int gap_max;		  /* between two looks; 0: any */
	const char *hosts, *pair; /* named by the verdict, NULL: any */
	enum answer_class class;  /* 0: any */
};

struct row {
	const char *name;  /* E1a ... are those of HISTORY.md */
	const char *hosts; /* of each rank its host: "0011" */
	int init_ms;	   /* ranks come to communicator init in this time; 0: not looked at */
	int alone;	   /* that host's leader is played, and the root is what the events say */
	int absent;	   /* so many hosts more never come */
	bool no_deadlines, extensions;
	/* The answer of the diagnoser: "U": no cause; "1,3": a cause, and these; "-": a cause, and no rank; NULL: there is none. */
	const char *answer;
	int answer_ms;	    /* it takes so long */
	const char *parted; /* these made a call of their own, number 8; NULL: no rank */
	struct event events[20];
	int until; /* the run is played so long */
	struct expectation expect;
};

/* Hands over the rows below a title, of which there must be some. */
void rows_each(const char *title, void (*play)(const struct row *row));
