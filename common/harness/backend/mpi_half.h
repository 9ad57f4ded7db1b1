/* mpi_half.h: what needs MPI, a library beside the program (libhangar_mpi.so) that is opened where it is asked for: hangar starts
 * where no libmpi is. */
#pragma once

struct backend_ops;
struct job_ops;

struct mpi_half {
	const struct job_ops *job;
	const struct backend_ops *backend;
};

/* The library defines it. */
extern const struct mpi_half hangar_mpi;

/* Returns it; NULL where it, or libmpi, is not there: *why, unless NULL, says so. */
const struct mpi_half *mpi_half(const char **why);
