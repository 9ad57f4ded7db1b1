/* fault_spec.h: what --fault of hangar_run asks for: one wrong thing that one rank of any program
 * does in one of its calls. Linked into libhangar.so as well. Pure. */
#pragma once

#include "base/call_value.h"
#include "process/slowdown.h"

enum preload_fault {
	PRELOAD_SKIP,
	PRELOAD_LATE,  /* once: `value` seconds */
	PRELOAD_SLOW,  /* from this call on, as `slow` says; a step is a call */
	PRELOAD_PAUSE, /* the same on all ranks, each in turn */
	PRELOAD_CONTEND,
	PRELOAD_COUNT, /* half the elements, at least one less: never more than the program's buffers hold */
	PRELOAD_DTYPE, /* another type as wide */
	PRELOAD_REDOP,
	PRELOAD_ROOT,
	PRELOAD_EXTRA, /* the call twice */
	PRELOAD_GPU,   /* the stream waits `value` seconds ahead of the call; the host does not */
	PRELOAD_WRONG, /* `value` bytes of the call's output are overwritten, in stream order */
	PRELOAD_ERROR, /* the result `value`, without the call */
	PRELOAD_EXIT,  /* exit(value) */
	PRELOAD_KILL,
	PRELOAD_STOP,
	PRELOAD_CRASH,
	PRELOAD_INIT_LATE, /* set-up of a communicator: `value` seconds late, */
	PRELOAD_INIT_RANK, /* as another rank of it, */
	PRELOAD_INIT_SIZE, /* as one of a rank more */
	PRELOAD_FAULTS
};

struct fault_spec {
	enum preload_fault fault;
	int rank;      /* of the run; -1: all (PRELOAD_PAUSE) */
	uint64_t call; /* on its communicator, or of `kind`, from 1; of set-up: which */
	char name[32]; /* a communicator of this name (ncclConfig_t.commName); "": any */
	int order;     /* in which the rank made them, from 0; -1: any */
	int size;      /* a communicator of so many ranks; 0: any */
	int kind;      /* enum call_kind, -1: any */
	double value;
	struct slowdown slow; /* of PRELOAD_SLOW to PRELOAD_CONTEND */
};

/* A call, or a set-up (of no kind, -1), as a rank comes to it. */
struct fault_place {
	int rank;	  /* of the run */
	const char *name; /* of the communicator, "": it has none */
	int order, size;  /* which of the rank's communicators; how many ranks it has */
	int kind;
	uint64_t nth, nth_kind; /* call number; among its kind. At set-up: communicator */
};

/* Slow and alive, slow-rank and the others of process/slowdown.h, have their keys in addition.
 * "skip-call:3@100[,comm=NAME][,size=N][,order=K][,kind=all_reduce][,value=V]". Returns NULL, or
 * what is wrong with the text, or why such a fault is not made, as the end of a sentence. */
const char *fault_spec_parse(struct fault_spec *spec, const char *text);

/* Returns true if it strikes there, where it changes something (a root of calls with one). */
bool fault_spec_hits(const struct fault_spec *spec, const struct fault_place *place);

/* The names of all, with blanks between them. */
const char *fault_spec_names(void);
