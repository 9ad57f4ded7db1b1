/* nccl_seen.h: facts from the log files that NCCL wrote. */
#pragma once

#include "machine/observation.h"

/* A log that NCCL was asked for by hangar itself. */
struct nccl_asked {
	char pattern[256]; /* "": none */
};

/* Makes NCCL log its connections into `folder`, unless the user makes it log, before its first
 * call. nccl_seen_asked restores the environment once the communicator is there. */
void nccl_seen_ask(struct nccl_asked *asked, const char *folder);
void nccl_seen_asked(const struct nccl_asked *asked);

/* Reads the logs of the job's ranks, as far as this process can, and keeps facts of the largest
 * communicator in the run's part "NCCL". NCCL_DEBUG and NCCL_DEBUG_FILE of the first look name the
 * files, where no name was requested. Without any log, "why" has the reason. */
void nccl_seen_read(const struct nccl_asked *asked, struct observation *observation);

/* A name as NCCL makes it: %h is the host's name up to its first dot, %p the process, %% a percent
 * sign. Returns false where it is too long. */
bool nccl_seen_name(const char *pattern, const char *host, int pid, char *name, size_t len);
