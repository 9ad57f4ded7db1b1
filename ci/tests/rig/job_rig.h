/* job_rig.h: the job of a test under mpirun, and the mpi backend, which its library has. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"

#define backend_mpi (*backend_find("mpi"))

/* All processes take part. Returns 0 or a negative errno. */
int rig_job_open(struct job *job, const struct watch *watch, struct error *err);
