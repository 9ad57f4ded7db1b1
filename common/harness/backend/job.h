/* job.h: how the ranks meet: rank numbers, nodes, barriers and gathers over MPI, apart from the
 * traffic under test. */
#pragma once

#include <mpi.h>

#include "base/error.h"
#include "process/watch.h"

struct job {
	int rank, nranks; /* among the ranks that take part in the measurement */
	int node, nnodes; /* nodes in the order of their lowest rank */
	int local_rank, local_ranks;
	int *node_of; /* nranks entries */
	bool spare;   /* this process is surplus: it only waits in job_release */
	/* what a collective sees as rank and nranks: with NCCL_TESTS_SPLIT those of the group that
	 * shares a communicator */
	int group_rank, group_size;
	MPI_Comm comm;	     /* control traffic of all ranks above; a duplicate,
	                           * never measured */
	MPI_Comm group_comm; /* control traffic inside the group */
	MPI_Comm traffic;    /* the group's ranks; another duplicate, from which the mpi
	                           * backend makes its own */
	MPI_Comm world;	     /* all processes, for spare ones to wait on */
	double deadline;     /* seconds that the small exchanges below may wait for the slowest
	                           * rank; the user raises it before phases in which ranks work
	                           * alone for long */
	bool unhurried;	     /* -T does not cut the waits of these exchanges: some rank is at
	                           * work of its own */
	const struct watch *watch;
	struct error *err;
	char library[96]; /* MPI library version, one line */
};

/* MPI_Init and the communicators. `announced` is what the launcher says the number of processes
 * is (0: unknown): fewer seen by MPI is a usage error. Until job_select all processes take part in
 * the exchanges below. Collective over all processes. */
int job_init(struct job *job, const struct watch *watch, struct error *err, int announced);

/* job_init in two parts. What lies between them: nothing has been sent between hosts by then but by the launcher. */
int job_open(struct job *job, const struct watch *watch, struct error *err, int announced);
int job_join(struct job *job);

/* Between the two, over the launcher's network: one process says a text, of less than
 * MPI_MAX_PORT_NAME bytes; others ask for it, for a second at most. Not collective. Return false where
 * that cannot be. */
bool job_publish(const char *name, const char *text);
bool job_lookup(const char *name, char *text);

/* Between the two: each process sends others an empty message, and waits for theirs
 * (process/hearing.h). The watch is told who has not been heard of. Collective over all processes. */
int job_hear(struct job *job);

/* Ranks with the same color form a group. Collective over all taking part; after job_select. */
int job_split(struct job *job, int color);

/* Keep only `take_part` of this node's lowest local ranks (0: all). Collective over all
 * processes; sets job->spare. */
int job_select(struct job *job, int take_part);

/* Wait for everybody, free, finalise MPI. Spare processes wait here, asleep, until the others
 * are done. */
void job_release(struct job *job);

/* All wait, under the name `what` (a constant). 0 or a negative errno with the error set, as all
 * of these. */
int job_barrier(struct job *job, const char *what);
/* The largest of everybody's value, in place. */
int job_max(struct job *job, double *values, int n);
int job_max_int(struct job *job, int *values, int n);
int job_sum_int64(struct job *job, long long *values, int n);
/* From rank 0 to all; from group_rank 0 to its group. */
int job_bcast(struct job *job, void *data, size_t bytes);
int job_group_bcast(struct job *job, void *data, size_t bytes);
/* To rank 0: `all` holds nranks x bytes there, ignored elsewhere. */
int job_gather(struct job *job, const void *mine, size_t bytes, void *all);
/* The same from local rank 0 of each node alone: `all` holds nnodes x bytes there, by node. */
int job_gather_nodes(struct job *job, const void *mine, size_t bytes, void *all);

/* Finds out whether nothing failed on any rank. Everybody calls it with its own result (0 or
 * negative errno); it returns 0 when all are 0, else on every rank a negative errno, with the
 * lowest failing rank's error copied to every rank's err. */
int job_agree(struct job *job, int rc);

/* From now on the exchanges give the slowest rank `seconds`, whatever -T says. Returns what was;
 * job_hurry restores it. */
struct job_time {
	double deadline;
	bool unhurried;
};
struct job_time job_unhurry(struct job *job, double seconds);
void job_hurry(struct job *job, struct job_time former);

/* A barrier behind work that each rank does by itself: job->deadline holds, whatever -T says.
 * `what` is a string constant. */
int job_await_work(struct job *job, const char *what);
