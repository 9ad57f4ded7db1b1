/* fault.h: a fault, its spec on the command line, and how it fires. One file per family, one table.
 *
 * A fault defines what is broken. The injector decides when, from the rank and call in the spec, never from
 * time. */
#pragma once

#include "backend/call.h"
#include "base/error.h"
#include "process/slowdown.h"
#include "schedule/schedule.h"

#define FAULT_MAX_RANKS 64
#define FAULT_MAX_ARGS	8
#define FAULT_AGAIN	1 /* `start`: the program starts again, in this environment */

/* Before the call (or init) is made; while it is in progress; after it: on a GPU, enqueued. */
enum fault_when { FAULT_BEFORE, FAULT_INFLIGHT, FAULT_AFTER };

/* A fault may fire at these places. */
enum fault_where { FAULT_AT_CALL, FAULT_AT_INIT, FAULT_AT_BOTH };

#define FAULT_OP_INIT (-1) /* @init */

/* Needs of faults that not every machine or job has: bit, name in --list-faults, and text if it is missing. */
/* clang-format off */
#define NEEDS(row) \
	row(NEED_CGROUP, 1, "cgroup", "a memory cgroup that may be made and limited here") \
	row(NEED_GPU, 2, "GPU", "a GPU") \
	row(NEED_NET, 4, "NET", "ranks that talk over sockets") /* at least at init */ \
	row(NEED_NAMESPACE, 8, "namespace", "a network namespace of its own (CAP_SYS_ADMIN)")
/* clang-format on */
#define NEED_ENTRY(name, bit, ...) name = bit,
enum fault_need { NEEDS(NEED_ENTRY) NEED_LAST = NEED_NAMESPACE };

/* Transports of calls: bits. */
enum fault_transport { BY_MPI = 1, BY_P2P = 2, BY_SHM = 4, BY_NET = 8, BY_ANY = 15 };

struct fault;

/* Describes what this machine and this job have. */
struct fault_machine {
	const char *backend; /* "nccl" or "mpi" */
	unsigned have;	     /* bits of fault_need */
	unsigned transport;  /* one bit of fault_transport */
	const char *cgroup;  /* folder of the rank's own memory cgroup, NULL: none; borrowed */
	const char *run;     /* the run's folder (process/leftovers.h), NULL: none; borrowed */
};

enum fault_way_flag {
	WAY_UNSURE = 1 << 4, /* what comes depends on the rank's place: the outcome is no promise */
	WAY_OF_THREE = 1 << 5 /* the communicator has three members or more */
};

/* A line of ways.txt: how a fault comes to an outcome: the arguments that make it, where, and for which calls. */
struct fault_way {
	char outcome[12];    /* "hang" "corrupt" "silent" */
	unsigned transports; /* bits of fault_transport and fault_way_flag */
	uint32_t kinds;	     /* a bit 1 << enum call_kind for each; 0: any */
	size_t least, most;  /* bytes of the call's buffer of `count` elements; 0: no limit */
	char args[48];	     /* "factor=half", unless the user has given the key; "-" none */
};

/* --fault=NAME[:RANKS][@OP][,key=value...]; OP: a number from 1, "first" or "init". */
struct fault_spec {
	const struct fault *fault;
	int ranks[FAULT_MAX_RANKS]; /* culprits, ascending, no doubles; default: the last rank */
	int nranks;		    /* 0: default */
	long op;		    /* index of the call among all of the rank's, from 1, or
	                             * FAULT_OP_INIT; 0: the default */
	enum fault_when when;
	struct {
		char key[48], value[200];
	} args[FAULT_MAX_ARGS];
	int nargs;
	struct slowdown slow; /* of a fault that leaves the rank alive and slow */
	uint64_t step_calls;  /* calls of a step of the rank */
	struct fault_way way; /* taken; outcome "": the fault has none */
	const char *text;     /* as typed; borrowed */
};

#define COMMAND_RUNS (-1)

/* Written by the culprit when its fault fires, read by its supervisor alone: the diagnoser
 * never sees it. Lives in shared memory of its own. */
struct fault_record {
	_Atomic uint32_t fired;	    /* how often, all faults together */
	_Atomic uint64_t fired_ns;  /* CLOCK_MONOTONIC, of the first time */
	_Atomic uint32_t comm;	    /* where it was: the communicator, */
	_Atomic uint64_t seq;	    /* and the number of the call on it, from 1; 0: init */
	_Atomic uint32_t due, done; /* bit i: --fault number i names this rank; has fired on it */
	/* The last `command`: 0 (none), COMMAND_RUNS, or exit status + 1; its first line. */
	_Atomic int32_t command;
	char command_text[160];
};

/* Handed to a fault that fires. */
struct fault_act {
	const struct fault_spec *spec;
	/* The call, or at init the request, to be made, in progress, or made; else NULL. */
	const struct call *call;
	const struct comm_request *request;
	const struct fault_machine *machine;
	struct fault_record *record;  /* may be NULL */
	const struct comm_set *comms; /* the ranks of each communicator */
	struct chain *chain;	      /* chain_emit() makes a call */
	int rank, nranks;
	double since; /* seconds of the rank from its call before to this one, without what faults took */
};

/* A firing's end: FAULT_PASS lets the call be made (before) or nothing more happen (after). */
enum fault_verdict {
	FAULT_PASS,
	FAULT_SWALLOW, /* it was made otherwise, or is not made */
	FAULT_HOLD     /* it is made behind the next call that the fault's `behind` says yes to */
};

/* Bits of `kinds`. */
#define KIND(name) (1u << CALL_##name)
#define KIND_PAIR  (KIND(SEND) | KIND(RECV))

struct fault {
	const char *name; /* "drop-rank" */
	/* Keys that it takes, "delay=SECONDS code=STATUS", NULL: none. This row is parser and help:
	 * SECONDS is a number from 0 to 86400, STATUS an exit status from 0 to 255, NUMBER any, ELEMENT one from 0,
	 * BIT one from 0 to 63, "how=lock|read"
	 * one of these words, VALUE and PATH any text without a comma; NCCL_* is any name that begins so. */
	const char *args;
	const char *required; /* the key that must be given; NULL: none */
	struct {
		int ranks;	  /* of the job, at least; 0: two */
		unsigned machine; /* bits of fault_need */
		bool graph;	  /* calls that are captured and launched (--mode graph) */
		bool stream;	  /* calls that run when they are issued (no --mode graph) */
	} needs;
	/* The schedule of a run without --schedule; NULL: plain. */
	const char *schedule;
	/* Calls that it can break: a bit 1 << enum call_kind for each, 0: any; of these, NULL: all. */
	uint32_t kinds;
	bool (*applies)(const struct planned_call *call);
	/* FAULT_HOLD alone: the held call is made right behind this one. */
	bool (*behind)(const struct call *held, const struct call *next);
	/* A captured graph is launched for the call's step; NULL: as asked. The fault fires there. */
	enum launch_verdict (*launch)(const struct fault_spec *spec);
	enum fault_where where; /* at FAULT_AT_INIT the default op is init */
	bool any_when;		/* when=inflight and when=after make sense */
	bool slow;	 /* fires at the op and later, as spec->slow says (process/slowdown.h) */
	bool everywhere; /* without RANKS on all ranks */
	bool sticky;	 /* fires at the op and at every later call of the rank */
	/* Acceptable outcomes per backend, as in --expect, alternatives separated by '|'. NULL:
	 * cannot occur there, and FAULT_WHY_NOT says why. */
	const char *mpi, *nccl;
	/* Optional: the rank's process starts, before MPI and the libraries: 0, FAULT_AGAIN or a negative
	 * errno. `bytes`: of the schedule's first calls. It fires at init, when that has its effect. */
	int (*start)(const struct fault_spec *spec, size_t bytes);
	/* Fire: act, and say what becomes of the call. May not return at all. A negative errno
	 * makes the rank fail: with the backend's error that the fault has set, else with one that
	 * says that the injection failed. */
	int (*fire)(const struct fault_act *act);
};

/* Parts of rows: any moment; one end on both backends; parts of a call do not fit. */
#define FAULT_ANY_MOMENT   .where = FAULT_AT_BOTH, .any_when = true
#define FAULT_ENDS(either) .mpi = (either), .nccl = (either)
#define FAULT_PARTS                                                                                \
	.mpi = "hang|error|wrong-data|diverged|died", .nccl = "hang|error|wrong-data|diverged"

/* All faults, NULL-terminated, in the order of faults.txt, of which fault_table.awk makes it. */
extern const struct fault *const fault_table[];

/* Lines of faults.txt: what the culprit does; the incident, thread or paper that a fault repeats; a sentence for --list-faults=NAME, "-": none; why it
 * cannot occur on one of the backends, "": it can on both. */
enum fault_line { FAULT_HELP, FAULT_SOURCE, FAULT_MORE, FAULT_WHY_NOT };
#define FAULT_LINE 256
const char *fault_text(const struct fault *fault, enum fault_line line, char text[FAULT_LINE]);

const struct fault *fault_find(const char *name);

/* Parse one spec. 0, or -EINVAL with a usage error naming the part that is wrong and what is
 * allowed: fault, rank list ("3", "1,3", "0-2"), op, key, value. */
int fault_parse(struct fault_spec *spec, const char *text, struct error *err);

/* Sets a usage error that begins with the spec as it was typed. -EINVAL. */
int fault_usage(struct error *err, const struct fault_spec *spec, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Value of a key, or NULL; as a number, which the parser has checked; true if it is this word. */
const char *fault_arg(const struct fault_spec *spec, const char *key);
double fault_real(const struct fault_spec *spec, const char *key, double otherwise);
int64_t fault_whole(const struct fault_spec *spec, const char *key, int64_t otherwise);
bool fault_says(const struct fault_spec *spec, const char *key, const char *word);

/* Returns true if the rank is one of its culprits, the last one of the job by default. */
bool fault_names(const struct fault_spec *spec, int rank, int nranks);

/* Choose the way of a spec whose fault has some: the first that fits the machine, the call and what the user
 * gave (outcome=, keys). 0; -ENOTSUP with what is missing in words in `why`. */
int fault_choose_way(struct fault_spec *spec, const struct fault_machine *machine,
		     const struct planned_call *planned, char *why, size_t len);

/* Fires by returning FAULT_SWALLOW, and nothing else. */
int fault_swallow(const struct fault_act *act);

/* Result of `fire` if another call or init was made instead, with status `rc`. */
int fault_swallowed(int rc);

/* Makes this call instead of the requested one. The result of `fire`. */
int fault_replace(const struct fault_act *act, const struct call *call);

/* The ranks that a job needs for it. */
int fault_ranks(const struct fault *fault);

/* Tells whether `spec` can run in a job of `nranks` ranks here. 0; or -ENOTSUP, with what is
 * missing in words in `why`: a backend that can have the fault, a need of the machine. */
int fault_runs(const struct fault_spec *spec, const struct fault_machine *machine, char *why,
	       size_t len);

/* Print --list-faults, a line a fault: name, outcomes on the machine's backend or what it lacks, what
 * the culprit does. With `only` not NULL print all of one fault: moments, keys, needs, outcomes,
 * source. Every line starts with '#'. */
void fault_list(FILE *out, const struct fault_machine *machine, const struct fault *only);
