/* types.h: MPI datatypes and reduction operators for every element type. */
#pragma once

#include <mpi.h>

#include "base/dtype.h"

/* Types without an MPI counterpart, and sums of 8-bit integers, have hangar's operators. */
struct mpi_types {
	MPI_Datatype type[DT_COUNT];
	MPI_Op op[DT_COUNT][OP_COUNT]; /* none for mulsum; avg: sum, then _average */
};

/* Call after MPI_Init. Returns MPI_SUCCESS or MPI's error code; release is valid after both. */
int mpi_types_init(struct mpi_types *types);
void mpi_types_release(struct mpi_types *types);

/* Divides `count` sums by nranks: integers are truncated, floats rounded to nearest even. */
void mpi_types_average(enum dtype dtype, void *data, size_t count, int nranks);
