/* perf_rank.h: a rank's process, from MPI_Init to its outcome. */
#pragma once

#include "backend/call.h"
#include "process/cgroup.h"
#include "process/launch.h"
#include "process/supervisor.h"
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
	const char *folder;	      /* of the run, borrowed for its lifetime */
	pid_t launcher;		      /* the supervisor's parent */
	struct record_memory *memory; /* shared with the supervisor */
	struct perf_hooks hooks;      /* from a test program */
	struct injector *injector;    /* --fault; NULL: none */
	double deadline_factor;	      /* factor of all deadlines */
	struct fault_machine machine; /* resources for faults */
	struct cgroup cgroup;	      /* the rank's own, if a fault needs one */
	int closing[2];	   /* perf_closing.c: ends of the supervisor and of its rank; -1: none */
	char closing_said; /* what the rank has answered */
	struct fault_record *fault_record; /* shared with the supervisor alone */
};

/* supervisor_run's rank_main; `arg` is a struct program. Returns the exit code. */
int perf_rank(void *arg);

/* perf_closing.c: the closing lines of a sweep that a signal ends; supervisor_run's hooks. */
void closing_open(struct program *program, struct supervisor_hooks *hooks);

/* perf_fired.c: reports faults that did not fire, without the diagnoser. */
struct fired_watch {
	struct supervisor_hooks hooks; /* the monitor's hooks */
	const struct program *program;
	bool done;
};

/* In a run with faults, wraps the monitor's `hooks`: at the end a supervisor prints each --fault
 * that did not fire on its rank, and a test program's hook is called when one fires. Otherwise
 * leaves them. `watch` must outlive them. */
void fired_wrap(struct fired_watch *watch, struct supervisor_hooks *hooks,
		const struct program *program);

/* Returns the exit code of a finished run: `code`, but 1 if --expect made it 0 and a fault did not
 * fire on the rank, since such a run proves nothing. */
int fired_exit_code(const struct program *program, int code);
