/* backend_kind.h: what the name of a backend says, also where this build lacks it: rows, faults and
 * evidence on disk carry the name alone. */
#pragma once

enum backend_flag {
	BACKEND_DEVICE = 1,	/* buffers are GPU memory, ranks take GPUs */
	BACKEND_ASYNC = 2,	/* calls go on after they have returned */
	BACKEND_ABORT = 4,	/* one rank alone can give a communicator up */
	BACKEND_GRAPH = 8,	/* calls can be captured and replayed */
	BACKEND_AVG_FIRST = 16, /* ncclAvg on floats multiplies by 1/n before it adds */
	BACKEND_SOCKETS = 32,	/* communicator init always uses sockets */
	BACKEND_RAS = 64,	/* the library answers RAS queries and logs its rings */
	BACKEND_NO_DATA = 128,	/* calls move nothing: there is nothing to check */
	BACKEND_SETTINGS = 256	/* ranks should have NCCL's settings alike; null: to test that */
};

/* Bits of backend_flag, of each backend that hangar has. */
#define BACKEND_FLAGS_MPI  0u
#define BACKEND_FLAGS_NULL ((unsigned)(BACKEND_NO_DATA | BACKEND_SETTINGS))
#define BACKEND_FLAGS_NCCL                                                                         \
	((unsigned)(BACKEND_DEVICE | BACKEND_ASYNC | BACKEND_ABORT | BACKEND_GRAPH |               \
		    BACKEND_AVG_FIRST | BACKEND_SOCKETS | BACKEND_RAS | BACKEND_SETTINGS))

/* Returns true when the backend of that name has this flag; false for a name that nobody knows,
 * "auto" and "" too. */
bool backend_has(const char *name, enum backend_flag flag);

/* Returns true when there is a backend of that name and it has not this flag. */
bool backend_lacks(const char *name, enum backend_flag flag);

/* The name of the backend whose library calls itself so ("NCCL 2.28.9"); "mpi" when it is no
 * other's. */
const char *backend_of_library(const char *library);

enum alloc_kind {
	ALLOC_NCCL, /* ncclMemAlloc, nccl-tests' kind */
	ALLOC_CUDA  /* cudaMalloc; without a GPU both are host memory */
};
