/* job.h: rank numbers, nodes, barriers and gathers over MPI, apart from the traffic under test. */
#pragma once

#include <mpi.h>

#include "base/error.h"
#include "process/watch.h"

struct job {
	int rank, nranks; /* among the ranks that take part in the measurement */
	int node, nnodes; /* nodes, in the order of their lowest rank */
	int local_rank, local_ranks;
	int *node_of; /* nranks entries */
	bool spare;   /* a surplus process that only waits in job_release */
	/* rank and nranks of a collective; with NCCL_TESTS_SPLIT within the group */
	int group_rank, group_size;
	MPI_Comm comm;	     /* control traffic of all ranks above; never measured */
	MPI_Comm group_comm; /* control traffic inside the group */
	MPI_Comm traffic;    /* the group's ranks; a parent of the mpi backend's */
	MPI_Comm world;	     /* all processes, for the wait of spare ones */
	double deadline;     /* seconds that the small exchanges below wait for the slowest rank;
			      * callers raise it before phases in which ranks work alone for long */
	bool extended;	     /* -T does not cut these waits: some rank works alone */
	const struct watch *watch;
	struct error *err;
	char library[96]; /* MPI library version, one line */
};

/* Calls MPI_Init and makes the communicators. `announced` is the launcher's number of processes (0:
 * unknown); if MPI sees fewer, that is a usage error. Until job_select all processes take part in
 * the exchanges below. Collective over all processes. */
int job_init(struct job *job, const struct watch *watch, struct error *err, int announced);

/* The two parts of job_init. Between them only the launcher has sent data between hosts. */
int job_open(struct job *job, const struct watch *watch, struct error *err, int announced);
int job_join(struct job *job);

/* Between the two parts, over the launcher's network: one process publishes a text of less than
 * MPI_MAX_PORT_NAME bytes; others look it up for a second at most. Return false on failure. */
bool job_publish(const char *name, const char *text);
bool job_lookup(const char *name, char *text);

/* Groups ranks by color. Collective over all ranks that take part; after job_select. */
int job_split(struct job *job, int color);

/* Selects `take_part` of the node's lowest ranks (0: all), sets job->spare. Collective. */
int job_select(struct job *job, int take_part);

/* Waits for all processes, frees, finalises MPI. Spare processes sleep here meanwhile. */
void job_release(struct job *job);

/* A barrier, with `what` (a constant) as the wait's name. All return 0 or a negative errno. */
int job_barrier(struct job *job, const char *what);
/* Replace values by their maximum (or sum) over all ranks, in place. */
int job_max(struct job *job, double *values, int n);
int job_max_int(struct job *job, int *values, int n);
int job_sum_int64(struct job *job, long long *values, int n);
/* Send data from rank 0 to all ranks, or from group_rank 0 to its group. */
int job_bcast(struct job *job, void *data, size_t bytes);
int job_group_bcast(struct job *job, void *data, size_t bytes);
/* Gathers to rank 0: `all` holds nranks x bytes there and is ignored elsewhere. */
int job_gather(struct job *job, const void *mine, size_t bytes, void *all);
/* Gathers from local rank 0 of each node: `all` holds nnodes x bytes on rank 0, by node. */
int job_gather_nodes(struct job *job, const void *mine, size_t bytes, void *all);

/* Agrees on success. Every rank passes its own result (0 or negative errno). Returns 0 if all are
 * 0, else a negative errno, with the lowest failing rank's error in every rank's err. */
int job_agree(struct job *job, int rc);

/* Extends the wait of the exchanges to `seconds`. Returns the state for job_restore_deadline. */
struct job_time {
	double deadline;
	bool extended;
};
struct job_time job_extend_deadline(struct job *job, double seconds);
void job_restore_deadline(struct job *job, struct job_time former);

/* A barrier after work that ranks do alone: job->deadline applies, not -T. `what` is a constant. */
int job_await_work(struct job *job, const char *what);
