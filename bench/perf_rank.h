/* perf_rank.h: a rank's process, from MPI_Init to its outcome. */
#pragma once

#include "backend/call.h"
#include "process/cgroup.h"
#include "process/launch.h"
#include "inject/inject.h"
#include "record/record.h"
#include "perf_main.h"

/* Filled in by the supervisor before it forks; the rank has a copy. */
struct program {
	const char *name; /* "all_reduce_perf" */
	const struct collective *collective;
	const struct options *options;
	const struct launch *launch;
	int argc;
	char **argv;
	const char *folder;		   /* of the run, borrowed for its lifetime */
	struct record_memory *memory;	   /* shared with the supervisor */
	struct perf_hooks hooks;	   /* from a test program */
	struct injector *injector;	   /* --fault; NULL: none */
	double deadline_factor;		   /* factor of all deadlines */
	struct fault_machine machine;	   /* resources for faults */
	struct cgroup cgroup;		   /* the rank's own, if a fault needs one */
	struct fault_record *fault_record; /* shared with the supervisor, hidden from the
					    * diagnoser */
};

/* supervisor_run's rank_main; `arg` is a struct program. Returns the exit code. */
int perf_rank(void *arg);
