/* cgroup.h: memory cgroups, version 1 and 2: a cgroup for a rank, and the kernel's data on any. */
#pragma once

#define CGROUP_PATH 512

struct cgroup {
	char path[CGROUP_PATH]; /* its folder; "": none */
	char link[160];		/* link in the run's folder, whose removal removes it; "": none */
};

/* Writes the folder of a process' memory cgroup to `path`. 0, or -ENOENT: none is to be seen. */
int cgroup_of(pid_t pid, char *path, size_t len);

/* Makes an empty cgroup "hangar-UID-PID-NAME" below our own or, in version 2, below the nearest
 * ancestor that allows it. The folder `run` of the run (process/leftovers.h; NULL: no run) gets a
 * link to it. Returns 0, or a negative errno and path "": no controller, no permission, or none
 * that accepts a limit. */
int cgroup_make(struct cgroup *cgroup, const char *name, const char *run);

/* Moves the calling process in. Returns 0 or a negative errno. */
int cgroup_enter(const char *path);

/* Limits the cgroup to `room` bytes above its charge, without swap. 0 or a negative errno. */
int cgroup_limit(const char *path, size_t room);

/* Returns how many processes the kernel killed there for lack of memory; -1: unknown. */
int64_t cgroup_oom_kills(const char *path);

/* Removes the cgroup, after a second at most for its last process. Path "": does nothing. */
void cgroup_remove(struct cgroup *cgroup);

/* Removes the cgroup of ours that `link` points to, if any. 0; a negative errno: it is in use. */
int cgroup_remove_link(const char *link);

/* Returns the bytes that can be allocated before the kernel must kill or swap: the minimum of
 * MemAvailable and of the free bytes of every memory cgroup above this process (version 1 and 2).
 * SIZE_MAX: unknown. `root` is a prefix of /proc and /sys: "" except in tests. */
size_t host_memory_available(const char *root);
