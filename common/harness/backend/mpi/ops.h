/* ops.h: shared by the files of the mpi backend. Internal to backend/mpi. */
#pragma once

#include <mpi.h>

#include "backend/backend.h"
#include "backend/call.h"
#include "backend/job.h"
#include "backend/mpi/types.h"

/* A communicator of measured calls. */
struct mpi_comm {
	MPI_Comm comm; /* MPI_COMM_NULL: none */
	int rank, size;
};

struct mpi {
	struct backend be;
	struct mpi_types types;
	struct mpi_comm comms[COMM_SET_MAX];
	uint32_t named;	       /* number of communicators made so far */
	size_t held;	       /* bytes that allocated memory may commit */
	size_t available;      /* free bytes of the node at open, SIZE_MAX: unknown */
	int *counts;	       /* 4 x nranks, for MPI_Alltoallv */
	int depth;	       /* depth of open groups */
	MPI_Request *requests; /* sends and receives of the open group */
	int nrequests, room;
	/* The newest send of the group over a slow link: it starts at `slow_at` seconds; 0: there is none. */
	struct call slow;
	double slow_at;
};

static inline struct mpi *to_mpi(struct backend *be)
{
	return (struct mpi *)be;
}

/* Sets the error of the library: `what` failed with MPI's code `rc`. Returns -EIO. */
int mpi_fail(struct mpi *mpi, const char *what, int rc);

/* job.c: MPI's own; MPI_COMM_NULL of none. */
MPI_Comm mpi_comm_of(const struct job_comm *comm);

/* calls.c: hooks. */
int mpi_issue(struct backend *be, const struct call *call, uint64_t ticket);
int mpi_group_begin(struct backend *be);
int mpi_group_end(struct backend *be);
