/* decide.h: whether ranks hang, which, since when, and what is to be done now. The leader of a
 * host decides that from what it sees: no clock, no file, no process, no message is touched
 * here. Times are nanoseconds of clock_ns(), from the caller.
 *
 * A leader calls decide() at each tick and does what it answers. On one host, and on rank 0's of
 * several (the root), it leads; on the others it follows the root while that answers. */
#pragma once

#include "base/call_value.h"
#include "base/proc_stat.h"
#include "answer/answer.h"
#include "record/view.h"
#include "net/path.h"
#include "run/usual.h"
#include "compare/desync.h"

/* Follows how a rank gets on, over time; decide()'s own, zeroed at first. */
struct rank_track {
	uint64_t heartbeat;	    /* last seen */
	uint64_t progressed_ns;	    /* when it was first seen so */
	uint64_t wait_since_ns;	    /* the wait that grace_ns belongs to */
	uint32_t wait_kind;	    /* of that wait (view_wait_kind) */
	uint64_t grace_ns;	    /* of that wait: time without a look */
	uint64_t sampled_ns;	    /* beginning of the window for `starved`, 0: none is open */
	struct proc_account used;   /* the scheduler's account then */
	uint64_t watched_ns;	    /* all windows since some rank waits */
	uint64_t queued_watched_ns; /* in these it was ready, and not run */
	uint64_t lately_ns,
		had_ns; /* the windows of the last five seconds or so; it ran, or slept, in these */
	bool starved;	/* as of the last window */
	uint64_t active_ns;	  /* end of the last window in which it did anything, 0: none */
	uint64_t place;		  /* as of the last window */
	uint64_t moved, works_ns; /* end of the last window in which it worked, 0: none */
	uint64_t ran_ns;	  /* its account of time on a processor, when it was last read */
	uint64_t ran_seen_ns;	  /* when it was last seen to have run */
	bool accounted, traced;	  /* its account was read; something traced it then */
	bool held;		  /* as the account has it */
	uint64_t starved_ns;	  /* end of the last window in which it was, 0: none */
};

/* The scheduler's account of a process. */
struct rank_account {
	bool known;  /* it was read */
	bool ready;  /* it wants to run just now */
	bool traced; /* by a debugger or the like */
	bool held;   /* stopped or frozen, for a second; not of a preloaded program */
	struct proc_account used;
	uint64_t moved; /* bytes (proc_moved_read), of a preloaded program */
	uint64_t place; /* in its program (python_place), 0: not known */
};

/* A watcher of this host, as the kernel has it. */
struct decide_watcher {
	enum proc_hold hold;
	uint64_t since_ns;
	uint64_t ran_ns; /* the caller's: its time on a processor */
	int pid;
	bool printed; /* the caller's */
};

/* A rank of this host. */
struct decide_rank {
	struct rank_view view;		  /* just read */
	struct rank_account account;	  /* where decide_wants_account() */
	struct decide_watcher supervisor; /* its own, unless that is this leader */
	uint64_t
		told_ns; /* when its launcher, or a signal to the job, last told it to end; 0: never */
};

/* The judgement of a rank. */
struct rank_state {
	struct rank_view view; /* first; with overdue, grace, progressed, lost ... */
	struct rank_track track;
};

/* Is worth a line, once. */
enum host_news { NEWS_NONE, NEWS_SILENT, NEWS_HEARD, NEWS_UNWATCHED };

/* Another host, whose leader has shown the token; its ranks as of its last message. */
struct decide_host {
	uint64_t id;		 /* tells hosts apart, while they come and go */
	char name[64];		 /* as it calls itself, before that its address; "" unknown */
	struct rank_view *views; /* as it reported them */
	size_t nviews;
	bool done;		   /* all its ranks finished by themselves */
	uint64_t ended_ns;	   /* when its connection ended in order, 0: it did not */
	bool left;		   /* a signal told its leader to end */
	bool answered;		   /* it has answered the last query or census */
	uint64_t heard_ns;	   /* when anything came from its leader, a heartbeat at least */
	uint64_t arrived_ns;	   /* when its kernel, silent, last sent anything; 0: never */
	bool answers;		   /* its kernel acknowledges what is sent to it */
	bool sends_datagrams;	   /* it is silent, but its leader sends datagrams */
	bool small_passes;	   /* since it is silent enough datagrams have passed, both ways */
	enum path_way there, here; /* what passes, while something seems wrong */
};

/* The judgement of such a host. */
struct host_state {
	uint64_t id;
	enum view_lost lost; /* also what it reports of its own watchers */
	enum view_lost cut;  /* as this host sees it */
	enum host_news news; /* since the last call */
	uint64_t silent_ns;  /* since when it is silent, as was printed; 0: it is not */
	double silence_s;    /* for how long it is, or was */
	uint64_t gap_ns;     /* for how long nothing has come; 0: less than half a second */
};

/* Messages of the root to a leader elsewhere, since the last call. */
struct decide_orders {
	bool census;		/* it asks who has come to communicator init */
	bool collects;		/* the verdict is out, and it collects what is slow */
	bool arrivals_reported; /* it says how the ranks meet: */
	enum arrivals arrivals;
};

struct decide_input {
	uint64_t now;
	const struct decide_rank *ranks; /* of this host; a rank keeps its place */
	size_t nranks;
	struct decide_watcher launcher;	 /* of this host */
	struct decide_watcher leader;	 /* the first one, gone or held: this one ends the run */
	const char *name;		 /* of this host */
	const struct decide_host *hosts; /* at the root: the others; elsewhere: the root's */
	size_t nhosts;
	size_t expected_hosts;	     /* so many of them belong to the job, as far as is known */
	int job_ranks, job_hosts;    /* as any rank that knows says; -1: none does */
	const struct desync *desync; /* ranks here were seen to make different calls; NULL: not */
	bool orphaned; /* of a preloaded program: its command has ended before its ranks */
	bool ending;   /* the launcher ends the run: what is lost is said now or never */
	bool follows;  /* a leader elsewhere, which has been connected to the root */
	struct decide_orders orders;
};

/* How long a program that knows nothing of hangar may be in a wait: it announces neither evaluation
 * nor checkpoint, and a rank may rightly be away for minutes. */
struct patience {
	double look; /* seconds from one look at a wait to the next */
	double late; /* after this a wait is worth a line while little is known of its kind (run/usual.h) */
	double hang; /* after this, without a step of any rank, it is a hang; 0: tiers do not count */
};

struct decide_config {
	bool deadlines;	       /* a wait past its deadline is a hang */
	bool extensions;       /* a hang that nothing explains is given more time */
	double silent_seconds; /* nothing comes from a host for so long before a line; 0: never */
	double partition_seconds; /* and so long before it is a verdict */
	double init_seconds; /* ranks come to communicator init within this time, to its first call
			      * in a part of it; 0: deadlines alone */
	struct patience patience; /* for programs that know nothing of hangar; hang 0: ours */
};

enum decide_stage {
	STAGE_WATCH,
	STAGE_SETTLE,	/* something is wrong: what else is comes in */
	STAGE_QUERY,	/* the other hosts have been queried */
	STAGE_DIAGNOSE, /* the diagnoser has, and answers with decide_answer() */
	STAGE_END
};

enum decide_action {
	DECIDE_NOTHING,
	DECIDE_PREPARE,	 /* something seems wrong: all hosts take a first look at their ranks */
	DECIDE_QUERY,	 /* ask the other hosts what they know of their ranks */
	DECIDE_DIAGNOSE, /* let the diagnoser look, then decide_answer() */
	DECIDE_EXTEND,	 /* the run goes on, for extension_ns at least */
	DECIDE_CENSUS,	 /* ask the other hosts who has come to communicator init */
	DECIDE_ARRIVALS, /* tell them how the ranks meet there */
	DECIDE_END,	 /* say the verdict, and end the run everywhere */
	DECIDE_REPORT	 /* a leader elsewhere: the root should look at its ranks' views */
};

struct decision {
	enum decide_action action;
	struct answer verdict; /* DIAGNOSE, END */
	uint64_t extension_ns; /* EXTEND */
	bool late;	/* EXTEND: it is time to say which ranks are late; others usually wait */
	double usual_s; /* ... so many seconds at most (run/usual.h), -1: not known */
	double came_s;	/* any: what was late ended after so many seconds; 0: nothing did */
	bool traced;	/* EXTEND: and that a debugger is waited for */
	bool starved;	/* EXTEND: and that all ranks wait for processors, once a minute */
	enum arrivals arrivals; /* ARRIVALS: all but OPEN */
};

/* The diagnoser says one of these of a run that went wrong. */
enum diagnosis_result {
	DIAGNOSIS_NOT_ASKED, /* there is none */
	DIAGNOSIS_UNEXPLAINED,
	DIAGNOSIS_NAMED /* a cause, and perhaps ranks */
};

/* More time for a hang: nothing explains it, or a busy host starves who is named. */
struct extension {
	uint64_t until_ns;  /* not looked at again before, unless something else happens; 0: none */
	uint64_t end_ns;    /* then a verdict it is */
	bool unexplained;   /* end_ns allows for a wait that nothing explains */
	uint64_t since_ns;  /* when time was first given; 0: it was not */
	uint64_t traced_ns; /* when it was first given because a debugger looks; 0: it was not */
	bool starved;	    /* until_ns is for ranks that all wait for processors */
	uint64_t told_ns;   /* when that was last worth a line; 0: never */
	int32_t rank;	    /* who had waited longest then, ... */
	uint64_t wait_ns;   /* ... since when, on its host's clock: the wait that this is about */
};

/* A wait that was printed as late. */
struct late {
	int32_t rank;
	uint64_t since_ns; /* on its host's clock; 0: there is none */
	uint64_t began_ns; /* the same on this host's, less time without a look */
	double next;	   /* seconds after which it is printed again; 0: never */
	bool broke;	   /* the rank had an error or abort behind it already */
};

/* Follows how the ranks come to communicator init, and to first calls. */
struct init_state {
	bool marked;	     /* some rank here is overdue for no other reason */
	bool complete;	     /* they all came to init */
	bool called;	     /* several hosts: and to communicator 0's first call */
	bool dismissed;	     /* the diagnoser saw no cause in it: never again */
	enum arrivals found; /* several hosts: what a census said, of MISSING, MISMATCH, ABSENT */
	bool overdue;	     /* several hosts: ranks here wait so long that one is due */
	bool counted;	     /* several hosts: one was taken, and ranks here are watched since */
	bool counting;	     /* root: answers come in ... */
	uint64_t census_ns;  /* ... until then; otherwise when the next one is taken */
};

struct decide_state {
	struct decide_config config;
	struct rank_state *ranks; /* of this host, at the places of the last input; owned */
	struct host_state *hosts; /* likewise */
	size_t nranks, nhosts;
	enum decide_stage stage;
	uint64_t stage_until;	 /* of SETTLE and QUERY */
	uint64_t opened_ns;	 /* of decide_open() */
	uint64_t last_ns;	 /* of the last decide() */
	uint64_t looked_from_ns; /* since then this leader ran without a pause */
	uint64_t known_ns;	 /* when it first knew that there are other hosts */
	uint64_t death_ns;	 /* when the first death was seen, 0: none */
	bool crashed; /* not all that died did as they were told, by a signal to end, or unseen */
	uint64_t error_ns;    /* when the first rank that left with an error was, 0: none */
	uint64_t error_until; /* a death behind it is awaited that long */
	double longest_pause; /* of all ranks from one step to the next, seconds */
	uint64_t overdue_ns;  /* the last time when no rank was overdue, or some rank still moved */
	uint64_t starved_ns;  /* when the host last starved some rank */
	struct usual usual[CALL_KIND_COUNT + 1]; /* by kind of wait */
	struct late late;
	struct extension extension;
	struct init_state init;
	uint64_t told; /* leader elsewhere: what the root knows, as a hash */
	/* A host was heard of again then, after so long. */
	uint64_t healed_ns, healed_gap_ns;
	uint64_t saves_until; /* the root may be silent that long, busy with evidence */
};

void decide_open(struct decide_state *state, const struct decide_config *config, uint64_t now);
/* decide_open() again before anything else. */
void decide_release(struct decide_state *state);

/* Returns true if a fresh account of this rank is wanted at `in->now`, for decide(). */
bool decide_wants_account(const struct decide_state *state, const struct decide_input *in,
			  size_t rank);

/* Returns the next action. Findings about ranks and hosts stand in the state. */
struct decision decide(struct decide_state *state, const struct decide_input *in);

/* After DIAGNOSE: takes the diagnoser's answer, at `in->now`, about the same ranks and hosts.
 * The verdict may have become another outcome, and names ranks. EXTEND, ARRIVALS, or END, where a verdict that names no
 * rank may become one about a watcher that is held. */
struct decision decide_answer(struct decide_state *state, const struct decide_input *in,
			      enum diagnosis_result result, struct answer *verdict);

/* The views of all hosts, by rank, with what decide() said of them. The caller frees *views. */
size_t decide_views(const struct decide_state *state, const struct decide_input *in,
		    struct rank_view **views);
