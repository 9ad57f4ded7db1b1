/* leftovers.h: files that a killed run leaves on a host, and their removal. */
#pragma once

#include "base/error.h"
#include "base/proc_stat.h"

/* A process' mapped shared-memory files of NCCL. NCCL removes them itself unless it is killed. */
struct leftovers {
	char *paths; /* each ended by a NUL (argz.h) */
	size_t len;
};

/* Notes the /dev/shm/nccl-* files that `pid` maps; call it before a kill. */
void leftovers_note(struct leftovers *leftovers, pid_t pid);
/* Unlinks those that still exist and frees the list. */
void leftovers_remove(struct leftovers *leftovers);

/* A folder in /dev/shm for Open MPI's files, shared by all supervisors of a run on this host. The
 * last release removes it, and the memory cgroups that it links to (process/cgroup.h). Every user
 * holds a lock on it, so the next run's open can remove folders of killed runs. */
struct run_folder {
	char path[128];
	int fd; /* -1: none */
};

/* Makes or joins /dev/shm/hangar-UID-KEY. Returns 0 or a negative errno with the error set. */
int run_folder_open(struct run_folder *folder, const char *key, struct error *err);
void run_folder_release(struct run_folder *folder);

#define RUN_OVER (-2) /* a code: the run ended well, and mpirun's code counts */

/* Notes the exit code of the run `key`, and the lines that were printed with it, in its folder, if it has one here.
 * The parent of a bare start ends with that code, whatever mpirun makes of the ranks' ends. */
void run_folder_note_end(const char *key, int code, const char *lines);

/* Returns true if the run `key` has ended, as its folder here has it: *code is then the exit code of a process that comes late. */
bool run_folder_ended(const char *key, int *code);

/* Returns the noted code, or `otherwise`. The lines that an mpirun which does not run kept to itself go to `lines`, NULL: nowhere. */
int run_folder_code(const struct run_folder *folder, int otherwise, FILE *lines);

/* Notes that a process of the run `key` has begun, in its folder, if it has one here; and asks for that. */
void run_folder_note_begun(const char *key);
bool run_folder_begun(const struct run_folder *folder);

/* Removes the folder at `path`, unless a process of its run lives or another user owns it. */
void run_folder_remove(const char *path);

/* Returns true if others have joined the folder. */
bool run_folder_joined(const struct run_folder *folder);

/* Returns true if others have joined the folder and only the caller holds it (/proc/locks). */
bool run_folder_deserted(const struct run_folder *folder);

/* Tells how those who hold the folder are, the caller apart: HOLD_NONE if one of them runs or cannot be read, HOLD_GONE
 * if there are none, else how the first, *pid, is held. With a `signal` each is sent that. */
enum proc_hold run_folder_hold(const struct run_folder *folder, pid_t *pid, int signal);
