/* leftovers.h: what a run would leave on a host when its processes are killed, and its removal. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

/* Shared-memory files of NCCL that a process has mapped; NCCL removes them itself unless killed. */
struct leftovers {
	char *paths; /* each ended by a NUL (argz.h) */
	size_t len;
};

/* Note what /dev/shm/nccl-* files `pid` maps, before it is killed. */
void leftovers_note(struct leftovers *leftovers, pid_t pid);
/* Unlink them (those that are still there) and free the list. */
void leftovers_remove(struct leftovers *leftovers);

/* A folder in /dev/shm for Open MPI's own files, shared by all supervisors of a run on this
 * host; the last one to release it removes it, and the memory cgroups that it has links to
 * (common/lib/process/cgroup.h). A lock held on the folder says that somebody lives, so folders of runs that
 * were killed whole are found and removed by the next run's open. */
struct run_folder {
	char path[128];
	int fd; /* -1: none */
};

/* Make or join /dev/shm/hangar-UID-KEY. 0 or negative errno with the error set. */
int run_folder_open(struct run_folder *folder, const char *key, struct error *err);
void run_folder_release(struct run_folder *folder);

/* The folder at `path`, unless a process of its run lives, or it is somebody else's. */
void run_folder_remove(const char *path);

/* Others have joined it and nobody but the caller, who holds it, is left. False where /proc/locks
 * does not say. */
bool run_folder_deserted(const struct run_folder *folder);
