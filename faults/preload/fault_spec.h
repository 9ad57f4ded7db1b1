/* fault_spec.h: what --fault of hangar_run asks for: one wrong thing that one rank of any program does in one of its
 * calls. Linked into libhangar.so as well. Pure. */
#pragma once

#include "base/call_value.h"

enum preload_fault {
	PRELOAD_SKIP,
	PRELOAD_LATE, /* once: `value` seconds */
	PRELOAD_SLOW, /* from this call on, `value` seconds each */
	PRELOAD_COUNT, /* half the elements, at least one less: never more than the program's buffers hold */
	PRELOAD_DTYPE, /* another type as wide */
	PRELOAD_REDOP,
	PRELOAD_ROOT,
	PRELOAD_EXTRA, /* the call twice */
	PRELOAD_ERROR, /* the result `value`, without the call */
	PRELOAD_EXIT,  /* exit(value) */
	PRELOAD_KILL,
	PRELOAD_STOP,
	PRELOAD_CRASH,
	PRELOAD_FAULTS
};

struct fault_spec {
	enum preload_fault fault;
	int rank;	/* of the run */
	uint64_t call;	/* on its communicator, from 1; of `kind` where one is given */
	int comm;	/* in the order in which the rank made them, from 0; -1: any */
	int comm_ranks; /* a communicator of so many; 0: any */
	int kind;	/* enum call_kind, -1: any */
	double value;
};

/* "skip-call:3@100[,comm=K][,ranks=N][,kind=AllReduce][,value=V]". Returns NULL, or what is wrong with the text, or why
 * such a fault is not made, as the end of a sentence. */
const char *fault_spec_parse(struct fault_spec *spec, const char *text);

/* Returns true if it strikes this rank's call: `nth` of all on the communicator, `nth_kind` of its kind. */
bool fault_spec_hits(const struct fault_spec *spec, int rank, int comm, int comm_ranks, int kind,
		     uint64_t nth, uint64_t nth_kind);

/* The names of all, with blanks between them. */
const char *fault_spec_names(void);
