/* launch.h: who started this process, and starting itself under mpirun when nobody did. */
#pragma once

#include "base/error.h"

struct launch {
	bool launched;	/* by mpirun, srun or another launcher that announced itself */
	bool own;	/* by our own bare start: -g and -t are answered already */
	int announced;	/* processes it says it started, 0: it does not say */
	int rank;	/* this process' number according to it, 0 if it does not say */
	int local;	/* of these on this host, as Open MPI's daemons say; 0: nobody says */
	int local_rank; /* among them */
	char key[33];	/* names the run on this host; the same for all its processes */
};

/* Read the launcher's environment. A Slurm batch script outside a step counts as no launcher. */
void launch_detect(struct launch *launch);

/* Returns what `devices` returns, 0 to 255, asked in a child process: counting GPUs starts
 * threads. */
int launch_count(int (*devices)(void));

/* Cores that this process may run on. */
int launch_cores(void);

/* Run argv under mpirun with `ranks` processes, wait, remove what it left. Says on standard
 * error what it runs. Returns the exit code. */
int launch_self(int ranks, char **argv, struct error *err);

/* The place of the progress line depends on what the standard error and output of whoever typed the
 * command are: no terminal, a terminal, one that shows the table's rows as well. */
enum progress_line { PROGRESS_NONE, PROGRESS_ALONE, PROGRESS_AMONG_ROWS };
enum progress_line launch_progress(void);
