/* run_ranks.h: what the environments of a run's ranks say: NCCL's settings, where hosts meet, which job. */
#pragma once

#include "record/record.h"

/* Copies the variable that a process of this user was started with. False: not set, not read. */
bool run_variable(pid_t pid, const char *name, char *value, size_t len);

/* Where a rank is in a job of several hosts, and where the leaders of these meet. */
struct run_place {
	int node, nodes;
	char host[256], port[16]; /* of rank 0's leader; a name or address */
	uint64_t token;
};

/* Finds the place of rank `rank` in its launcher's variables (torchrun's, mpirun's, srun's).
 * `given` is HOST:PORT, or NULL for MASTER_ADDR and the port behind MASTER_PORT. false: one host,
 * or no variable says where. Pure. */
bool run_place(struct run_place *place, char *const *environment, int rank, const char *given);

/* The job of a launcher. Ranks with the same name are of one job, and those with the same agent: torchrun restarts its ranks,
 * whose port may be another then. */
struct run_job {
	char name
		[64]; /* "127.0.0.1:29500" (MASTER_ADDR, MASTER_PORT), "mpirun-54350", "slurm-12.0"; "": not known */
	pid_t pid;   /* of the rank */
	pid_t agent; /* torchrun's process; 0: none is known */
};

/* Writes the name of the job that these variables of a rank belong to. Pure. */
void run_job_name(char *const *environment, char *name, size_t len);
/* The job of the rank of this process. */
void run_job_of(struct run_job *job, pid_t pid);

/* Notes in the rank's record, once, the NCCL settings and version that its process was started
 * with. Notes, too, where the leaders of its job's hosts meet. Settings that the program makes
 * later are not known. Returns true if the notes are new. */
bool run_note_rank(struct record_header *rank, const char *meeting_point);

/* Writes in which settings that matter the ranks of these records differ. False: in none. */
bool run_settings_differ(struct record_memory *const *memories, size_t n, char *line, size_t len);
