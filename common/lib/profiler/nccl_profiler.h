/* nccl_profiler.h: how NCCL carries out calls, as it tells its profiler plugin (NCCL 2.23 on).
 *
 * What links nccl_profiler.c exports ncclProfiler_v1 to v5. NCCL takes the newest that it knows, and has taken all
 * older ones so far (read: 2.23 to 2.30). With NCCL_PROFILER_PLUGIN=STATIC_PLUGIN it looks for them in the program
 * itself and in what is preloaded. Of the events only those are asked for that a call makes on the host as it is
 * enqueued: no proxy and no kernel does anything for them. NCCL looks at the mask of events when a call is made:
 * as long as nobody asks it is 0. */
#pragma once

/* Who is told of each call as the program makes it, where NCCL tells of that (2.28 on, profiler_v5), has a constant of
 * the name nccl_listener. */
struct nccl_told { /* as profiler_v5 declares it */
	uint64_t type;
	void *parent;
	int rank;
	const char *func; /* "AllReduce" */
	size_t count;
	const char *datatype; /* "ncclFloat32" */
	int root;
	void *stream;
	bool captured;
};
struct nccl_listener {
	/* An NCCL that has the word `own` among its data makes a communicator, whose hash is the same on all
	 * its ranks. Returns what it is told of by; NULL: nothing is told of it. */
	void *(*made)(const void *own, uint64_t hash, int nranks, int rank);
	void (*gone)(void *comm);
	/* The outermost group begins; what is in it was launched: on the thread that makes its calls. */
	void (*group)(bool begins);
	/* A collective call, in a group. */
	void (*call)(void *comm, const struct nccl_told *call);
};
extern const struct nccl_listener nccl_listener __attribute__((weak));

/* The calls that were told of agree in this. */
struct nccl_choice {
	/* String constants. NULL: no call was told of, they differ, or the name is unknown. */
	const char *algo;  /* "Ring", "Tree", "NVLSTree" ...; "P2P": sends and receives */
	const char *proto; /* "LL", "LL128", "Simple" */
	int channels; /* of one call; -1: as NULL above, sends and receives, or an NCCL before 2.27, which
		       * tells only how many there may be */
};

/* Have NCCL look here, when it makes its first communicator, unless NCCL_PROFILER_PLUGIN is set. Sets the
 * environment: before there are threads. Returns false if it is set to something else. */
bool nccl_profiler_offer(void);

/* Why NCCL of this version (ncclGetVersion's), which has made a communicator, does not tell how it carries out calls: one
 * line; NULL: it does. */
const char *nccl_profiler_refusal(int version);

/* NCCL tells of calls from now on, or no more. */
void nccl_profiler_ask(bool on);

/* What was told of calls of this thread since it asked before, into *choice. NCCL tells of a call on the thread that
 * launches it, before the call, or the end of its group, returns; of captured calls and on non-blocking
 * communicators elsewhere, which is lost. */
void nccl_profiler_take(struct nccl_choice *choice);
