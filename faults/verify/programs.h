/* programs.h: a schedule as a program that makes its calls. */
#pragma once

#include "verify/schedule.h"

/* PROGRAM_TEXT: as schedule_print. */
enum program { PROGRAM_TEXT, PROGRAM_NCCL, PROGRAM_MPI, PROGRAM_TORCH, PROGRAM_COUNT };

/* "text" "nccl" "mpi" "torch". */
const char *program_name(enum program program);

/* Writes the program. `head`: lines for its beginning, which become comments. */
void program_print(FILE *out, enum program program, const struct schedule *schedule,
		   const char *head);

/* How a program over MPI came out. */
enum program_end { PROGRAM_HANGS, PROGRAM_COMPLETES, PROGRAM_FAILS };

/* Compiles the program over MPI and starts it, and waits so many seconds for its end. 0, or a negative errno with the error
 * set: OUTCOME_UNSUPPORTED without mpicc and mpirun. */
int program_run(const struct schedule *schedule, double seconds, enum program_end *end,
		struct error *err);
