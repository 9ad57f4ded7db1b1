/* evidence.h: what is known of a run's ranks after the fact, on disk and in memory.
 *
 * A folder: rank-N.fr is the rank's flight recorder memory as it was (faults/watch/record.h, version in its header);
 * rank-N.json says how its process was (see evidence_save); run.json what was run. Everything may be missing, torn or hostile: the
 * reader takes what is sound and says what is not. */
#ifndef HANGAR_EVIDENCE_H
#define HANGAR_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "record.h"
#include "view.h"

struct evidence_rank {
	bool present;             /* anything at all is known */
	struct rank_view view;    /* process state, phase, wait; zero where unknown */
	char state;               /* letter of /proc/PID/stat, 0: unknown */
	char syscall[24];         /* system call it is in: "futex" "read" "nanosleep"...; "" running or unknown */
	uint64_t netns;           /* number of its network namespace (/proc/PID/ns/net), 0: unknown */
	double cpu_share;         /* of the last tenth of a second in which it ran or waited for a processor, -1: unknown */
	struct record *calls;     /* sound records, oldest first; owned */
	size_t ncalls;
	bool wrapped;             /* older calls have left the ring */
	char *stack;              /* its threads' native stacks as text (rank-N.stack.txt); owned, NULL: none */
};

struct evidence {
	int nranks;               /* as the ranks or run.json say; at least the highest rank seen + 1 */
	struct evidence_rank *ranks; /* nranks entries; owned */
	char backend[16];
	char command[1024];
	char remarks[1024];       /* what is missing or unsound, sentences; "" when nothing */
	char *witness;            /* what NCCL RAS answered, as text (ras.txt); owned, NULL: was not asked */
};

/* Copy the sound records of a live or mapped memory, oldest first. 0 or -ENOMEM. Hostile memory is fine. */
int evidence_take_calls(struct evidence_rank *rank, const struct record_memory *memory);

/* State letter, system call and processor share of a live process (reads /proc twice, 100 ms apart in total for all ranks). */
void evidence_probe(struct evidence *evidence);

/* Write to `dir`, which exists. `memories[i]` is rank i's memory or NULL. 0 or a negative errno with the error set. */
int evidence_save(const struct evidence *evidence, const struct record_memory *const *memories,
                  const char *dir, struct error *err);

/* Read what is in `dir`. 0 when there was anything to read; -ENOENT or -EINVAL with the error set otherwise. Files of ranks
 * above 1 << 20, of wrong size, magic or version are passed over with a remark. */
int evidence_load(struct evidence *evidence, const char *dir, struct error *err);

void evidence_release(struct evidence *evidence);

#endif
