/* backend_kind.h: properties of a backend by its name, also for a backend that this build lacks.
 * Rows, faults and evidence files carry only the name. */
#pragma once

enum backend_flag {
	BACKEND_DEVICE = 1,	/* buffers are GPU memory, ranks take GPUs */
	BACKEND_ASYNC = 2,	/* calls continue after they return */
	BACKEND_ABORT = 4,	/* one rank alone can abort a communicator */
	BACKEND_GRAPH = 8,	/* calls can be captured and replayed */
	BACKEND_AVG_FIRST = 16, /* ncclAvg on floats multiplies by 1/n before the addition */
	BACKEND_SOCKETS = 32,	/* communicator init always uses sockets */
	BACKEND_RAS = 64,	/* the library answers RAS queries and logs its rings */
	BACKEND_SETTINGS = 128, /* ranks should have equal NCCL settings */
	BACKEND_MPI = 256,	/* its ranks are those that MPI finds */
	BACKEND_NO_DATA = 512	/* calls move no data: checks are off, and auto never means it */
};

#define BACKEND_FLAGS_MPI  ((unsigned)BACKEND_MPI)
#define BACKEND_FLAGS_NULL ((unsigned)BACKEND_NO_DATA)
#define BACKEND_FLAGS_NCCL                                                                         \
	((unsigned)(BACKEND_DEVICE | BACKEND_ASYNC | BACKEND_ABORT | BACKEND_GRAPH |               \
		    BACKEND_AVG_FIRST | BACKEND_SOCKETS | BACKEND_RAS | BACKEND_SETTINGS))

/* Returns true if the named backend has this flag; false for an unknown name, "auto" and "" too. */
bool backend_has(const char *name, enum backend_flag flag);

/* Returns true if the named backend exists and does not have this flag. */
bool backend_lacks(const char *name, enum backend_flag flag);

/* The backend of a library with this version text ("NCCL 2.28.9"); "mpi" if no other matches. */
const char *backend_of_library(const char *library);

enum alloc_kind {
	ALLOC_NCCL, /* ncclMemAlloc, nccl-tests' kind */
	ALLOC_CUDA  /* cudaMalloc; without a GPU both are host memory */
};
