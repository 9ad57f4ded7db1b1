/* nccl_profiler.h: algorithm, protocol and channels of calls, from NCCL's profiler plugin interface
 * (NCCL 2.23 on). A program that links nccl_profiler.c exports ncclProfiler_v1 to v6. NCCL uses the
 * newest version that it knows; 2.23 to 2.30 accept all older ones, 2.31 and 2.32 accept v6.
 * NCCL_PROFILER_PLUGIN=STATIC_PLUGIN makes NCCL look in the program and in preloaded libraries. The
 * event mask contains only host events of the enqueue, so proxies and kernels do no extra work.
 * NCCL reads the mask at each call; it is 0 without a request. */
#pragma once

/* A program that wants each call as it is made defines nccl_listener; from NCCL 2.28 on. */
struct nccl_told { /* a collective, as profiler_v5 declares it */
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
struct nccl_told_pair { /* a send or receive; ncclAlltoAll, ncclGather and ncclScatter are groups of these */
	uint64_t type;
	void *parent;
	int rank;
	const char *func; /* "Send", "Recv" */
	size_t count;
	const char *datatype;
	void *stream;
	bool captured;
};
enum nccl_group {
	NCCL_GROUP_ALONE,  /* begins, around one function of NCCL's */
	NCCL_GROUP_BEGUN,  /* by the program */
	NCCL_GROUP_ENDING, /* its calls go to be launched */
	NCCL_GROUP_ENDED
};
struct nccl_listener {
	/* An NCCL library whose data contain the word `own` makes a communicator; `hash` is the
	 * same on all its ranks. Returns the context of later reports; NULL: no reports. */
	void *(*made)(const void *own, uint64_t hash, int nranks, int rank);
	void (*gone)(void *comm);
	/* The outermost group, on the calling thread. */
	void (*group)(enum nccl_group event);
	/* A collective call inside a group. */
	void (*call)(void *comm, const struct nccl_told *call);
	/* A send or receive, whose partner is told when it is launched: a number, of which peer()
	 * gets the lowest 16 bits; 0: none is wanted. */
	uint64_t (*pair)(void *comm, const struct nccl_told_pair *call);
	void (*peer)(void *comm, uint64_t pair, int peer);
	/* A kernel was launched on the stream, perhaps by a thread of NCCL's. */
	void (*launched)(void *comm, void *stream);
	/* Puts a line on standard error. */
	void (*say)(const char *line);
};
extern const struct nccl_listener nccl_listener __attribute__((weak));

/* Properties that all reported calls share. */
struct nccl_choice {
	/* String constants. NULL: no call was reported, calls differ, or the name is unknown. */
	const char *algo;  /* "Ring", "Tree", "NVLSTree" ...; "P2P": sends and receives */
	const char *proto; /* "LL", "LL128", "Simple" */
	int channels; /* of one call; -1: as NULL above, for sends and receives, before NCCL 2.27 */
};

/* Makes NCCL use this plugin from its first communicator on. Changes the environment: call it
 * before there are threads. False: NCCL_PROFILER_PLUGIN has another value. */
bool nccl_profiler_offer(void);

/* The reason why NCCL of this version (ncclGetVersion's number) does not report calls, after it has
 * made a communicator: one line; NULL: it does. */
const char *nccl_profiler_refusal(int version);

/* Turns NCCL's reports on or off. */
void nccl_profiler_ask(bool on);

/* Copies what this thread's calls since the last take have in common to *choice. NCCL reports a
 * call on the thread that launches it, before the call or its group's end returns. Reports of
 * captured calls and of non-blocking communicators come on other threads and are lost. */
void nccl_profiler_take(struct nccl_choice *choice);
