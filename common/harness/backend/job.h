/* job.h: rank numbers, nodes, barriers and gathers of a run, apart from the traffic under test: over MPI, or over TCP. */
#pragma once

#include "base/error.h"
#include "process/launch.h"
#include "process/watch.h"

struct job_comm; /* ranks that exchange words, in the order of their numbers; of the implementation */
struct job_ops;

struct job {
	int rank, nranks; /* among the ranks that take part in the measurement */
	int node, nnodes; /* nodes, in the order of their lowest rank */
	int local_rank, local_ranks;
	int *node_of; /* nranks entries */
	bool spare;   /* a surplus process that only waits in job_release */
	/* rank and nranks of a collective; with NCCL_TESTS_SPLIT within the group */
	int group_rank, group_size;
	const struct job_ops *ops;
	struct job_comm *comm;	     /* control traffic of all ranks above; never measured */
	struct job_comm *group_comm; /* control traffic inside the group */
	struct job_comm *traffic;    /* the group's ranks; a parent of the mpi backend's */
	struct job_comm *leaders;    /* local rank 0 of each node; NULL elsewhere */
	struct job_comm *world;	     /* all processes, for the wait of spare ones */
	double deadline; /* seconds that the small exchanges below wait for the slowest rank;
				      * callers raise it before phases in which ranks work alone for long */
	bool alone;	 /* no other rank knows of this one's failure to meet them */
	char absent[64]; /* ranks that did not come, "1,3", as all that did know; as many as fit */
	bool extended;	 /* -T does not cut these waits: some rank works alone */
	const struct launch *launch;
	const struct watch *watch;
	struct error *err;
	char library[96]; /* MPI library version, one line; "TCP" */
};

enum job_sum { JOB_MAX_DOUBLE, JOB_MAX_INT, JOB_SUM_INT64 };

/* One way to exchange. Functions return 0 or a negative errno with the error set, which names the exchange `what`; they are
 * collective over the ranks of `comm` and block. The callers below watch the waits. */
struct job_ops {
	bool mpi;		       /* the mpi backend's ranks can meet */
	const char *opening, *closing; /* names of waits */
	/* Sets rank and nranks; job_open has checked nothing yet. */
	int (*open)(struct job *job);
	/* Makes job->world. */
	int (*join)(struct job *job);
	/* NULL: no such thing, see job_publish. */
	bool (*publish)(const char *name, const char *text);
	bool (*lookup)(const char *name, char *text);
	/* Groups ranks by color; negative: takes no part, and *to is NULL. */
	int (*split)(struct job *job, struct job_comm *from, int color, struct job_comm **to);
	/* Groups the ranks of a host. */
	int (*split_host)(struct job *job, struct job_comm *from, struct job_comm **to);
	void (*free)(struct job_comm *comm);
	void (*place)(struct job_comm *comm, int *rank, int *size);
	int (*barrier)(struct job *job, struct job_comm *comm, const char *what);
	int (*sum)(struct job *job, struct job_comm *comm, enum job_sum sum, void *values, int n,
		   const char *what);
	int (*bcast)(struct job *job, struct job_comm *comm, int root, void *data, size_t bytes,
		     const char *what);
	/* To rank 0, or to all. */
	int (*gather)(struct job *job, struct job_comm *comm, const void *mine, size_t bytes,
		      void *all, const char *what);
	int (*all_gather)(struct job *job, struct job_comm *comm, const void *mine, size_t bytes,
			  void *all, const char *what);
	/* A barrier of all processes, during which surplus ones sleep. */
	void (*await_all)(struct job *job);
	void (*close)(struct job *job);
};

/* Opens MPI, or where the launcher is none of MPI's, or MPI's library is not here, meets over TCP, and makes the
 * communicators. If fewer ranks come than the launcher announces, that is a usage error. Until job_select all processes take
 * part in the exchanges below. `launch` is borrowed. Collective over all processes. */
int job_init(struct job *job, const struct watch *watch, struct error *err,
	     const struct launch *launch);

/* The two parts of job_init. Between them only the launcher has sent data between hosts. */
int job_open(struct job *job, const struct watch *watch, struct error *err,
	     const struct launch *launch);
int job_join(struct job *job);

/* Between the two parts, over the launcher's network: one process publishes a text of less than
 * JOB_TEXT bytes; others look it up for a second at most. Return false on failure. */
#define JOB_TEXT 1024
bool job_publish(struct job *job, const char *name, const char *text);
bool job_lookup(struct job *job, const char *name, char *text);

/* Groups ranks by color. Collective over all ranks that take part; after job_select. */
int job_split(struct job *job, int color);

/* Selects `take_part` of the node's lowest ranks (0: all), sets job->spare. Collective. */
int job_select(struct job *job, int take_part);

/* Waits for all processes, frees, leaves MPI. Spare processes sleep here meanwhile. */
void job_release(struct job *job);

/* A barrier, with `what` (a constant) as the wait's name. All return 0 or a negative errno. */
int job_barrier(struct job *job, const char *what);
/* The same inside of a wait that is watched already. */
int job_meet(struct job *job);
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
/* Before job_select: what each process of this host gives, in the order of their numbers, for free(); NULL on failure.
 * *rank and *n: this one's place, and their number. */
void *job_gather_host(struct job *job, const void *mine, size_t bytes, int *rank, int *n);

/* Gives all ranks the data of the lowest for which `has` is true: *from, -1 where none has. */
int job_share(struct job *job, bool has, void *data, size_t bytes, const char *what, int *from);

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
