/* run_ranks.h: what the environments of a run's ranks say: NCCL's settings, where hosts meet. */
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

/* Notes in the rank's record, once, the NCCL settings and version that its process was started
 * with. Notes, too, where the leaders of its job's hosts meet. Settings that the program makes
 * later are not known. Returns true if the notes are new. */
bool run_note_rank(struct record_header *rank, const char *meeting_point);

/* Writes in which settings that matter the ranks of these records differ. False: in none. */
bool run_settings_differ(struct record_memory *const *memories, size_t n, char *line, size_t len);
