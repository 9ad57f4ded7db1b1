/* fault.h: what a fault is, how one is asked for, and how it fires. One file per fault, one table.
 *
 * A file of this folder says what is broken, never when: the injector decides that from the spec
 * (communicator, index of the call on it, rank), never from time. */
#ifndef HANGAR_FAULT_H
#define HANGAR_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "call.h"
#include "error.h"

#define FAULT_MAX_RANKS 64
#define FAULT_MAX_ARGS 4

enum fault_when { FAULT_BEFORE, FAULT_AFTER }; /* the call is made; "inflight" comes with part two */

struct fault;

/* --fault=NAME[:RANKS][@OP][,key=value...] */
struct fault_spec {
	const struct fault *fault;
	int ranks[FAULT_MAX_RANKS]; /* guilty, ascending, no doubles; default: the last rank */
	int nranks;                 /* 0: default */
	long op;                    /* index of the call on communicator 0, from 1; 0: the schedule's default */
	enum fault_when when;
	struct { char key[16], value[48]; } args[FAULT_MAX_ARGS];
	int nargs;
	const char *text;           /* as typed; borrowed */
};

/* Written by the guilty rank when its fault fires, read by its supervisor alone: the diagnoser never
 * sees it. Lives in shared memory of its own. */
struct fault_record {
	_Atomic uint32_t fired;   /* how often */
	_Atomic uint64_t fired_ns; /* CLOCK_MONOTONIC, of the first time */
};

/* Handed to a fault that fires. */
struct fault_act {
	const struct fault_spec *spec;
	const struct call *call; /* the call that the rank is about to make, or (FAULT_AFTER) has made */
	struct chain *chain;     /* chain_emit() makes a call */
	int rank, nranks;
};

/* What ends a firing: FAULT_PASS lets the call be made (before) or nothing more happen (after). */
enum fault_verdict { FAULT_PASS, FAULT_SWALLOW };

struct fault {
	const char *name;      /* "drop-rank" */
	const char *help;      /* one line */
	const char *source;    /* the incident, thread or paper that it reproduces */
	/* Keys that it takes, "delay=SECONDS code=STATUS", NULL: none. This row is parser and help: SECONDS is a number
	 * from 0 to 86400, STATUS an exit status from 0 to 255, "how=lock|read" one of these words. */
	const char *args;
	int min_ranks;         /* of the job */
	bool only_before;      /* when=after makes no sense */
	bool sticky;           /* fires at the op and at every later call of the rank, on whatever communicator */
	/* Acceptable outcomes per backend, as in --expect, alternatives separated by '|'. NULL: cannot occur there, and
	 * why_not says why. */
	const char *mpi, *nccl;
	const char *why_not;
	/* Fire: act, and say what becomes of the call. May not return at all. A negative errno is an error of the
	 * injection, not the fault. */
	int (*fire)(const struct fault_act *act);
};

/* All faults, NULL-terminated, in the order of --list-faults. */
extern const struct fault *const fault_table[];

/* NULL or the first thing wrong with the table (name, help, source, fire, outcomes well formed). */
const char *fault_table_check(void);

/* The same of any table; in its own right for the tests. */
const char *fault_rows_check(const struct fault *const *table);

/* The fault of that name, or NULL. */
const struct fault *fault_find(const char *name);

/* Parse one spec. 0, or -EINVAL with a usage error naming the part that is wrong and what is allowed: unknown fault (lists
 * the known), bad rank list ("3", "1,3", "0-2"), bad op, unknown key or bad value. */
int fault_parse(struct fault_spec *spec, const char *text, struct error *err);

/* Value of a key, or NULL. */
const char *fault_arg(const struct fault_spec *spec, const char *key);

/* Print the table for --list-faults: name, arguments, outcomes on the given backend ("nccl", else mpi), source. Every line
 * starts with '#'. */
void fault_list(FILE *out, const char *backend);

#endif
