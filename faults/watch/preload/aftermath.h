/* aftermath.h: what becomes of a wait that was called a hang, in a program that goes on by itself. Pure. */
#pragma once

#include "decide/decide.h"

/* How a rank was when the verdict was printed. */
struct aftermath_rank {
	int32_t pid;
	uint64_t since_ns; /* of the wait that it was in, 0: of none */
	uint64_t heartbeat;
	bool broke; /* an error or abort of before says nothing of this wait */
};

struct aftermath {
	struct aftermath_rank *ranks; /* of this host; owned */
	size_t n;
	uint64_t began_ns; /* of the longest wait among them */
	uint64_t moved_ns; /* since when all have gone on, 0: not all have */
};

/* Takes the ranks as they are at the verdict; frees what it had. */
void aftermath_begin(struct aftermath *aftermath, const struct decide_rank *ranks, size_t n,
		     uint64_t now);
void aftermath_release(struct aftermath *aftermath);

/* Returns after how many seconds the wait has ended well: all ranks live, have left it, or made a
 * step where they were in none, and that for a second, or have ended with 0; no communicator was
 * aborted or failed. 0: it has not. */
double aftermath_look(struct aftermath *aftermath, const struct decide_rank *ranks, size_t n,
		      uint64_t now);
