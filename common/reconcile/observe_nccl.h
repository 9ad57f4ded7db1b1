/* observe_nccl.h: what NCCL wrote of itself into the log files that the user asked it for. */
#ifndef HANGAR_OBSERVE_NCCL_H
#define HANGAR_OBSERVE_NCCL_H

#include <stdbool.h>

#include "observation.h"

/* Read the logs of the job's ranks, as far as this process can, and take the largest communicator's word. `hosts` and
 * `ranks` say which files they are: settings NCCL_DEBUG and NCCL_DEBUG_FILE of each rank's host, its name, the rank's
 * process. Without any, nccl->why says so and how to get them. */
void observe_nccl(const struct observed_host *hosts, int nhosts, const struct observed_rank *ranks,
		  int nranks, struct observed_nccl *nccl);

/* A name as NCCL makes it: %h is the host's name up to its first dot, %p the process, %% a percent sign. False: too
 * long. */
bool observe_nccl_name(const char *pattern, const char *host, int pid, char *name, size_t len);

#endif
