/* nccl_log.h: NCCL_DEBUG=INFO output of one or many ranks, as data. */
#pragma once

#include "base/error.h"
#include "nccl_log/pattern.h"

/* Call nccl_log_init, then nccl_log_read_stream or nccl_log_read_file any number of times, then
 * nccl_log_finish once; look and print; nccl_log_release. Formats: NCCL 2.4 to 2.32 (init.cc,
 * enqueue.cc, p2p.cc, shm.cc, net.cc, topo.cc). Other lines are passed over. Lack of memory ends
 * the process (must).
 *
 * Few lines name a communicator. A line belongs to the communicator under initialisation in its
 * thread (host:pid:tid), else to the newest call's of its device. Communicators of several ranks
 * are the same where the commId is, or parent, split count and colour. Lines of a thread whose Init line is torn or cut
 * off belong to the communicator that its later lines name. Without such lines the n-th unknown communicators of all
 * processes and devices are one ("guessed 0").
 *
 * All text belongs to the log, equal texts have equal addresses. */

#define NCCL_LOG_RANKS	  (1 << 22) /* ranks from 0 to this; others are no ranks */
#define NCCL_LOG_CHANNELS 128	    /* NCCL has at most 64 */

enum nccl_state {
	NCCL_STATE_UNKNOWN, /* seen in other lines only */
	NCCL_STATE_STARTED,
	NCCL_STATE_COMPLETE,
	NCCL_STATE_ABORTED,
	NCCL_STATE_DESTROYED
};

#define NCCL_CALLS   128       /* of a member are kept, the newest */
#define NCCL_ORIGINS (1 << 16) /* of a warning are told apart */

/* A collective as it was enqueued. */
struct nccl_call {
	int64_t number; /* on the communicator, from 1 */
	uint64_t count;
	int root;
	uint8_t kind, dtype, op; /* kind: enum call_kind; op: NCCL's number */
};

/* One rank of one communicator. */
struct nccl_member {
	int comm, rank; /* rank is -1 where no line says it */
	int dev;	/* CUDA device, -1 unknown */
	int host_number;
	int64_t pid;
	uint64_t bus; /* PCI bus id as NCCL prints it, 0 unknown */
	const char *host;
	enum nccl_state state;
	bool failed;		 /* its init handed up an error */
	double init;		 /* seconds; NAN unknown */
	int64_t ready;		 /* the line that says that its init is over; 0: none does */
	struct nccl_call *calls; /* call n at n % NCCL_CALLS; NULL: no lines of calls */
	int64_t first, last;	 /* numbers of the first and last one that a line is of */
	int64_t lines;		 /* of collectives */
	bool counted;		 /* lines have opCount; else only their order tells the number */
	bool grouped;		 /* several had one opCount */
};

/* A rank's successor in a channel's ring, as a Ring line or rank 0's Channel line has it. */
struct nccl_edge {
	int channel, rank, next;
};

/* The order of ranks, from the smallest rank on; order[n - 1] sends to order[0] where closed. */
struct nccl_ring {
	int channel;
	int n;
	int *order;
	bool closed;  /* the last rank's successor is the first one, and all nranks are there */
	bool differs; /* lines contradict each other */
};

struct nccl_link {
	int channel, from, to, connection;
	bool receiving;	       /* the receiver's line; else the sender's */
	const char *transport; /* "P2P/CUMEM", "SHM/direct/direct", "NET/IB/0/GDRDMA/Shared" */
};

#define NCCL_SAYS 64

struct nccl_comm {
	const char *id;	    /* "0xdf6d...", "split of 0x.. (count 1, color 0)", "guessed 0" */
	int nranks, nnodes; /* 0 unknown */
	bool moved;	    /* while reading: its lines are another communicator's */
	bool forgotten;	    /* while reading: too many came after it */
	size_t held; /* while reading: bytes of what it has, and the line of its newest fact */
	int64_t used;
	int compact_at; /* while reading: so many facts are looked through for those that are twice there */
	int gdr;			  /* 1 or 0 as "Connected all rings" says; -1 while not */
	int nvls_promised;		  /* channels, 0: not said */
	int nvls;			  /* 1 multicast available, 0 not, -1 unknown */
	int coll_channels, nvls_channels; /* -1 unknown */
	int rings_found; /* channels that the search for rings found, and the GB/s of each; 0 unknown */
	double rings_bw;
	const char *says[NCCL_SAYS]; /* lines on channels, search, transports, choices; each once */
	struct nccl_member **members; /* by rank */
	struct nccl_edge *edges;      /* by channel and rank */
	struct nccl_ring *rings;      /* by channel */
	struct nccl_link *links;      /* by channel, sender, receiver, connection */
	int n_says, n_members, n_edges, n_rings, n_links;
};

/* Classes of nccl_causes.txt, which says what they are; UNKNOWN: a WARN that no row knows, and that NCCL failed on. */
enum nccl_class {
	NCCL_CAUSE,
	NCCL_PEER,
	NCCL_UNKNOWN,
	NCCL_SYMPTOM,
	NCCL_FOLLOWS,
	NCCL_TRACE,
	/* no row: "file:line -> result"; this and the ones above are failures */ NCCL_FALLBACK,
	NCCL_RING,
	NCCL_SLOW,
	NCCL_HOST,
	NCCL_PIN,
	NCCL_NO_P2P,
	NCCL_CLAIM,
	NCCL_QUIET
};

/* A row of nccl_causes.txt. */
struct nccl_cause {
	enum nccl_class class;
	struct pattern pattern;
	const char *what, *means, *fix;
};

/* Where a warning's lines are from: so many times. host: "" and pid: -1 of a line of the program. */
struct nccl_origin {
	const char *host;
	int64_t pid;
	int dev, rank, count; /* rank: -1 where no line says it */
};

/* A WARN line, NCCL's "file:line -> result" trace, or another line that a row of the table knows; each text once. */
struct nccl_warning {
	const char *where, *text; /* where: file:line, "" of lines that are not NCCL's */
	bool trace;
	bool failed; /* a trace follows in its thread */
	int count;
	struct nccl_origin *origins; /* the first one's is the first; NCCL_ORIGINS at most */
	int n_origins, processes;
	int *ranks; /* of origins, ascending */
	int n_ranks;
	const struct nccl_cause *cause; /* NULL: no row knows it */
	const char *what, *fix;		/* the row's, with what the pattern's groups hold */
	/* The first of them says this; "" and -1 where it does not say so: */
	const char *host, *stamp, *peer, *device;
	int64_t pid, line; /* line: of all that was read, from 1 */
	int dev, rank;
	double time;   /* seconds, of a year that is not known; NAN: none */
	bool in_init;  /* its communicator's init had begun, and had not ended */
	bool overcome; /* it had not ended then, and did later */
};

/* The log's own topology print says this of a GPU and another node (another GPU, CPU, NVS, NET). */
struct nccl_path {
	const char *host;
	uint64_t gpu, to; /* PCI bus id; NUMA node or number of the other node */
	const char *kind; /* "GPU", "CPU", "NVS", "NET" */
	const char *type; /* "NVL", "PIX", "PXB", "PHB", "SYS", ... */
	double bw;
};

/* How far a rank came in a process group, as PyTorch's watchdog says; -1 and "" where it does not. */
struct nccl_wait {
	const char *group;		      /* "1", "0(default_pg)" */
	int rank, place;		      /* in the job, where lines say so, and in the group */
	int64_t enqueued, started, completed; /* calls, by their number in the group */
	int64_t seq, numel_in, numel_out;     /* the call that timed out, and its sizes */
	const char *op;			      /* "ALLGATHER" */
	const char *stamp;		      /* the time of its first line */
	double waited, time;		      /* seconds */
	int64_t line;
};

/* A network device that NCCL lists on a host. */
struct nccl_nic {
	const char *host, *name, *link; /* "mlx5_0:1", "RoCE"; link: "" not said */
	int index;			/* NCCL's number, -1 not said */
	int mbps;			/* 0: not said */
	int gdr;			/* GPUDirect RDMA: 1 on, 0 off, -1 not said */
	int64_t steps;			/* of all communicators, that go over it */
	int64_t gdr_steps;		/* of these, with GPUDirect RDMA */
};

/* All that a host's lines say of its bootstrap, plugins and networks. */
struct nccl_fact {
	const char *kind, *text, *host;
};

enum nccl_ras_kind {
	NCCL_RAS_CALLS, /* so many ranks have launched `at` calls of the kind `text` */
	NCCL_RAS_STATES,
	NCCL_RAS_ERRORS,
	NCCL_RAS_SILENT, /* gave no answer */
	NCCL_RAS_DEAD
};

/* An answer of ncclras about so many ranks, or processes, and those of them that it names. */
struct nccl_ras {
	enum nccl_ras_kind kind;
	int block;	  /* entries of one block are of the same communicator and question */
	const char *text; /* the call, state or error; "ranks", "job processes" */
	int64_t at;
	int count;
	int *ranks, n_ranks;
	const char *host; /* and process of the first that it names; NULL: it says none */
	int64_t pid;
};

struct nccl_setting {
	const char *name, *value;
};

struct nccl_log {
	const char *version, *network; /* NULL while unknown */
	const char **hosts;
	struct nccl_comm *comms;
	struct nccl_warning *warnings; /* in the order of their first lines */
	struct nccl_path *paths;       /* by host and GPU */
	struct nccl_setting *settings; /* NCCL_* "set by environment", by name */
	int n_hosts, n_comms, n_warnings, n_paths, n_settings;
	struct nccl_nic *nics;	 /* by index, name and host */
	struct nccl_fact *facts; /* by kind, text and host */
	int n_nics, n_facts;
	struct nccl_ras *ras; /* by block, as they stand there */
	int n_ras;
	struct nccl_wait *waits; /* by group and rank */
	int n_waits;
	const char *traceback, *error;	/* of Python: its frames, and its last line; NULL: none */
	int traceback_rank, tracebacks; /* tracebacks: how many there were */
	bool traceback_ended;		/* it ended its program, by PyTorch's prefix */
	bool traceback_after;		/* its error is one that another rank brings about */
	struct nccl_cause *causes;	/* the table; its text is causes_text */
	int n_causes;
	char *causes_text;
	struct rows *rows;	   /* the forms of lines (rows.h) */
	int64_t lines, nccl_lines; /* nccl_lines: with a message, or NCCL's version alone */
	int64_t strangers;	   /* processes of which no line says a rank, or a communicator */
	int64_t unplaced;	   /* lines about a communicator that could not be told */
	int64_t forgotten;	   /* communicators of which nothing is kept */
	int64_t folded;		   /* lines that Ray left out ("[repeated 3x across cluster]") */
	bool rccl;		   /* AMD's library */
	const char *twins;	   /* a name that two hosts have; NULL: none is known */
	bool old_form;		   /* lines of NCCL 2.4 or 2.5 */
	struct nccl_log_raw *raw;  /* the reader's own; NULL after finish */
	void *texts;
};

void nccl_log_init(struct nccl_log *log);

/* Reads a stream, line by line; `name` is the name of those lines. rank_hint is the rank of lines
 * that lack one, or -1. Returns 0, or -EIO (OUTCOME_USAGE). */
int nccl_log_read_stream(struct nccl_log *log, FILE *in, const char *name, int rank_hint,
			 struct error *err);

/* The same for a file; "-" is standard input. 0, or what opening or reading it failed with. */
int nccl_log_read_file(struct nccl_log *log, const char *path, int rank_hint, struct error *err);

/* Takes this table of causes in place of the built-in one, or puts these forms of lines before the built-in ones; before
 * anything is read. 0, or -EINVAL: "FILE:LINE: why". */
int nccl_log_read_causes(struct nccl_log *log, const char *path, struct error *err);
int nccl_log_read_lines(struct nccl_log *log, const char *path, struct error *err);

/* Sort, count, join. */
void nccl_log_finish(struct nccl_log *log);

void nccl_log_release(struct nccl_log *log);

/* The member with this rank, or NULL; any of several (a restart). */
const struct nccl_member *nccl_comm_member(const struct nccl_comm *comm, int rank);

/* The call with this number, NULL: no line is of it, or it is not kept. */
const struct nccl_call *nccl_member_call(const struct nccl_member *member, int64_t number);

/* The host of this rank, NULL unknown. */
const char *nccl_comm_host(const struct nccl_comm *comm, int rank);

/* The transport from one rank to the next on a channel, or NULL; the first of several connections.
 * The sender's line counts where the receiver's differs. */
const char *nccl_comm_transport(const struct nccl_comm *comm, int channel, int from, int to);

/* The first call of the group that is not over on this rank, -1: not known. */
int64_t nccl_wait_at(const struct nccl_wait *wait);
/* Returns true if the rank has made that call. */
static inline bool nccl_wait_made(const struct nccl_wait *wait)
{
	return wait->enqueued < 0 || wait->completed < 0 || wait->enqueued > wait->completed;
}
/* Returns true if a line of the rank says which call that is. */
static inline bool nccl_wait_told(const struct nccl_wait *wait)
{
	return wait->seq == nccl_wait_at(wait) && *wait->op;
}
