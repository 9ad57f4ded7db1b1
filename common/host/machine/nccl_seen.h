/* nccl_seen.h: what NCCL wrote of itself into the log files that the user asked it for. */
#pragma once

#include "machine/observation.h"

/* A log that NCCL was asked for by hangar itself. */
struct nccl_asked {
	char pattern[256]; /* "": none */
};

/* Have NCCL log what it connects into `folder`, unless the user has it log: before its first
 * call. The environment is as before after nccl_seen_asked, once the communicator is there:
 * NCCL keeps to what it read. Calls that are timed are not logged. */
void nccl_seen_ask(struct nccl_asked *asked, const char *folder);
void nccl_seen_asked(const struct nccl_asked *asked);

/* Read the logs of the job's ranks, as far as this process can, and keep the largest communicator's
 * word in the run's part "NCCL". Hosts and ranks as they were before the sweep say which files they
 * are: the name that was asked for, else settings NCCL_DEBUG and NCCL_DEBUG_FILE of the rank's host;
 * its name, the rank's process. Without any, "why" says so and how to get them. */
void nccl_seen_read(const struct nccl_asked *asked, struct observation *observation);

/* A name as NCCL makes it: %h is the host's name up to its first dot, %p the process, %% a
 * percent sign. False: too long. */
bool nccl_seen_name(const char *pattern, const char *host, int pid, char *name, size_t len);
