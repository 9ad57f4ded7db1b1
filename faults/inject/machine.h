/* machine.h: what this machine has of the things that faults need. */
#pragma once

#include "inject/fault.h"

/* Memory cgroups and namespaces: each is tried, in a way that leaves nothing behind; `run`
 * is the run's folder or NULL (common/process/cgroup.h). Forks: before MPI and CUDA. */
void machine_look(struct fault_machine *machine, const char *run);

/* The backend by name (borrowed), and how many GPUs it could use. */
void machine_serve(struct fault_machine *machine, const char *backend, int gpus);
