/* launch.h: the launcher of this process, and a start under mpirun if there is none. */
#pragma once

#include "base/error.h"

struct launch {
	bool launched; /* by mpirun, srun or another launcher that sets variables */
	bool numbered; /* by RANK and WORLD_SIZE, or in a Slurm step that has neither PMIx nor PMI: MPI does not find the others */
	bool own;      /* by hangar's own bare start: -g and -t are already applied */
	int announced; /* number of processes by the launcher's variables, 0: unknown */
	int rank;      /* this process' number by those, 0 if unknown */
	int local;     /* number on this host by those; 0: unknown */
	int local_rank; /* number among those on this host */
	char key[33];	/* name of the run on this host, the same for all its processes */
};

/* Reads the launcher's environment. A Slurm batch script outside of a step is none, nor is a step of one task without PMIx,
 * such as `srun --pty bash`. */
void launch_detect(struct launch *launch);

/* In a process that a launcher has started: notes that it has begun. Under an mpirun of launch_self() MPI prints its own
 * messages here, though mpirun is quiet. */
void launch_begin(const struct launch *launch);

/* Returns what `devices`, 0 to 255, says in a child process: counting GPUs starts threads. */
int launch_count(int (*devices)(void));

/* Returns the number of cores that this process may use. */
int launch_cores(void);

/* Held: see below. Killed: supervisors, or mpirun, and no supervisor has said more. */
enum launch_lost { LAUNCH_HELD, LAUNCH_SUPERVISORS, LAUNCH_MPIRUN };

/* The parent of a bare start ends a run of which nothing runs: all are stopped, frozen, traced. */
struct launch_guard {
	double seconds; /* after so long; 0: never */
	/* prints what is lost, for how long; returns the exit code */
	int (*lost)(const void *arg, enum launch_lost lost, double seconds);
	const void *arg;
};

/* Runs argv under mpirun with `ranks` processes, waits, and removes leftover files. Prints the
 * command on standard error. An mpirun that starts no process runs once more, with all of its messages: OUTCOME_INTERNAL
 * if that fails as well. Returns the exit code. */
int launch_self(int ranks, char **argv, const struct launch_guard *guard, struct error *err);

/* The same without mpirun, for ranks that meet over TCP: they are children of this process, which gives them RANK, WORLD_SIZE
 * and a key. When one has failed the others have 3 s. They end with this process, however it ends. */
int launch_ranks(int ranks, char **argv, const struct launch_guard *guard, struct error *err);

/* Place of the progress line, by the user's standard error and output: no terminal, a terminal for
 * errors only, or one that also shows the table. */
enum progress_line { PROGRESS_NONE, PROGRESS_ALONE, PROGRESS_AMONG_ROWS };
enum progress_line launch_progress(void);
