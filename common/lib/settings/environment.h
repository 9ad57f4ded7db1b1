/* environment.h: which environment variables are recorded beside figures and evidence. Pure. */
#pragma once

/* Returns true if this environment variable may be recorded: NCCL_*, CUDA_*, OMPI_MCA_*, UCX_*,
 * SLURM_JOB_ID and the like, but no name that suggests a secret (TOKEN, KEY, PASS, CRED). */
bool environment_recorded(const char *name);
