/* perf_rank.h: what a rank's process does, from MPI_Init to its outcome. */
#pragma once

#include "backend/call.h"
#include "process/cgroup.h"
#include "process/launch.h"
#include "inject/inject.h"
#include "record/record.h"
#include "perf_main.h"

/* Made by the supervisor before it forks; the rank gets a copy. */
struct program {
	const char *name; /* "all_reduce_perf" */
	const struct collective *collective;
	const struct options *options;
	const struct launch *launch;
	int argc;
	char **argv;
	const char *folder;		   /* of the run, for what lives as long as it */
	struct record_memory *memory;	   /* shared with the supervisor */
	struct perf_hooks hooks;	   /* of a test program */
	struct injector *injector;	   /* --fault; NULL: none */
	double deadline_factor;		   /* all deadlines times this */
	struct fault_machine machine;	   /* what faults can have here */
	struct cgroup cgroup;		   /* the rank's own, where a fault needs one */
	struct fault_record *fault_record; /* shared with the supervisor, not with the diagnoser */
};

/* supervisor_run's rank_main; `arg` is a struct program. Returns the exit code. */
int perf_rank(void *arg);
