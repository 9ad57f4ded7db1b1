/* gather.h: evidence of hosts without a shared file system, brought to rank 0's host over MPI.
 * After the run: a run that hangs has no MPI left to use. */
#ifndef HANGAR_GATHER_H
#define HANGAR_GATHER_H

#include "base/error.h"

struct gather {
	int rank, size;
	int hosts, files; /* rank 0: folders that were not its own, files taken from them */
};

/* Start MPI (one process per host is enough; more do no harm) and copy from every other host's
 * `dir` what rank 0's lacks: the files rank-N.fr, rank-N.*.txt, rank-N.counters.json and
 * run.json. Of a file that both have the larger stays, which of a recording holds more calls.
 * Processes that see one and the same folder send it once. 0, or a negative errno with the error
 * set, on rank 0 alone. gather_end is due in either case. */
int gather_begin(struct gather *gather, const char *dir, struct error *err);

/* All processes end with rank 0's exit code, which is returned. */
int gather_end(int code);

#endif
