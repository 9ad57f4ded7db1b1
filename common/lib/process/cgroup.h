/* cgroup.h: memory cgroups, version 1 and 2: one of our own for a rank, and what the kernel says
 * of any. */
#pragma once

#include <sys/types.h>

#define CGROUP_PATH 512

struct cgroup {
	char path[CGROUP_PATH]; /* its folder; "" for none */
	char link[160];		/* in the run's folder, so that whoever removes that removes the
	                         * cgroup too; "" for none */
};

/* The folder of the memory cgroup that a process is in now, to `path`. 0; -ENOENT where the kernel has
 * no memory controller or does not show it. */
int cgroup_of(pid_t pid, char *path, size_t len);

/* Make an empty one below our own or, in version 2, below the nearest one above where that
 * works: "hangar-UID-PID-NAME". While it exists the folder `run` of the run (common/lib/process/leftovers.h;
 * NULL: no run's) has a link to it. 0, or a negative errno and path "": no controller, no right,
 * or none that could be given a limit. */
int cgroup_make(struct cgroup *cgroup, const char *name, const char *run);

/* Move the calling process in. 0 or a negative errno. */
int cgroup_enter(const char *path);

/* From now on: at most `room` bytes more than are charged to it, and no swap. 0 or a negative
 * errno. */
int cgroup_limit(const char *path, size_t room);

/* Returns how often the kernel killed a process there for lack of memory; -1: unknown. */
int64_t cgroup_oom_kills(const char *path);

/* Remove it, waiting up to a second for its last process to be gone; nothing for path "". */
void cgroup_remove(struct cgroup *cgroup);

/* Remove the cgroup of ours that `link` points to, if it does. 0; a negative errno while
 * processes are in it. */
int cgroup_remove_link(const char *link);

/* Bytes that can still be allocated before the kernel must kill or swap: the minimum of
 * MemAvailable and of what every memory cgroup above this process has left (version 1 and 2).
 * SIZE_MAX when nothing is known. `root` is put before /proc and /sys: "" outside of tests. */
size_t host_memory_available(const char *root);
