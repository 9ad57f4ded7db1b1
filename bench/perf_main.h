/* perf_main.h: the program around a collective. */
#pragma once

#include "backend/call.h"
#include "backend/collective.h"
#include "inject/fault.h"

/* NAME_perf.c: what is special to each. */
extern const struct collective all_gather, all_reduce, alltoall, alltoallv, broadcast, gather,
	hypercube, reduce, reduce_scatter, scatter, sendrecv, p2p_matrix;
/* perf_check.c: all of these but the last, which is none, NULL-terminated, by name. */
extern const struct collective *const collectives[];

/* Options, processes, sweep, output: everything but the collective. Returns the exit code
 * (common/lib/base/outcome.h). */
int perf_main(const struct collective *collective, int argc, char **argv);

/* A test program adds these to a run; NULL: nothing. */
struct perf_hooks {
	/* In every rank's call chain, unless --fault has its own there. */
	const struct call_filter *filter;
	/* Called by a rank's supervisor when it sees that a fault has fired on the rank, once. */
	void (*fired)(int rank, const struct fault_record *record);
};

/* The same with hooks. */
int perf_main_hooked(const struct collective *collective, const struct perf_hooks *hooks, int argc,
		     char **argv);
